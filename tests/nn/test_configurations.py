"""Every module in many configurations beside PyTorch's: both refuse, or both compute the same."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import retrograd as rg

from .configurations import KINDS, Configuration, Made, Tensor, configurations

torch = pytest.importorskip("torch")

TOLERANCE = {"float32": {"rtol": 2e-3, "atol": 5e-4}, "float64": {"rtol": 1e-8, "atol": 1e-10}}


def as_value(library: Any, value: Any, dtype: str, grad: bool) -> Any:
    """An input as the library has it; numbers get a gradient."""
    if isinstance(value, Made):
        return value.make(library, *[as_value(library, array, dtype, grad) for array in value.arrays])
    if isinstance(value, tuple) and not isinstance(value, Tensor):
        return tuple(as_value(library, part, dtype, grad) for part in value)
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind in "biu":
        return library.from_numpy(value.copy())
    made = library.from_numpy(np.ascontiguousarray(value).astype(dtype).reshape(value.shape))
    return made.requires_grad_() if grad else made


def tensors_in(value: Any, kind: type) -> list[Any]:
    if isinstance(value, kind):
        return [value]
    if isinstance(value, (tuple, list)):
        return [t for part in value for t in tensors_in(part, kind)]
    return []


def fill(library: Any, module: Any) -> None:
    """Gives parameters and buffers values that depend on their names and shapes alone."""
    for i, (name, t) in enumerate(module.state_dict().items()):
        if t.is_floating_point():
            values = 0.4 * np.sin(np.arange(t.numel()) * 1.7 + i) + (0.9 if name.endswith("var") else 0.1)
            t.copy_(library.from_numpy(values.reshape(tuple(t.shape))))


def outcome(library: Any, case: Configuration) -> Any:
    """What comes of a configuration: the error, or everything that can be seen of the module."""
    try:
        return "computed", compute(library, case)
    except Exception as error:
        return "refused", type(error), str(error)


def made(library: Any, case: Configuration) -> Any:
    arguments = {
        key: library.from_numpy(value.array) if isinstance(value, Tensor) else value
        for key, value in case.arguments.items()
    }
    module = getattr(library.nn, case.name)(**arguments).to(getattr(library, case.dtype))
    return module.train(case.training)


def compute(library: Any, case: Configuration) -> dict[str, Any]:
    module = made(library, case)
    seen: dict[str, Any] = {"text": repr(module)}
    inputs = [as_value(library, value, case.dtype, i == 0) for i, value in enumerate(case.inputs)]
    options = {key: as_value(library, value, case.dtype, False) for key, value in case.options.items()}
    if case.name.startswith("Lazy"):
        module(*inputs, **options)
        seen["text after a call"] = repr(module)
    fill(library, module)
    outputs = tensors_in(module(*inputs, **options), library.Tensor)
    seen["outputs"] = [t.detach().numpy() for t in outputs]
    wanting = [t for t in outputs if t.requires_grad]
    weights = [np.cos(np.arange(t.numel())).reshape(tuple(t.shape)).astype(case.dtype) for t in wanting]
    if wanting:
        library.autograd.backward(wanting, [library.from_numpy(w) for w in weights])
    leaves = [t for t in tensors_in(inputs, library.Tensor) if t.is_leaf]
    grads = [("input", t.grad) for t in leaves] + [(n, p.grad) for n, p in module.named_parameters()]
    seen["gradients"] = [(name, None if g is None else g.numpy()) for name, g in grads]
    seen["state"] = [(name, t.numpy()) for name, t in module.state_dict().items()]
    return seen


def differences(ours: Any, theirs: Any, tolerance: dict[str, float], where: str = "") -> list[str]:
    """Where two outcomes differ."""
    if isinstance(ours, dict):
        return [d for key in ours for d in differences(ours[key], theirs.get(key), tolerance, key)]
    if isinstance(ours, (list, tuple)) and isinstance(theirs, (list, tuple)):
        if len(ours) != len(theirs):
            return [f"{where}: {len(ours)} here, {len(theirs)} there"]
        pairs = zip(ours, theirs, strict=True)
        return [d for i, (a, b) in enumerate(pairs) for d in differences(a, b, tolerance, f"{where}[{i}]")]
    if isinstance(ours, np.ndarray) and isinstance(theirs, np.ndarray):
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            return [f"{where}: {ours.shape} {ours.dtype} here, {theirs.shape} {theirs.dtype} there"]
        same = np.allclose(ours, theirs, equal_nan=True, **tolerance)
        return [] if same else [f"{where}: {ours} here, {theirs} there"]
    return [] if ours == theirs else [f"{where}: {ours!r} here, {theirs!r} there"]


def compared(case: Configuration) -> list[str]:
    """What is different in a configuration."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = outcome(rg, case), outcome(torch, case)
    if ours[0] != theirs[0]:
        return [f"{case}\n    {ours[0]} here, {theirs[0]} there: {ours[-1]!s:.300} / {theirs[-1]!s:.300}"]
    if ours[0] == "refused":
        is_same = issubclass(ours[1], theirs[1])
        return [] if is_same else [f"{case}\n    {ours[1:]!s:.300} here, {theirs[1:]!s:.300} there"]
    # Whose gradient PyTorch computes with a float32 number.
    tolerance = TOLERANCE["float32" if case.name == "Hardsigmoid" else case.dtype]
    return [f"{case}\n    {d:.600}" for d in differences(ours[1], theirs[1], tolerance)]


@pytest.mark.parametrize("name", sorted(KINDS))
def test_configurations_are_pytorchs(name):
    wrong = [text for case in configurations(name, 12) for text in compared(case)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_copies_are_equal(name):
    for case in configurations(name, 4, seed=1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                module = made(rg, case)
            except Exception:
                continue
        for again in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
            assert repr(again) == repr(module)
            assert list(again.state_dict()) == list(module.state_dict())
            assert again.training == module.training
