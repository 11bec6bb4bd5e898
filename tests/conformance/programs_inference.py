"""Inference tensors: what may be done with them, inside the mode and outside of it."""

from __future__ import annotations

import copy
from typing import Any

from .harness import attempt, program


@program()
def views_of_inference_tensors_in_normal_mode(torch: Any) -> Any:
    with torch.inference_mode():
        a = torch.ones(2, 3)
    views = (a.view(3, 2), a[0], a.t(), a.detach(), a[:, ::2], a.unsqueeze(0), a.expand(4, 2, 3))
    return [(v, v.is_inference(), v.grad_fn is None, v._is_view()) for v in views]


@program()
def views_in_inference_mode_of_normal_tensors(torch: Any) -> Any:
    x = torch.ones(2, 3, requires_grad=True)
    y = x * 2
    with torch.inference_mode():
        views = (x.view(3, 2), y[0], y.t(), y.detach(), y.unsqueeze(0))
        inside = [(v.requires_grad, v.is_inference()) for v in views]
    return inside, [(v.requires_grad, v.is_inference(), v.is_leaf, v._is_view()) for v in views]


@program()
def writes_to_views_of_inference_tensors(torch: Any) -> Any:
    with torch.inference_mode():
        a = torch.ones(2, 3)
    w = torch.ones(3, requires_grad=True)
    words = "Inplace update to inference tensor outside InferenceMode is not allowed"

    def write(t: Any) -> Any:
        return t.add_(1)

    return [
        attempt(words, write, a),
        attempt(words, write, a[0]),
        attempt("Inference tensors cannot be saved for backward", lambda: a * w),
        (a + w).requires_grad,
        a.clone().is_inference(),
    ]


@program()
def resizing_inside_inference_mode(torch: Any) -> Any:
    with torch.inference_mode():
        a = torch.arange(4.0)
        a.resize_(2, 2)
        b = torch.ones(2)
        b.resize_(0)
        b.resize_(3).fill_(2)
        c = torch.zeros(1)
        c.resize_as_(a).copy_(a)
        d = torch.zeros(0)
        torch.add(a, a, out=d.resize_(2, 2))
    return a, b, c, d, a.is_inference()


@program()
def other_memory_inside_inference_mode(torch: Any) -> Any:
    with torch.inference_mode():
        a = torch.arange(4.0)
        a.set_(torch.ones(2, 2))
        b = torch.arange(6.0).reshape(2, 3)
        b.t_()
        b.unsqueeze_(0)
        b.squeeze_()
        c = torch.ones(3)
        c.data = torch.zeros(2)
        c.detach_()
    return a, b, c, a.is_inference(), b.is_inference(), c.is_inference()


@program()
def a_view_made_without_recording_and_written(torch: Any) -> Any:
    def run(mode: Any, several: bool) -> Any:
        x = torch.ones(4, requires_grad=True).clone()
        with mode:
            v = x.split(2) if several else x.view(2, 2)
        (v[0] if several else v).mul_(2)

    return [
        attempt(
            "A view was created in no_grad mode and is being modified inplace with grad",
            run,
            torch.no_grad(),
            0,
        ),
        attempt("A view was created in inference mode and is being", run, torch.inference_mode(), 0),
        attempt("inside the no_grad block", run, torch.no_grad(), True),
        attempt("inside the inference_mode block", run, torch.inference_mode(), True),
        attempt("inside the no_grad block", run, torch.no_grad(), False),
        attempt("inside the inference_mode block", run, torch.inference_mode(), False),
    ]


@program()
def a_base_without_history_and_a_view_without_recording(torch: Any) -> Any:
    def run(mode: Any) -> Any:
        x = torch.ones(4)
        with mode:
            v = x.view(2, 2)
        v.mul_(torch.ones(2, 2, requires_grad=True))

    return [
        attempt("inside the no_grad block", run, torch.no_grad()),
        attempt("inside the inference_mode block", run, torch.inference_mode()),
    ]


@program()
def requires_grad_of_inference_tensors(torch: Any) -> Any:
    with torch.inference_mode():
        a = torch.ones(2)
        b = torch.ones(2, requires_grad=True)
        c = a.requires_grad_()
    found = (a.requires_grad, b.requires_grad, c is a, b.is_inference())

    def flag() -> None:
        with torch.inference_mode():
            t = torch.ones(2)
        t.requires_grad = True

    words = "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed"
    return found, attempt(words, flag), attempt("do not track version counter", lambda: a._version)


@program()
def inference_tensors_that_require_grad(torch: Any) -> Any:
    with torch.inference_mode():
        a = torch.ones(2, 3, requires_grad=True)
        inside = a.view(3, 2), a * 2
        flags = [(t.requires_grad, t.is_leaf) for t in inside]
    outside = a.view(3, 2), a[0], a.detach()
    found = [(v.requires_grad, v.is_leaf, v.grad_fn, v.is_inference()) for v in outside]
    total = attempt("", lambda: (a + 1).sum().backward())
    return flags, found, total, a.grad


@program()
def resizing_normal_tensors_inside_inference_mode(torch: Any) -> Any:
    a, b = torch.arange(4.0), torch.ones(2)
    with torch.inference_mode():
        a.resize_(2, 2)
        b.resize_(4).fill_(1)
    w = torch.ones(2, requires_grad=True)
    return a, b, a._version, b._version, a.is_inference(), a * w


def with_gradient(torch: Any) -> Any:
    with torch.inference_mode():
        return torch.ones(3, requires_grad=True)


@program()
def nothing_but_inference_tensors_is_recorded(torch: Any) -> Any:
    x, y = with_gradient(torch), with_gradient(torch)
    return [
        x * y, x * x, x.exp(), x.sum(), torch.cat([x, y]), torch.stack([x, y]), torch.addcmul(x, y, y), x**2,
        x.clamp(0, 1), torch.softmax(x, 0), torch.relu(x), x.view(3, 1) @ y.view(1, 3),
        x.unbind()[0], x[0],
    ]  # fmt: skip


@program()
def beside_other_tensors_and_numbers_it_is(torch: Any) -> Any:
    x, y, w = with_gradient(torch), torch.ones(3), torch.ones(3, requires_grad=True)
    phrase = "Inference tensors cannot be saved for backward"
    return (
        x * 2,
        x + 2,
        x + y,
        x + w,
        x * y,
        attempt(phrase, lambda: x * w),
        x.clone().requires_grad,
        x.double().requires_grad,
    )


@program()
def copies_made_in_inference_mode(torch: Any) -> Any:
    x = torch.ones(2)
    with torch.inference_mode():
        return (
            copy.deepcopy(x).is_inference(),
            x.clone().is_inference(),
            copy.deepcopy(torch.ones(2)).is_inference(),
        )


@program()
def nothing_but_inference_tensors_carries_a_tangent(torch: Any) -> Any:
    forward_ad = torch.autograd.forward_ad
    with torch.inference_mode():
        x = torch.ones(3)
    plain = torch.ones(3)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.full((3,), 2.0))
        results = [
            dual, torch.cat([dual, dual]), dual.sin(), dual * dual, dual.sum(), dual**2, dual[0], dual * 2,
            dual * plain, dual.clone(), torch.stack([dual, plain]),
        ]  # fmt: skip
        return [forward_ad.unpack_dual(result).tangent for result in results]


@program()
def memory_of_an_inference_tensor_stays(torch: Any) -> Any:
    with torch.inference_mode():
        x = torch.ones(2)
        x.resize_(1)
    refused = "Inplace update to inference tensor outside InferenceMode is not allowed"
    return attempt(refused, x.resize_, 2), attempt(refused, x.set_, torch.ones(2))
