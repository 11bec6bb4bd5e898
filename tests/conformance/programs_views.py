"""Views: what shares memory, base and version with what, across modes, detach(), .data and inference mode."""

from __future__ import annotations

from typing import Any

import numpy as np

from .harness import attempt, program

VIEWS = {
    "select": lambda x: x[0],
    "slice": lambda x: x[1:],
    "strided slice": lambda x: x[:, ::2],
    "narrow": lambda x: x.narrow(1, 0, 2),
    "t": lambda x: x.t(),
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "transpose": lambda x: x.transpose(0, 1),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "permute": lambda x: x.permute(1, 0),
    "movedim": lambda x: x.movedim(0, 1),
    "view": lambda x: x.view(3, 2),
    "view as a vector": lambda x: x.view(-1),
    "view_as": lambda x: x.view_as(x),
    "reshape": lambda x: x.reshape(6),
    "flatten": lambda x: x.flatten(),
    "ravel": lambda x: x.ravel(),
    "unflatten": lambda x: x.unflatten(1, (3, 1)),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "squeeze": lambda x: x.squeeze(),
    "none": lambda x: x[None],
    "ellipsis": lambda x: x[...],
    "expand": lambda x: x.unsqueeze(0).expand(2, 2, 3),
    "expand_as": lambda x: x.expand_as(x),
    "broadcast_to": lambda x: x.broadcast_to((2, 2, 3)),
    "diagonal": lambda x: x.diagonal(),
    "real": lambda x: x.real,
}

COPIES = {
    "clone": lambda x: x.clone(),
    "index": lambda x: x[[0, 1]],
    "mask": lambda x: x[x > 0],
    "reshape of a transpose": lambda x: x.t().reshape(6),
    "contiguous of a transpose": lambda x: x.t().contiguous(),
    "flip": lambda x: x.flip(0),
    "repeat": lambda x: x.repeat(1, 1),
    "index_select": lambda x: x.index_select(0, x.new_zeros(1).long()),
    "add": lambda x: x + 0,
    "double": lambda x: x.double(),
}


def matrix(torch: Any, requires_grad: bool = False) -> Any:
    return torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=requires_grad)


@program()
def views_know_their_base(torch: Any) -> Any:
    x = matrix(torch)
    made = {name: function(x) for name, function in VIEWS.items()}
    return {name: (v._is_view(), v._base is x) for name, v in made.items() if v is not x}


@program()
def views_that_are_the_tensor_itself(torch: Any) -> Any:
    x = matrix(torch)
    return [
        f(x) is x
        for f in (lambda x: x.real, lambda x: x.contiguous(), lambda x: x.float(), lambda x: x.cpu())
    ]


@program()
def views_share_the_version_counter(torch: Any) -> Any:
    found = {}
    for name, function in VIEWS.items():
        x = matrix(torch)
        v = function(x)
        x.add_(1)
        found[name] = v._version, x._version, v
    return found


@program()
def copies_do_not(torch: Any) -> Any:
    found = {}
    for name, function in COPIES.items():
        x = matrix(torch)
        v = function(x)
        x.add_(1)
        found[name] = v._is_view(), v._base is None, v._version, v
    return found


@program()
def writes_to_a_view_reach_the_base(torch: Any) -> Any:
    found = {}
    for name in ("select", "slice", "strided slice", "t", "view", "flatten", "unsqueeze", "diagonal"):
        x = matrix(torch)
        VIEWS[name](x).mul_(10)
        found[name] = x, x._version
    return found


@program()
def view_of_a_view_has_the_first_base(torch: Any) -> Any:
    x = matrix(torch)
    v = x[0]
    w = v.view(3, 1).t()[0, 1:]
    w.zero_()
    return w._base is x, v._base is x, x, v, [t._version for t in (x, v, w)]


@program()
def views_of_a_computed_tensor(torch: Any) -> Any:
    x = matrix(torch, True)
    y = x * 2
    v = y[0]
    return v._base is y, y._is_view(), v.is_leaf, v.grad_fn, v.grad_fn.next_functions[0][0] is y.grad_fn


@program()
def views_of_a_leaf(torch: Any) -> Any:
    x = matrix(torch, True)
    v = x[0]
    return v._base is x, v.is_leaf, v.requires_grad, v.grad_fn, v.grad_fn.next_functions


@program()
def views_of_a_leaf_that_requires_no_grad(torch: Any) -> Any:
    x = matrix(torch)
    v = x[0]
    return v._base is x, v.is_leaf, v.requires_grad, v.grad_fn


@program()
def view_that_requires_grad_on_its_own(torch: Any) -> Any:
    x = matrix(torch)
    v = x[0].requires_grad_()
    (v * v).sum().backward()
    return v._base is x, v.is_leaf, x.requires_grad, v.grad, x.grad


@program()
def multi_output_views_share_too(torch: Any) -> Any:
    found = []
    for function in (
        lambda x: x.unbind(), lambda x: x.split(1), lambda x: x.chunk(2), lambda x: tuple(x),
        lambda x: x.tensor_split(2), lambda x: x.split([1, 1]), lambda x: x.unbind(1), lambda x: x.hsplit(3),
    ):  # fmt: skip
        x = matrix(torch)
        parts = function(x)
        parts[1].zero_()
        found.append((len(parts), [p._base is x for p in parts], [p._version for p in parts], x))
    return found


@program()
def output_numbers_of_multi_output_views(torch: Any) -> Any:
    x = matrix(torch, True)
    return [
        [(p.output_nr, p.grad_fn, p.grad_fn is parts[0].grad_fn) for p in parts]
        for parts in (x.unbind(), x.split(2, 1), x.chunk(3, 1), x.split([1, 2], 1), tuple(x))
    ]


@program()
def detach_shares_the_counter_but_is_no_view(torch: Any) -> Any:
    x = matrix(torch, True) * 1
    d = x.detach()
    d.add_(1)
    x.mul_(2)
    return d._version, x._version, d._is_view(), d._base is None, d, d.requires_grad, d.is_leaf


@program()
def detach_of_a_view(torch: Any) -> Any:
    x = matrix(torch, True) * 1
    d = x[0].detach()
    d.zero_()
    return d._version, x._version, d._is_view(), x, d.requires_grad


@program()
def view_of_detach(torch: Any) -> Any:
    x = matrix(torch, True) * 1
    d = x.detach()
    v = d[0]
    v.zero_()
    return v._base is d, x._version, x, x.grad_fn


@program(phrase="modified by an inplace operation")
def write_to_a_detached_twin_of_a_saved_tensor(torch: Any) -> Any:
    x = matrix(torch, True)
    y = x * 2
    z = y * y
    y.detach().zero_()
    z.sum().backward()


@program()
def write_to_data_of_a_saved_tensor_goes_unnoticed(torch: Any) -> Any:
    x = matrix(torch, True)
    y = x * 2
    z = y * y
    y.data.mul_(10)
    z.sum().backward()
    return y._version, y.data._version, x.grad


@program()
def data_of_a_view(torch: Any) -> Any:
    x = matrix(torch)
    v = x[0]
    d = v.data
    d.zero_()
    return d._is_view(), d._version, x._version, v._version, x


@program()
def data_assigned_gives_new_memory(torch: Any) -> Any:
    x = matrix(torch)
    v = x[0]
    old = x._version
    x.data = torch.zeros(2, 3)
    x.add_(1)
    return v, v._base is x, old, x._version, x


@program()
def clone_of_a_view_is_free(torch: Any) -> Any:
    x = matrix(torch)
    c = x[0].clone()
    c.zero_()
    return c._is_view(), c._version, x._version, x


@program()
def view_under_no_grad(torch: Any) -> Any:
    x = matrix(torch, True)
    y = x * 1
    with torch.no_grad():
        v = y[0]
    return v._base is y, v.requires_grad, v.is_leaf, v.grad_fn


@program()
def view_under_no_grad_written_under_no_grad(torch: Any) -> Any:
    x = matrix(torch, True)
    y = x * 1
    with torch.no_grad():
        v = y[0]
        v.mul_(5)
    y.sum().backward()
    return y, y._version, x.grad


@program(phrase="A view was created in no_grad mode and is being modified inplace with grad mode enabled")
def view_under_no_grad_written_with_grad(torch: Any) -> Any:
    y = matrix(torch, True) * 1
    with torch.no_grad():
        v = y[0]
    v.mul_(5)


@program(
    phrase="A view was created in no_grad mode and its base or another view of its base has been modified inplace"
)
def view_under_no_grad_asked_after_its_base_changed(torch: Any) -> Any:
    y = matrix(torch, True) * 1
    with torch.no_grad():
        v = y[0]
    y.mul_(5)
    return v.grad_fn


@program()
def view_of_a_constant_under_no_grad_written_with_grad(torch: Any) -> Any:
    x = matrix(torch)
    with torch.no_grad():
        v = x[0]
    v.mul_(5)
    return x, x._version


@program()
def view_of_a_leaf_under_no_grad_written_there(torch: Any) -> Any:
    x = matrix(torch, True)
    with torch.no_grad():
        x[0].zero_()
        x.view(-1)[5] = 100
        x.t()[1] += 10
    return x, x._version, x.requires_grad, x.is_leaf


@program()
def view_with_grad_written_under_no_grad(torch: Any) -> Any:
    x = matrix(torch, True)
    y = x * 2
    v = y[0]
    with torch.no_grad():
        v.mul_(5)
    (y * 1).sum().backward()
    return y, y.grad_fn, v._version, x.grad


@program()
def view_asked_after_a_write_under_no_grad(torch: Any) -> Any:
    x = matrix(torch, True)
    y = x * 2
    v = y[0]
    with torch.no_grad():
        y.mul_(5)
    return v, v.grad_fn, torch.autograd.grad(v.sum(), x)


@program()
def view_made_with_grad_inside_no_grad(torch: Any) -> Any:
    x = matrix(torch, True)
    with torch.no_grad(), torch.enable_grad():
        v = (x * 1)[0]
        v.mul_(5)
    v.sum().backward()
    return v, x.grad


@program()
def in_inference_mode_views_of_normal_tensors_are_normal(torch: Any) -> Any:
    x = matrix(torch)
    with torch.inference_mode():
        v = x[0]
        v.add_(1)
    return v.is_inference(), v._base is x, x._version, x


@program(phrase="Inplace update to inference tensor outside InferenceMode is not allowed")
def view_of_an_inference_tensor_written_outside(torch: Any) -> Any:
    with torch.inference_mode():
        x = matrix(torch)
    x[0].add_(1)


@program()
def inference_result_written_into_a_normal_tensor(torch: Any) -> Any:
    x = matrix(torch, True) * 1
    with torch.inference_mode():
        i = torch.full((3,), 7.0)
    x[0] = i
    return x, x.grad_fn


@program(phrase="Inference tensors cannot be saved for backward")
def inference_tensor_as_a_factor_in_place(torch: Any) -> Any:
    x = matrix(torch, True) * 1
    with torch.inference_mode():
        i = torch.full((3,), 7.0)
    x.mul_(i)


@program()
def strides_and_offsets_of_views(torch: Any) -> Any:
    x = matrix(torch)
    views = x, x[1], x[:, 1:], x.t(), x[:, ::2], x.view(-1)[4], x.unsqueeze(1), x.diagonal()
    return [(tuple(v.shape), tuple(v.stride()), v.storage_offset(), v.is_contiguous()) for v in views]


@program()
def view_refuses_what_memory_cannot_show(torch: Any) -> Any:
    x = matrix(torch)
    return (
        attempt("view size is not compatible with input tensor's size and stride", x.t().view, 6),
        attempt("shape '.4.' is invalid for input of size 6", x.view, 4),
        attempt("only one dimension can be inferred", x.view, -1, -1),
    )


@program()
def view_under_no_grad_as_an_array(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        view = x.view(2, 1)
        quiet = view.numpy()
    phrase = "Can't call numpy\\(\\) on Tensor that requires grad"
    return quiet, attempt(phrase, view.numpy), attempt(phrase, np.asarray, view)
