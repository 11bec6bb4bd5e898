"""Parametrizations that come with the package: weight norm, spectral norm, orthogonal matrices."""

from __future__ import annotations

from typing import Any

from retrograd.autograd.modes import no_grad
from retrograd.backends.limits import finfo
from retrograd.core.tensor import Tensor
from retrograd.nn import functional as F
from retrograd.nn.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from retrograd.nn.module import Module
from retrograd.nn.utils import parametrize
from retrograd.ops.linalg.distance import norm_except_dim
from retrograd.ops.linalg.householder import geqrf, householder_product
from retrograd.ops.linalg.matrix_functions import matrix_exp
from retrograd.ops.linalg.solve import solve
from retrograd.ops.linalg.weight_norm import _weight_norm
from retrograd.ops.random.sampling import randn
from retrograd.ops.shape.join import cat
from retrograd.ops.tensor.create import eye, zeros_like

_MAPS = ("matrix_exp", "cayley", "householder")


def _tensor_of(module: Module, name: str) -> Tensor:
    found = getattr(module, name, None)
    if not isinstance(found, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return found


# ---- orthogonal matrices --------------------------------------------------------------------------------------------


def _is_orthogonal(Q: Tensor) -> bool:
    n, k = Q.shape[-2:]
    product = Q.mH @ Q
    eps = 10.0 * n * float(_epsilon(Q))
    return bool((product - eye(k, dtype=Q.dtype, device=Q.device)).abs().max() <= eps)


def _epsilon(Q: Tensor) -> float:

    return float(finfo(Q.array.dtype).eps)


def _made_orthogonal(A: Tensor) -> Tensor:
    """The orthogonal factor of a matrix, with signs such that an orthogonal matrix stays as it is."""
    X, tau = geqrf(A)
    Q = householder_product(X, tau)
    return Q * X.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """Makes an orthogonal matrix of any one; `base` is the matrix that it begins at."""

    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        """The orthogonal matrix that a matrix stands for."""
        n, k = X.shape[-2:]
        turned = n < k
        if turned:
            X, n, k = X.mT, k, n
        Q = self._by_reflections(X) if self.orthogonal_map == "householder" else self._by_rotation(X, n, k)
        if hasattr(self, "base") and self.base is not None:
            Q = self.base @ Q
        return Q.mT if turned else Q

    def _by_rotation(self, X: Tensor, n: int, k: int) -> Tensor:
        """The exponential, or Cayley's map, of the skew-symmetric matrix with the lower triangle of X."""
        X = X.tril()
        if n != k:
            X = cat([X, X.new_zeros((n, n - k)).expand(*X.shape[:-2], -1, -1)], -1)
        A = X - X.mH
        if self.orthogonal_map == "matrix_exp":
            Q = matrix_exp(A)
        else:
            one = eye(n, dtype=A.dtype, device=A.device)
            Q = solve(one - 0.5 * A, one + 0.5 * A)
        return Q if n == k else Q[..., :k]

    def _by_reflections(self, X: Tensor) -> Tensor:
        """The product of the reflections whose vectors are the columns of X below the diagonal."""
        A = X.tril(-1)
        tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
        Q = householder_product(A, tau)
        return Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    def right_inverse(self, Q: Tensor) -> Tensor:
        """A matrix that stands for an orthogonal one, or for the one that is nearest to another."""
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        given = Q
        n, k = Q.shape[-2:]
        turned = n < k
        if turned:
            Q, n, k = Q.mT, k, n
        if not hasattr(self, "base"):
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False."
                )
            A, tau = geqrf(Q)
            A.diagonal(dim1=-2, dim2=-1).sign_()
            A.diagonal(dim1=-2, dim2=-1)[tau == 0] *= -1
            return A.mT if turned else A
        if n == k:
            Q = Q.clone() if _is_orthogonal(Q) else _made_orthogonal(Q)
        else:
            more = randn(*Q.shape[:-2], n, n - k, dtype=Q.dtype, device=Q.device)
            Q = _made_orthogonal(cat([Q, more], -1))
        self.base = Q
        start = zeros_like(given)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)  # which stands for the base itself
        return start


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Makes a matrix of a module orthogonal, whatever is learned.

    Args:
        module: whose matrix it is.
        name: its name.
        orthogonal_map: "matrix_exp", "cayley" or "householder": what makes a matrix orthogonal.
        use_trivialization: whether the map begins at the matrix as it is now, which takes memory for one more.

    >>> import retrograd as rg
    >>> layer = rg.nn.utils.parametrizations.orthogonal(rg.nn.Linear(3, 3).double())
    >>> rg.allclose(layer.weight @ layer.weight.T, rg.eye(3, dtype=rg.float64))
    True
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=True)


# ---- weight norm ----------------------------------------------------------------------------------------------------


class _WeightNorm(Module):
    """A direction and a length, by rows."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """The direction, as long as it is to be."""
        return _weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The lengths and the directions of a weight."""
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Makes a weight of a module a direction and a length, which are learned apart.

    Args:
        module: whose weight it is.
        name: its name.
        dim: along which the lengths differ; None for one length.

    >>> import retrograd as rg
    >>> layer = rg.nn.utils.parametrizations.weight_norm(rg.nn.Linear(2, 3))
    >>> [(name, tuple(p.shape)) for name, p in layer.named_parameters()][1:]
    [('parametrizations.weight.original0', (3, 1)), ('parametrizations.weight.original1', (3, 2))]
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def from_old(state_dict: Any, prefix: str, *_: Any) -> None:
        """Renames what the older `nn.utils.weight_norm` saved."""
        for i, suffix in enumerate("gv"):
            old = f"{prefix}{name}_{suffix}"
            if old in state_dict:
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(old)

    module._register_load_state_dict_pre_hook(from_old)
    return module


# ---- spectral norm --------------------------------------------------------------------------------------------------


class _SpectralNorm(Module):
    """A weight over its largest singular value, which a few steps of power iteration follow."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{weight.ndim}, {weight.ndim - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % weight.ndim
        self.eps = eps
        if weight.ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight)
            rows, columns = matrix.shape
            u = matrix.new_empty(rows).normal_(0, 1)
            v = matrix.new_empty(columns).normal_(0, 1)
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        """The weight as a matrix whose rows go along `dim`."""
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.flatten(1)

    def _iterate(self, matrix: Tensor, times: int) -> None:
        with no_grad():
            for _ in range(times):
                self._u.copy_(F.normalize(matrix.mv(self._v), dim=0, eps=self.eps))
                self._v.copy_(F.normalize(matrix.mH.mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        """The weight over its largest singular value."""
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # the next call writes into them
        return weight / u.vdot(matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """The value itself: it is divided by its norm, whatever that is."""
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divides a weight of a module by its largest singular value.

    Args:
        module: whose weight it is.
        name: its name.
        n_power_iterations: how many steps follow the singular value in each call, while training.
        eps: what lengths are at least.
        dim: which dimension of the weight is that of outputs, by default 0, and 1 of transposed convolutions.
    """
    weight = _tensor_of(module, name)
    if dim is None:
        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    made = _SpectralNorm(weight.detach(), n_power_iterations, dim, eps)
    return parametrize.register_parametrization(module, name, made)
