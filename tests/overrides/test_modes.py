"""Modes that are on, and indices that are asked."""

from __future__ import annotations

import subprocess
import sys

import pytest

import retrograd as rg
from retrograd import overrides
from retrograd.distributions.utils import broadcast_all
from retrograd.utils._python_dispatch import TorchDispatchMode


class Notes(overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def test_the_innermost_mode():
    assert overrides._get_current_function_mode() is None
    with Notes() as outer, Notes() as inner:
        assert overrides._get_current_function_mode() is inner
        assert overrides._get_current_function_mode_stack() == [outer, inner]
    assert overrides._get_current_function_mode_stack() == []


def test_what_is_inside_of_an_index_is_asked():
    class Place:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func, len(args)

    overrides.switch_on()
    x = rg.zeros(2, 3)
    assert x[Place()] == (rg.Tensor.__getitem__, 2)
    assert x[0, Place()] == (rg.Tensor.__getitem__, 2)
    assert x[[Place()]] == (rg.Tensor.__getitem__, 2)


def test_attributes_are_listed_by_what_reads_them():
    functions = overrides.get_overridable_functions()[rg.Tensor]
    assert rg.Tensor.H.__get__ in functions
    assert all(overrides.resolve_name(f) for f in functions)


def test_attributes_stay_attributes(tmp_path):
    """Also those that nobody has read before functions begin to ask, which takes a new process to see."""
    program = tmp_path / "program.py"
    program.write_text(
        "import retrograd as rg\n"
        "from retrograd.public_names import PROPERTIES\n"
        "rg.overrides.switch_on()\n"
        "x = rg.ones(2, 2, dtype=rg.complex64, requires_grad=True)\n"
        "print([name for name in PROPERTIES.split() if callable(getattr(x, name))])\n"
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_mode_is_asked_itself_not_its_class():
    class OfTheClass(overrides.TorchFunctionMode):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    class Below(TorchDispatchMode):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    for mode in (OfTheClass(), Below()):
        with pytest.raises(RuntimeError, match="as a classmethod is not supported"), mode:
            rg.ones(1).exp()


def test_names_of_attributes_that_begin_with_an_underscore():
    names = [overrides.resolve_name(getattr(rg.Tensor, n).__get__) for n in ("_version", "_grad_fn")]
    assert names == ["torch.Tensor._version.__get__", "torch.Tensor._grad_fn.__get__"]


def test_what_is_no_sequence_has_no_arguments():
    with pytest.raises(TypeError, match="expected a sequence"):
        overrides.has_torch_function(object())


def test_parameters_of_distributions_are_asked():
    class Angle:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return overrides.resolve_name(func), args

    overrides.switch_on()
    angle = Angle()
    name, args = broadcast_all(angle, 1.0)
    assert name.endswith("broadcast_tensors")
    assert args[0] is angle
    assert args[1] == 1.0


def test_methods_of_the_class_are_asked_about_as_they_are():
    """So that `func is torch.Tensor.backward` holds, in the words of PyTorch's own classes."""
    seen = []

    class Notes(rg.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = rg.ones(2, requires_grad=True).as_subclass(Notes)
    x.sum().backward()
    x.dim()
    assert seen[1] is rg.Tensor.backward
    assert seen[2] is rg.Tensor.dim
    names = [overrides.resolve_name(func) for func in seen]
    assert names == ["torch.Tensor.sum", "torch.Tensor.backward", "torch.Tensor.dim"]


def test_a_call_past_one_question():
    seen = []

    class Notes(rg.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return overrides.redispatch_function(func, types, args, kwargs)

    class Mode(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            with self:
                return overrides.redispatch_function(func, types, args, kwargs)

    def scaled(a, b):
        if overrides.has_torch_function((a, b)):
            return overrides.handle_torch_function(scaled, (a, b), a, b)
        return a * b + 1

    three = rg.tensor([3.0])
    found = scaled(three.as_subclass(Notes), three)
    assert type(found) is rg.Tensor
    assert found.item() == 10
    assert seen == ["scaled", "mul"]
    seen.clear()
    with Mode():
        scaled(three, three)
    assert seen == ["scaled", "mul", "add"]
