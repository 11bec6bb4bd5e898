"""Pruning: some elements of a parameter are held at zero by a mask.

Of `weight` the method makes a parameter, `weight_orig`, and a buffer, `weight_mask`; a forward pre-hook makes `weight`
of both before each call.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from retrograd.core.tensor import Tensor
from retrograd.nn.module import Module
from retrograd.nn.utils.convert_parameters import parameters_to_vector
from retrograd.ops.random.sampling import rand_like

M = TypeVar("M", bound=Module)


class BasePruningMethod(ABC):
    """A way to choose what is pruned. A subclass says how in `compute_mask`, and of what kind it is in `PRUNING_TYPE`.

    `PRUNING_TYPE` says what a second pruning of the same parameter looks at: "unstructured", the elements that are
    left; "structured", the channels that are left; "global", everything.

    >>> import retrograd as rg
    >>> class EveryOther(BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         mask = default_mask.clone()
    ...         mask.view(-1)[::2] = 0
    ...         return mask
    >>> layer = rg.nn.Linear(2, 2)
    >>> method = EveryOther.apply(layer, "weight")
    >>> layer.weight_mask
    tensor([[0., 1.],
            [0., 1.]])
    """

    PRUNING_TYPE: str = "unstructured"
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        """The hook: the parameter with its mask, before each call of the module."""
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask of a tensor, ones and zeros, of which `default_mask` has those that are there already."""

    def apply_mask(self, module: Module) -> Any:
        """The parameter, zero where it is pruned."""
        name = getattr(self, "_tensor_name", None)
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        original = getattr(module, name + "_orig")
        return getattr(module, name + "_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prunes a parameter of a module, further if it is pruned already.

        Args:
            module, name: which parameter.
            args, kwargs: of the method.
            importance_scores: a tensor of the parameter's shape that is looked at in its place.
        """
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        before = _hooks(module, name)
        if len(before) > 1:
            raise AssertionError(
                f"Avoid having multiple pruning hooks on the same tensor {name} in module {module}. Use a "
                "PruningContainer instead."
            )
        for number, old in before:
            together = old if isinstance(old, PruningContainer) else PruningContainer(old)
            together.add_pruning_method(method)
            method = together
            del module._forward_pre_hooks[number]
        original = getattr(module, name)
        scores = original if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}: "
                f"{tuple(scores.shape)} is not {tuple(original.shape)}"
            )
        mask = (
            getattr(module, name + "_mask").detach().clone() if before else original.detach().clone().fill_(1)
        )
        mask = method.compute_mask(scores.detach(), default_mask=mask)
        if not before:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Any = None, importance_scores: Any = None) -> Tensor:
        """A tensor, zero where this method prunes it; nothing is changed."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        given = t.detach().clone().fill_(1) if default_mask is None else default_mask
        pruned: Tensor = t * self.compute_mask(scores.detach(), default_mask=given)
        return pruned

    def remove(self, module: Module) -> None:
        """Makes the pruned parameter an ordinary one: what is zero may change again."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original: Any = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods that one parameter was pruned with, one after the other."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        for method in args:
            if not self._pruning_methods:
                self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Adds one more method of the same parameter."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method._tensor_name != self._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask so far, and what the newest method takes of the rest."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        left = _what_is_left(method, mask)
        found = mask.clone()
        found[left] = method.compute_mask(t[left], default_mask=mask[left]).to(dtype=mask.dtype)
        return found


def _what_is_left(method: BasePruningMethod, mask: Any) -> Any:
    """The index of what a further pruning looks at."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    if method.PRUNING_TYPE == "global":
        return (slice(None),) * mask.dim()
    if method.PRUNING_TYPE != "structured":
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    given: Any = method
    dim: int = given.dim % mask.dim()
    others = [d for d in range(mask.dim()) if d != dim]
    return (slice(None),) * dim + (mask.sum(dim=others) != 0,)


# ---- methods --------------------------------------------------------------------------------------------------------


class Identity(BasePruningMethod):
    """Prunes nothing, and makes the parameter and its mask."""

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask that there is."""
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes elements at random: `amount` of them, an integer, or a part between 0 and 1."""

    def __init__(self, amount: float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask, with more zeros: as in PyTorch, where the largest numbers were drawn."""
        count = _count_to_prune(self.amount, t)
        return _masked(default_mask, rand_like(t).reshape(-1).topk(count).indices if count else None)


class L1Unstructured(RandomUnstructured):
    """Prunes the elements of the smallest size."""

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask, with more zeros."""
        return _without_smallest(t.abs(), self.amount, default_mask)


class RandomStructured(BasePruningMethod):
    """Prunes channels along `dim` at random."""

    PRUNING_TYPE: str = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount
        self.dim = dim

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask, with more zeros."""
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        return self._without_channels(t.new_empty(t.shape[self.dim]).uniform_(), default_mask)

    def _without_channels(self, scores: Any, default_mask: Any) -> Any:
        """The mask less the channels of the lowest scores."""
        kept = _without_smallest(scores, self.amount, scores.new_ones(scores.shape))
        shape = [1] * default_mask.dim()
        shape[self.dim] = -1
        return default_mask * kept.reshape(shape).to(dtype=default_mask.dtype)


class LnStructured(RandomStructured):
    """Prunes the channels along `dim` of the smallest norm of order `n`."""

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask, with more zeros."""
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        return self._without_channels(_compute_norm(t, self.n, self.dim), default_mask)


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask that is given."""

    PRUNING_TYPE: str = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Both masks."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"the mask is of shape {tuple(self.mask.shape)}, the parameter of {tuple(default_mask.shape)}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


# ---- functions ------------------------------------------------------------------------------------------------------


def identity(module: M, name: str) -> M:
    """Makes the parameter and its mask, of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: M, name: str, amount: float) -> M:
    """Prunes elements of a parameter at random.

    Args:
        module, name: which parameter.
        amount: how many elements, or which part of them (between 0 and 1).

    >>> import retrograd as rg
    >>> layer = random_unstructured(rg.nn.Linear(4, 5), "weight", amount=0.25)
    >>> int((layer.weight == 0).sum()), sorted(layer.state_dict())
    (5, ['bias', 'weight_mask', 'weight_orig'])
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: M, name: str, amount: float, importance_scores: Any = None) -> M:
    """Prunes the elements of a parameter that are smallest. The arguments are those of random_unstructured.

    `importance_scores`, a tensor of the parameter's shape, is looked at in its place if given.
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: M, name: str, amount: float, dim: int) -> M:
    """Prunes channels of a parameter, along `dim`, at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: M, name: str, amount: float, n: Any, dim: int, importance_scores: Any = None) -> M:
    """Prunes the channels of a parameter, along `dim`, whose norm of order `n` is smallest."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: Any = None,
    **kwargs: Any,
) -> None:
    """Prunes several parameters as if they were one.

    Args:
        parameters: pairs of a module and a name.
        pruning_method: a class of this module, of unstructured kind.
        importance_scores: tensors that are looked at in place of the parameters, by such pairs.
        kwargs: of the method.

    >>> import retrograd as rg
    >>> layers = [rg.nn.Linear(2, 3), rg.nn.Linear(3, 2)]
    >>> global_unstructured([(layer, "weight") for layer in layers], L1Unstructured, amount=4)
    >>> sum(int((layer.weight == 0).sum()) for layer in layers)
    4
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    pairs = list(parameters)
    tensors: list[Any] = [getattr(module, name) for module, name in pairs]
    masks = [
        getattr(module, name + "_mask", tensor.detach().new_ones(tensor.shape))
        for (module, name), tensor in zip(pairs, tensors, strict=True)
    ]
    looked_at = [scores.get(pair, tensor) for pair, tensor in zip(pairs, tensors, strict=True)]
    together = PruningContainer(method)
    mask = together.compute_mask(parameters_to_vector(looked_at).detach(), parameters_to_vector(masks))
    parts = mask.split([tensor.numel() for tensor in tensors])
    for (module, name), tensor, part in zip(pairs, tensors, parts, strict=True):
        custom_from_mask(module, name, part.reshape(tensor.shape))


def custom_from_mask(module: M, name: str, mask: Tensor) -> M:
    """Prunes a parameter where `mask` is 0."""
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: M, name: str) -> M:
    """Makes a pruned parameter an ordinary one again, with its zeros."""
    for number, hook in _hooks(module, name):
        hook.remove(module)
        del module._forward_pre_hooks[number]
        return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Whether a parameter of the module, or of one inside of it, is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for part in module.modules()
        for hook in part._forward_pre_hooks.values()
    )


def _hooks(module: Module, name: str) -> list[tuple[int, BasePruningMethod]]:
    """The methods that prune a parameter, with the numbers of their hooks."""
    return [
        (number, hook)
        for number, hook in module._forward_pre_hooks.items()
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
    ]


def _validate_pruning_amount_init(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    part = float(amount)
    if part < 0 or (not isinstance(amount, numbers.Integral) and part > 1):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer"
        )


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    if isinstance(amount, numbers.Integral) and int(amount) > tensor_size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}"
        )


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    """How many elements an amount is: a number of them, or a part of all."""
    return int(amount) if isinstance(amount, numbers.Integral) else round(float(amount) * tensor_size)


def _validate_structured_pruning(t: Any) -> None:
    if t.dim() < 2:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
            f"{t.shape} with {t.dim()} dims"
        )


def _validate_pruning_dim(t: Any, dim: int) -> None:
    if not -t.dim() <= dim < t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_norm(t: Any, n: Any, dim: int) -> Any:
    """The norm of order `n` of each channel along `dim`."""
    return t.norm(p=n, dim=[d for d in range(t.dim()) if d != dim % t.dim()])


def _count_to_prune(amount: Any, t: Any) -> int:
    """How many elements of a tensor an amount is."""
    size = t.numel()
    _validate_pruning_amount(amount, size)
    return _compute_nparams_toprune(amount, size)


def _without_smallest(scores: Any, amount: Any, mask: Any) -> Any:
    """A mask less an amount of its elements, those of the smallest scores."""
    count = _count_to_prune(amount, scores)
    return _masked(mask, scores.reshape(-1).topk(count, largest=False).indices if count else None)


def _masked(mask: Any, places: Any) -> Any:
    """A mask with zeros at more places."""
    found = mask.clone()
    if places is not None:
        found.view(-1)[places] = 0
    return found
