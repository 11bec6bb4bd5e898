"""A program that runs tests written with PyTorch's own helpers on retrograd: `torch.testing` is that of PyTorch.

The first argument is the folder of the installed PyTorch.
"""

from __future__ import annotations

import importlib.util
import sys
import types
import unittest
from importlib.machinery import SourceFileLoader
from pathlib import Path

import retrograd

FOLDER = Path(sys.argv.pop(1))
THEIRS = ("torch.testing", "torch._vendor", "torch.utils._import_utils")


def not_here(*args, **named):
    """Stands for an operation of PyTorch's list of all operations that retrograd has not."""
    raise NotImplementedError("this operation is not in retrograd")


class Helper(SourceFileLoader):
    """Runs a file of PyTorch's; its list of operations may name some that are not here."""

    def exec_module(self, module):
        super().exec_module(module)
        if module.__name__ == "torch.testing._internal.opinfo.core":
            find = module._getattr_qual
            module._getattr_qual = lambda thing, name, default=not_here: find(thing, name, default)


class FromPyTorch:
    """Finds the helpers in PyTorch's files; what they import as `torch` is retrograd."""

    def find_spec(self, name, path=None, target=None):
        if not any(name == own or name.startswith(f"{own}.") for own in THEIRS):
            return None
        place = FOLDER.joinpath(*name.split(".")[1:])
        inside = [str(place)] if place.is_dir() else None
        path = place / "__init__.py" if inside else place.with_suffix(".py")
        return importlib.util.spec_from_file_location(
            name, path, loader=Helper(name, str(path)), submodule_search_locations=inside
        )


expecttest = types.ModuleType("expecttest")  # a package of its own, which they derive their class from
expecttest.TestCase = unittest.TestCase
sys.modules["expecttest"] = expecttest
retrograd.install_as_torch()
sys.meta_path.insert(0, FromPyTorch())

import torch  # noqa: E402
from torch.testing._internal.autograd_function_db import autograd_function_db  # noqa: E402
from torch.testing._internal.common_device_type import instantiate_device_type_tests, ops  # noqa: E402
from torch.testing._internal.common_dtype import all_types_and_complex_and, floating_types_and  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402
from torch.testing._internal.common_modules import module_db, modules  # noqa: E402
from torch.testing._internal.common_nn import NewModuleTest, NNTestCase, get_new_module_tests  # noqa: E402
from torch.testing._internal.common_optimizers import optim_db, optims  # noqa: E402
from torch.testing._internal.common_utils import (  # noqa: E402
    TestCase,
    gradcheck,
    gradgradcheck,
    instantiate_parametrized_tests,
    make_tensor,
    parametrize,
    run_tests,
    set_default_dtype,
    skipIfNoLapack,
)


class TestHelpers(TestCase):
    def test_comparison(self):
        x = make_tensor((2, 3), dtype=torch.float64, device="cpu", requires_grad=True)
        self.assertEqual([x, {"a": x.sin()}], [x, {"a": x.sin()}])
        self.assertEqual(torch.tensor([1, 2]), [1, 2])
        self.assertEqual(x.shape, (2, 3))
        self.assertEqual(x.detach().numpy(), x)
        self.assertNotEqual(x, x + 1)
        with self.assertRaisesRegex(AssertionError, "not close"):
            self.assertEqual(x, x + 1)

    def test_gradients(self):
        x = make_tensor((3,), dtype=torch.float64, device="cpu", requires_grad=True)
        self.assertTrue(gradcheck(torch.sin, (x,)))
        self.assertTrue(gradgradcheck(torch.sin, (x,)))

    @skipIfNoLapack
    def test_decorators(self):
        with set_default_dtype(torch.float64):
            self.assertEqual(torch.ones(1).dtype, torch.float64)

    @parametrize("size", [1, 2])
    def test_parameters(self, size):
        self.assertEqual(torch.ones(size).numel(), size)

    def test_dtypes(self):
        self.assertIn(torch.float8_e4m3fn, floating_types_and(torch.float8_e4m3fn))
        self.assertIn(torch.complex32, all_types_and_complex_and(torch.chalf))

    def test_operations(self):
        absent = {op.name for op in op_db if op.op is not_here}
        self.assertGreater(len(op_db), 500)
        self.assertLess(len(absent), 40, absent)


SOME = [op for op in op_db if op.name in ("sin", "add", "cumsum", "nn.functional.softplus")]
LAYERS = [module for module in module_db if module.module_cls in (torch.nn.Linear, torch.nn.GELU)]
ALGORITHMS = [optim for optim in optim_db if optim.optim_cls in (torch.optim.SGD, torch.optim.Adam)]


class TestLists(TestCase):
    """Operations, modules and optimisers as PyTorch's lists describe them."""

    @ops([*SOME, *autograd_function_db], allowed_dtypes=(torch.float64,))
    def test_gradients(self, device, dtype, op):
        for sample in op.sample_inputs(device, dtype, requires_grad=True):
            found = op(sample.input, *sample.args, **sample.kwargs)
            first = found if isinstance(found, torch.Tensor) else found[0]
            first.sum().backward()

    @modules(LAYERS, allowed_dtypes=(torch.float32,))
    def test_layers(self, device, dtype, module_info, training):
        made = module_info.module_inputs_func(
            module_info, device, dtype, requires_grad=True, training=training
        )
        for sample in made:
            layer = module_info.module_cls(*sample.constructor_input.args, **sample.constructor_input.kwargs)
            given = sample.forward_input
            self.assertEqual(layer(*given.args, **given.kwargs).dtype, dtype)

    @optims(ALGORITHMS, dtypes=(torch.float32,))
    def test_steps(self, device, dtype, optim_info):
        for given in optim_info.optim_inputs_func(device=device):
            weight = torch.ones(2, requires_grad=True)
            algorithm = optim_info.optim_cls([weight], **given.kwargs)
            weight.sum().backward()
            algorithm.step()


class TestOlderList(NNTestCase):
    """Modules as PyTorch's older list describes them, which checks copies, layouts and derivatives."""

    def _forward(self, module, inputs):
        return module(*inputs) if isinstance(inputs, tuple) else module(inputs)

    def _backward(self, module, inputs, output, gradient):
        output.backward(gradient, retain_graph=True)
        return inputs.grad

    def _get_parameters(self, module):
        params = list(module.parameters())
        return params, [p.grad for p in params]

    def _zero_grad_parameters(self, module):
        for p in module.parameters():
            if p.grad is not None:
                p.grad.zero_()

    def test_modules(self):
        wanted = (
            "Linear",
            "Conv1d_zero_batch",
            "Embedding_sparse",
            "LayerNorm_1d_elementwise_affine",
            "PixelShuffle",
        )
        ran = 0
        for described in get_new_module_tests():
            known = dict(described)
            if "module_name" in known:
                known["constructor"] = getattr(torch.nn, known.pop("module_name"))
            check = NewModuleTest(**known)
            if check.get_name().removeprefix("test_") in wanted:
                check(self)
                ran += 1
        self.assertGreater(ran, 2)


instantiate_parametrized_tests(TestHelpers)
instantiate_device_type_tests(TestLists, globals())

if __name__ == "__main__":
    run_tests()
