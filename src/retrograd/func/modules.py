"""Models as functions of their parameters: functional_call, stack_module_state.

A model is an object that is called, with tensors for attributes: its own, and those of the objects, lists and dicts it
holds. Each has a name with dots in it, `layers.0.weight`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from retrograd.core.tensor import Tensor
from retrograd.errors import type_name
from retrograd.func.transform import R
from retrograd.ops.shape.join import stack


def named_tensors(model: Any) -> dict[str, Tensor]:
    """The tensors of a model by their names; one that has several names comes under each.

    >>> import retrograd as rg
    >>> class Affine:
    ...     def __init__(self):
    ...         self.weight, self.shift = rg.ones(2, 2), {"b": rg.zeros(2)}
    >>> list(rg.func.named_tensors(Affine()))
    ['weight', 'shift.b']
    """
    if _is_module(model):
        found = dict(model.named_parameters(remove_duplicate=False))
        found.update(model.named_buffers(remove_duplicate=False))
        return found
    return dict(_walk(model, "", set()))


def _walk(thing: Any, name: str, seen: set[int]) -> Iterator[tuple[str, Tensor]]:
    """Tensors inside of an object, from left to right."""
    if isinstance(thing, Tensor):
        yield name, thing
        return
    inner = _inside(thing)
    if inner is None or id(thing) in seen:
        return
    seen.add(id(thing))
    for key, value in inner:
        yield from _walk(value, f"{name}.{key}" if name else str(key), seen)


def _inside(thing: Any) -> list[tuple[Any, Any]] | None:
    """What an object holds, by the last part of its name."""
    if isinstance(thing, Mapping):
        return list(thing.items())
    if isinstance(thing, (list, tuple)):
        return list(enumerate(thing))
    if (
        isinstance(thing, type)
        or not hasattr(thing, "__dict__")
        or callable(getattr(thing, "__code__", None))
    ):
        return None
    return list(vars(thing).items())


class _Place:
    """Where one tensor of a model stands: in an attribute, a dict or a list."""

    def __init__(self, model: Any, name: str) -> None:
        *path, self.key = name.split(".")
        for i, part in enumerate(path, 1):
            is_module = _is_module(model)
            model = _submodule(model, part, ".".join(path[:i])) if is_module else _part(model, part)
        self.owner = model
        if self.key == "":
            raise KeyError('tensor name can\'t be empty string ""')

    def swap(self, value: Any) -> Any:
        """Puts a tensor here and gives the one that was; `_ABSENT` stands for none."""
        _check_tensor(value, "")
        before = self._get()
        _check_tensor(before, f"attribute `{self.key}`: ")
        if value is _ABSENT:
            delattr(self.owner, self.key)
        else:
            self._set(value)
        return before

    def _get(self) -> Any:
        if _is_module(self.owner):
            return getattr(self.owner, self.key, _ABSENT)
        return _part(self.owner, self.key)

    def _set(self, value: Any) -> None:
        for table in ("_parameters", "_buffers"):  # where modules keep theirs
            held = getattr(self.owner, table, None)
            if isinstance(held, dict) and self.key in held:
                held[self.key] = value
                return
        if isinstance(self.owner, dict):
            self.owner[self.key] = value
        elif isinstance(self.owner, list):
            self.owner[int(self.key)] = value
        else:
            setattr(self.owner, self.key, value)


_ABSENT: Final = object()


def _is_module(thing: Any) -> bool:
    """Whether this is an `nn.Module`, which is in a layer above this one."""
    return hasattr(thing, "named_parameters")


def _submodule(module: Any, name: str, path: str) -> Any:
    found = getattr(module, name, _ABSENT)
    if found is _ABSENT:
        raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
    if not _is_module(found):
        raise TypeError(f"submodule `{path}`: {found} is not an instance of torch.nn.Module")
    return found


def _check_tensor(value: Any, what: str) -> None:
    if value is not None and value is not _ABSENT and not isinstance(value, Tensor):
        raise TypeError(f"{what}{value} is not an instance of torch.Tensor")


def _part(thing: Any, name: str) -> Any:
    if isinstance(thing, Mapping):
        return thing[name]
    if isinstance(thing, (list, tuple)):
        return thing[int(name)]
    return getattr(thing, name)


def functional_call(
    module: Callable[..., R],
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> R:
    """Calls a model with other tensors in the place of its own, which are as they were afterwards.

    So a model becomes a function of its parameters, for `grad`, `vmap` and the other transforms.

    Args:
        module: the model: an object that is called, with tensors for attributes (see `named_tensors`).
        parameter_and_buffer_dicts: tensors by their names; or a tuple of such dicts, without a name twice.
        args: the argument of the call, or a tuple of them.
        kwargs: its keyword arguments.
        tie_weights: a tensor that the model holds under several names is replaced under all of them.
        strict: refuse names that the model does not have, and tensors of the model that are not named.

    >>> import retrograd as rg
    >>> class Affine:
    ...     def __init__(self):
    ...         self.weight, self.bias = rg.ones(2), rg.tensor(1.0)
    ...     def __call__(self, x):
    ...         return self.weight @ x + self.bias
    >>> model, x = Affine(), rg.tensor([1.0, 2.0])
    >>> rg.func.grad(lambda p: rg.func.functional_call(model, p, x))({"weight": rg.ones(2), "bias": rg.ones(())})
    {'weight': tensor([1., 2.]), 'bias': tensor(1.)}
    """
    if not callable(module):
        raise TypeError(f"functional_call(): the model must be callable, but is {type_name(module)}")
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    tensors = parameter_and_buffer_dicts
    if not isinstance(tensors, Mapping):
        tensors = _merged(tensors)
    with replaced_tensors(module, tensors, tie_weights, strict):
        return module(*arguments, **(kwargs or {}))


@contextmanager
def replaced_tensors(
    module: Any, tensors: Mapping[str, Tensor], tie_weights: bool, strict: bool
) -> Iterator[None]:
    """A block in which a model has these tensors, by their names, in the place of its own.

    One that the model puts in the place of a tensor is in the dict afterwards, as batch norms count their batches.
    """
    given = _chosen(module, named_tensors(module), dict(tensors), tie_weights, strict)
    swapped: list[tuple[str, _Place, Any]] = []
    try:
        for name, value in given.items():
            place = _Place(module, name)
            swapped.append((name, place, place.swap(value)))
        yield
    finally:
        for name, place, before in reversed(swapped):
            now = place.swap(before)
            if isinstance(tensors, dict) and name in tensors:
                tensors[name] = now


def _merged(dicts: Any) -> dict[str, Any]:
    """One dict of tensors by name."""
    if not isinstance(dicts, Sequence) or not all(isinstance(d, Mapping) for d in dicts):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dicts)}"
        )
    names = [name for d in dicts for name in d]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"{twice} appeared in multiple dictionaries; behavior of functional call is ambiguous. Leave it in one."
        )
    return {name: value for d in dicts for name, value in d.items()}


def _chosen(
    module: Any, own: dict[str, Tensor], given: dict[str, Any], tie_weights: bool, strict: bool
) -> dict[str, Any]:
    """What to put where: names that the model has, and others that the same tensors go by."""
    if tie_weights:
        for name in list(given):
            twins = [other for other in own if name in own and own[other] is own[name] and other != name]
            for other in twins:
                if other in given and given[other] is not given[name]:
                    raise ValueError(
                        f"functional_call got multiple values for keys {sorted([name, other])}, which are tied. "
                        "Consider using tie_weights=False"
                    )
                given[other] = given[name]
    unknown, left = sorted(set(given) - set(own)), sorted(set(own) - set(given))
    if strict and (unknown or left):
        text = f"Error(s) in reparametrizing for {type(module).__name__}:"
        text += f"\n\tUnexpected key(s): {_quoted(unknown)}." if unknown else ""
        raise RuntimeError(text + (f"\n\tMissing key(s): {_quoted(left)}." if left else ""))
    if _is_module(module):
        return given  # a module may have other tensors too, which are attributes
    return {name: value for name, value in given.items() if name in own}


def _quoted(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the other tensors of several models of one class, each stacked: an ensemble for `vmap`.

    >>> import retrograd as rg
    >>> class Scale:
    ...     def __init__(self, factor):
    ...         self.factor = rg.tensor(factor, requires_grad=True)
    ...     def __call__(self, x):
    ...         return self.factor * x
    >>> params, buffers = rg.func.stack_module_state([Scale(1.0), Scale(2.0)])
    >>> call = lambda p, x: rg.func.functional_call(Scale(0.0), p, x)
    >>> rg.vmap(call, in_dims=(0, None))(params, rg.tensor(3.0)).detach()
    tensor([3., 6.])
    """
    models = list(models)
    if not models:
        raise RuntimeError(f"stack_module_state: Expected at least one model, got {len(models)}.")
    if len({bool(getattr(m, "training", True)) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if not all(type(m) is type(models[0]) for m in models):
        raise RuntimeError(
            "stack_module_state: Expected all models to be of the same class. They are of "
            f"{', '.join(sorted({type(m).__name__ for m in models}))}."
        )
    held = [named_tensors(m) for m in models]
    params: dict[str, Any] = {}
    buffers: dict[str, Any] = {}
    for name, first in held[0].items():
        if len({h[name].requires_grad for h in held}) > 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        stacked = stack([h[name] for h in held]).detach().requires_grad_(first.requires_grad)
        (params if _is_parameter(models[0], name, first) else buffers)[name] = stacked
    return params, buffers


def _is_parameter(model: Any, name: str, tensor: Tensor) -> bool:
    if _is_module(model):
        return name in dict(model.named_parameters(remove_duplicate=False))
    return tensor.requires_grad
