"""State dicts: parameters become numbers on the way out, numbers become parameters on the way in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from retrograd.core.tensor import Tensor


def pack_state(state: Mapping[Any, Any], numbers: Mapping[int, int]) -> dict[Any, Any]:
    """The state with the number of each parameter in its place."""
    return {numbers[id(key)] if isinstance(key, Tensor) else key: value for key, value in state.items()}


def pack_groups(groups: Iterable[dict[str, Any]], numbers: Mapping[int, int]) -> list[dict[str, Any]]:
    """The groups with numbers for parameters, which come last."""
    packed = []
    for group in groups:
        options = {key: value for key, value in group.items() if key != "params"}
        packed.append({**options, "params": [numbers[id(param)] for param in group["params"]]})
    return packed


def unpack_groups(groups: list[dict[str, Any]], saved: list[dict[str, Any]]) -> dict[Any, Tensor]:
    """Puts the parameters of `groups` into `saved`, and says which number stood for which."""
    if len(groups) != len(saved):
        raise ValueError(
            "loaded state dict has a different number of parameter groups: "
            f"{len(saved)}, where this optimizer has {len(groups)}"
        )
    for i, (group, loaded) in enumerate(zip(groups, saved, strict=True)):
        if len(group["params"]) != len(loaded["params"]):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group: group "
                f"{i} has {len(loaded['params'])} parameters there and {len(group['params'])} here"
            )
    params: dict[Any, Tensor] = {}
    for group, loaded in zip(groups, saved, strict=True):
        params.update(zip(loaded["params"], group["params"], strict=True))
        loaded["params"] = group["params"]
        if "param_names" in group and "param_names" not in loaded:
            loaded["param_names"] = group["param_names"]
    return params


def unpack_state(state: Mapping[Any, Any], params: Mapping[Any, Tensor]) -> defaultdict[Any, Any]:
    """The state by parameter again, each entry in the dtype of its parameter."""
    unpacked: defaultdict[Any, Any] = defaultdict(dict)
    for key, value in state.items():
        if key in params:
            unpacked[params[key]] = _cast(value, params[key], "")
        else:
            unpacked[key] = value
    return unpacked


def _cast(value: Any, param: Tensor, name: str) -> Any:
    """A saved value in the dtype of its parameter, and on its device; a count of steps stays exact."""
    if isinstance(value, Tensor):
        if name == "step":
            return value
        dtype = param.dtype if param.dtype.kind == "f" else value.dtype
        return value.to(param.device, dtype)
    if isinstance(value, dict):
        return {key: _cast(inner, param, key) for key, inner in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_cast(inner, param, name) for inner in value)
    return value


def misfit(state: Mapping[Any, Any], params: Iterable[Tensor]) -> str:
    """Which saved value has another shape than its parameter, and cannot be added to it; empty if none has."""
    for param in params:
        for name, value in (state.get(param) or {}).items():
            if isinstance(value, Tensor) and value.ndim and not _fits(value.shape, param.shape):
                return (
                    f"The size of tensor a {tuple(value.shape)} must match the size of tensor b {tuple(param.shape)}: "
                    f"the state {name!r} was saved for a parameter of another shape"
                )
    return ""


def _fits(shape: Sequence[int], target: Sequence[int]) -> bool:
    """Whether arrays of one shape can be stretched to another."""
    tail = target[len(target) - len(shape) :]
    return len(shape) <= len(target) and all(n in (1, m) for n, m in zip(shape, tail, strict=True))
