"""The older spectral norm, which a forward pre-hook computes; `parametrizations.spectral_norm` is the newer one."""

from __future__ import annotations

from functools import partial
from typing import Any, TypeVar

from retrograd.autograd.modes import no_grad
from retrograd.core.tensor import Tensor
from retrograd.nn import functional as F
from retrograd.nn.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from retrograd.nn.module import Module
from retrograd.nn.parameter import Parameter
from retrograd.ops.linalg.least_squares import pinv

M = TypeVar("M", bound=Module)


class SpectralNorm:
    """The hook: makes `weight` of `weight_orig`, over its largest singular value."""

    _version = 1

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """The weight as a matrix whose rows go along `dim`."""
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.reshape(weight.shape[0], -1)

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Tensor:
        """The weight over its largest singular value."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(matrix.mv(v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()  # the next call writes into them
        return weight / u.dot(matrix.mv(v))  # type: ignore[no-any-return]

    def remove(self, module: Any) -> None:
        """Makes the weight an ordinary parameter again."""
        with no_grad():
            weight = self.compute_weight(module, False)
        delattr(module, self.name)
        for suffix in ("_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))


def spectral_norm(
    module: M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> M:
    """Divides a weight of a module by its largest singular value. The newer form is in `parametrizations`.

    Args:
        module: whose weight it is.
        name: its name.
        n_power_iterations: how many steps follow the singular value in each call, while training.
        eps: what lengths are at least.
        dim: which dimension of the weight is that of outputs, by default 0, and 1 of transposed convolutions.
    """
    if dim is None:
        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    made = SpectralNorm(name, n_power_iterations, dim, eps)
    weight = module._parameters[name]
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    with no_grad():
        rows, columns = made.reshape_weight_to_matrix(weight).shape
        u = F.normalize(weight.new_empty(rows).normal_(0, 1), dim=0, eps=eps)
        v = F.normalize(weight.new_empty(columns).normal_(0, 1), dim=0, eps=eps)
    delattr(module, name)
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, weight.data)
    module.register_buffer(name + "_u", u)
    module.register_buffer(name + "_v", v)
    module.register_forward_pre_hook(made)
    module._register_state_dict_hook(partial(_note_version, name))
    module._register_load_state_dict_pre_hook(partial(_read_old_state, made))
    return module


def _note_version(name: str, module: Module, state_dict: Any, prefix: str, local_metadata: Any) -> None:
    """State dicts say which form of spectral norm they hold, for PyTorch that reads them."""
    local_metadata.setdefault("spectral_norm", {})[f"{name}.version"] = SpectralNorm._version


def _read_old_state(
    norm: SpectralNorm, state: Any, prefix: str, metadata: Any, strict: bool, missing: list[str], *rest: Any
) -> None:
    """Finds the v that PyTorch's first form did not save: the one with which u gives the quotient of its weights."""
    key = prefix + norm.name
    version = metadata.get("spectral_norm", {}).get(f"{norm.name}.version")
    of_this_form = key not in state and all(key + suffix in state for suffix in ("_orig", "_u", "_v"))
    if of_this_form or (version is not None and version >= SpectralNorm._version):
        return
    lacking = [name for name in (f"{key}_orig", key, f"{key}_u") if name not in state]
    if lacking:
        if strict:
            missing += lacking
        return
    with no_grad():
        original, u = state[f"{key}_orig"], state[f"{key}_u"]
        matrix = norm.reshape_weight_to_matrix(original)
        v = pinv(matrix).mv(u)
        value = (original / state.pop(key)).mean()
        state[f"{key}_v"] = v * (value / u.dot(matrix.mv(v)))


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Makes the weight an ordinary parameter again."""
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[number]
            for table, own in (
                (module._state_dict_hooks, (_note_version, name)),
                (module._load_state_dict_pre_hooks, (_read_old_state, hook)),
            ):
                for key, note in list(table.items()):
                    if isinstance(note, partial) and (note.func, *note.args) == own:
                        del table[key]
            return module
    raise ValueError(f"spectral_norm of '{name}' not found in {module}")
