"""A program that uses names which PyTorch's files have beside the public ones. Run by `retrograd run`."""

import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import _VF
from torch.nn.functional import _canonical_mask, _in_projection_packed, _mha_shape_check, _none_or_dtype
from torch.nn.modules.conv import *  # noqa: F403
from torch.nn.modules.loss import *  # noqa: F403
from torch.optim.optimizer import (
    Optimizer,
    _default_to_fused_or_foreach,
    _get_value,
    _use_grad_for_differentiable,
    _view_as_real,
)

ns = {}
exec("from torch.nn.modules.loss import *", ns)
assert ns["CrossEntropyLoss"] is nn.CrossEntropyLoss

# Questions of old about how torch was built.
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    assert torch.has_mps is False
    assert getattr(torch, "has_cuda", None) is torch.cuda.is_available()
    assert hasattr(torch, "has_mkldnn")
assert "'has_mps' is deprecated, please use 'torch.backends.mps.is_built()'" in str(seen[0].message)
assert torch.has_lapack is True
assert not torch.is_vulkan_available()
assert torch._shape_as_tensor(torch.ones(2, 3)).tolist() == [2, 3]
assert _VF.tanh(torch.zeros(1)) == 0

# Functions that copies of PyTorch's own call.
assert F._Reduction.get_enum("sum") == 2
assert F._pair(3) == (3, 3)
assert F.math.sqrt(4) == 2
assert F.grad.conv1d_weight(torch.ones(1, 1, 3), (1, 1, 1), torch.ones(1, 1, 3)).item() == 3
assert F.has_torch_function([1]) is False
assert (
    F.boolean_dispatch("flag", 1, False, lambda x, flag=False: 1, lambda x, flag=False: 2, "m", "f")(0, True)
    == 1
)
x = torch.ones(3, 2, 4)
assert _mha_shape_check(x, x, x, None, None, 2)
assert [y.shape for y in _in_projection_packed(x, x, x, torch.ones(12, 4))] == [x.shape] * 3
mask = torch.tensor([True, False])
found = _canonical_mask(mask, "mask", _none_or_dtype(None), "", torch.float32, check_other=False)
assert found.tolist() == [-float("inf"), 0.0]
assert torch.serialization.default_restore_location(x.untyped_storage(), "cpu").nbytes() == 96
model = nn.LSTM(2, 3)
assert [w.shape for w in model._flat_weights] == [p.shape for p in model.parameters()]
assert model._call_impl(torch.ones(1, 1, 2))[0].shape == (1, 1, 3)


class Descent(Optimizer):
    def __init__(self, params, lr=0.5, differentiable=False):
        super().__init__(params, {"lr": lr, "differentiable": differentiable})

    @_use_grad_for_differentiable
    def step(self, closure=None):
        for group in self.param_groups:
            params = list(group["params"])
            assert _default_to_fused_or_foreach(params, False) == (False, False)
            _view_as_real(params)
            for p in params:
                p.add_(p.grad, alpha=-_get_value(torch.tensor(group["lr"])))


q = nn.Parameter(torch.ones(2))
q.grad = torch.ones(2)
Descent([q]).step()
assert q.tolist() == [0.5, 0.5]
print("all names are there")
