"""Every public function on tensors without dimensions: NumPy has its own kind of number there, which must not leak."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import retrograd as rg

PLACES = ("", "linalg", "special", "fft", "nn.functional", "Tensor")
# Random results, other kinds of results, and what changes the library's state.
LEFT_OUT = {
    "alpha_dropout", "apply_", "as_subclass", "asarray", "backward", "bernoulli", "bernoulli_", "cauchy_",
    "compile", "const_data_ptr", "data_ptr", "dropout", "dropout1d", "dropout2d", "dropout3d", "empty",
    "empty_like", "empty_permuted", "empty_strided", "exponential_", "feature_alpha_dropout", "feature_dropout",
    "from_dlpack", "from_numpy", "frombuffer", "geometric_", "get_rng_state", "gumbel_softmax", "initial_seed",
    "load", "log_normal_", "manual_seed", "map2_", "map_", "multinomial", "new_empty", "normal", "normal_",
    "numpy", "poisson", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "random_",
    "randperm", "register_hook", "requires_grad_", "resize_", "resize_as_", "rrelu", "rrelu_", "save", "seed",
    "set_", "set_default_device", "set_default_dtype", "set_grad_enabled", "set_num_threads",
    "autocast_decrement_nesting", "autocast_increment_nesting", "bfloat16", "clear_autocast_cache", "cond",
    "from_file", "install_as_torch", "set_anomaly_enabled", "set_autocast_cache_enabled", "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_enabled", "set_autocast_gpu_dtype", "sym_float",
    "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum", "while_loop",
    "set_printoptions", "set_rng_state", "share_memory_", "storage", "type", "uniform_", "vmap",
}  # fmt: skip
VALUES = {"float32": 0.5, "float64": 0.25, "int64": 1, "bool": True, "complex64": 0.5 + 0.25j, "uint8": 1}
# Of what PyTorch gives another shape or dtype than ours, and why that stays.
EXCEPTIONS = {
    "unique_consecutive": "PyTorch has no place for the inverse of a single number, which has one",
    "Tensor.unique_consecutive": "the same",
}


def at(module: Any, path: str) -> Any:
    return functools.reduce(getattr, path.split(".") if path else [], module)


def functions() -> Iterator[str]:
    for place in PLACES:
        where = at(rg, place)
        for name in sorted({*dir(where), *getattr(where, "__all__", ())}):
            path = f"{place}.{name}" if place else name
            if not name.startswith("_") and name not in LEFT_OUT and _is_function(where, name):
                yield path


def _is_function(where: Any, name: str) -> bool:
    found = getattr(where, name, None)
    return callable(found) and not inspect.isclass(found)


def calls(module: Any) -> Iterator[tuple[Any, ...]]:
    """Arguments: single numbers of all dtypes, alone, in pairs of one dtype, and with a dimension."""
    for dtype, value in VALUES.items():
        for more in ((), (0,), (-1,), (value,), (0, 0)):
            yield (module.tensor(value, dtype=getattr(module, dtype)), *more)
        yield tuple(module.tensor(value, dtype=getattr(module, dtype)) for _ in range(2))
        yield tuple(module.tensor(value, dtype=getattr(module, dtype)) for _ in range(3))


def kinds(module: Any, result: Any) -> Any:
    """Shapes and dtypes of all tensors in a result."""
    if isinstance(result, module.Tensor):
        return tuple(result.shape), str(result.dtype).removeprefix("torch.")
    return [kinds(module, r) for r in result] if isinstance(result, (tuple, list)) else type(result).__name__


def outcome(module: Any, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kinds(module, function(*args))


@pytest.mark.parametrize("path", list(functions()))
def test_a_result_has_pytorchs_shape_and_dtype(torch: Any, path: str) -> None:
    ours, theirs = at(rg, path), None
    try:
        theirs = at(torch, path)
    except AttributeError:
        pytest.skip("PyTorch has no such function")
    if path in EXCEPTIONS:
        pytest.skip(EXCEPTIONS[path])
    for mine, hers in zip(calls(rg), calls(torch), strict=True):
        try:
            found = outcome(rg, ours, mine)
        except Exception:  # what may not be called so is not the subject here
            continue
        try:
            wanted = outcome(torch, theirs, hers)
        except Exception:
            continue
        if not isinstance(wanted, str):
            assert found == wanted, mine


@pytest.mark.parametrize("number", [np.bool_(True), np.int32(3), np.float64(0.5), np.complex64(1j)])
def test_a_number_of_numpys_keeps_its_dtype(number: Any) -> None:
    made = rg.Tensor(number, share=True)
    assert (made.dtype, made.shape, made.item()) == (number.dtype, (), number.item())
