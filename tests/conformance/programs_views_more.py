"""Every kind of view, one by one: base, version, regenerated history, writes; and views made without recording."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .harness import attempt, program

# Of a tensor of shape (2, 3); those with a second part return several views.
KINDS: dict[str, Callable[[Any], Any]] = {
    "view": lambda t: t.view(3, 2),
    "view_as": lambda t: t.view_as(t.new_zeros(6)),
    "reshape": lambda t: t.reshape(6),
    "flatten": lambda t: t.flatten(),
    "unflatten": lambda t: t.unflatten(1, (1, 3)),
    "transpose": lambda t: t.transpose(0, 1),
    "swapaxes": lambda t: t.swapaxes(0, 1),
    "permute": lambda t: t.permute(1, 0),
    "movedim": lambda t: t.movedim(0, 1),
    "T": lambda t: t.T,
    "mT": lambda t: t.mT,
    "H": lambda t: t.H,
    "mH": lambda t: t.mH,
    "adjoint": lambda t: t.adjoint(),
    "squeeze": lambda t: t.squeeze(),
    "unsqueeze": lambda t: t.unsqueeze(1),
    "expand": lambda t: t.expand(1, 2, 3),
    "expand_as": lambda t: t.expand_as(t.new_zeros(1, 2, 3)),
    "slice": lambda t: t[:, 1:],
    "select": lambda t: t.select(1, 2),
    "narrow": lambda t: t.narrow(1, 1, 2),
    "diagonal": lambda t: t.diagonal(1),
    "unfold": lambda t: t.unfold(1, 1, 2),
    "as_strided": lambda t: t.as_strided((2, 2), (3, 2)),
    "tensor_split": lambda t: t.tensor_split(2, 1)[0],
    "hsplit": lambda t: t.hsplit([1])[1],
    "vsplit": lambda t: t.vsplit(2)[1],
    "index": lambda t: t[1, None, ..., 0],
}
SEVERAL: dict[str, Callable[[Any], Any]] = {
    "split": lambda t: t.split(1)[0],
    "split_with_sizes": lambda t: t.split([1, 2], 1)[1],
    "chunk": lambda t: t.chunk(2)[1],
    "unbind": lambda t: t.unbind(1)[2],
}


def matrix(torch: Any) -> Any:
    return torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=torch.float64, requires_grad=True)


def numbers(torch: Any) -> Any:
    return torch.tensor([[1 + 1j, 2 - 1j], [3j, 4 + 0j]], dtype=torch.complex128, requires_grad=True)


# -- every kind ----------------------------------------------------------------------------------------------------


@program()
def every_kind_knows_its_base_and_shares_its_version(torch: Any) -> Any:
    found = {}
    for name, kind in {**KINDS, **SEVERAL}.items():
        y = matrix(torch) * 1
        v = kind(y)
        before = v._is_view(), v._base is y, v._version, v.grad_fn
        with torch.no_grad():
            y.mul_(2)
        found[name] = before, v._version, v.detach()
    return found


@program()
def every_kind_is_regenerated_after_a_write_to_its_base(torch: Any) -> Any:
    found = {}
    for name, kind in KINDS.items():
        x = matrix(torch)
        y = x * 1
        v = kind(y)
        y.mul_(y.detach().clone())
        (v * v).sum().backward()
        found[name] = v, v.grad_fn.next_functions[0][0], x.grad
    return found


@program()
def every_kind_can_be_written(torch: Any) -> Any:
    found = {}
    for name, kind in KINDS.items():
        x = matrix(torch)
        y = x * 1
        v = kind(y)
        v.mul_(3)
        (y * y).sum().backward()
        found[name] = y, v, y._version, x.grad
    return found


@program()
def every_kind_differentiates_twice_after_a_write(torch: Any) -> Any:
    found = {}
    for name, kind in KINDS.items():
        x = matrix(torch)
        y = x * 1
        kind(y).sin_()
        (first,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
        found[name] = first.detach(), torch.autograd.grad(first.sum(), x)
    return found


@program()
def every_kind_of_a_constant_joins_a_graph_by_a_write(torch: Any) -> Any:
    found = {}
    for name, kind in KINDS.items():
        y, w = (
            torch.zeros(2, 3, dtype=torch.float64),
            torch.tensor(2.0, dtype=torch.float64, requires_grad=True),
        )
        v = kind(y)
        v.add_(w)
        (y * y).sum().backward()
        found[name] = y, v, w.grad
    return found


@program()
def every_kind_refuses_a_leaf(torch: Any) -> Any:
    phrase = "a view of a leaf Variable that requires grad is being used in an in-place operation"
    return {name: attempt(phrase, kind(matrix(torch)).mul_, 2) for name, kind in KINDS.items()}


@program()
def several_views_of_one_call_refuse_writes(torch: Any) -> Any:
    phrase = (
        "is a view and is being modified inplace. This view is the output of a function that returns multiple"
    )
    return {name: attempt(phrase, kind(matrix(torch) * 1).mul_, 2) for name, kind in SEVERAL.items()}


@program()
def several_views_of_one_call_are_lost_by_a_write(torch: Any) -> Any:
    found = {}
    for name, kind in SEVERAL.items():
        y = matrix(torch) * 1
        v = kind(y)
        y.mul_(2)
        found[name] = (
            attempt("its base or another view of its base has been modified inplace", v.mul, 2),
            v._version,
        )
    return found


@program()
def several_views_of_a_constant(torch: Any) -> Any:
    found = {}
    for name, kind in SEVERAL.items():
        y = torch.zeros(2, 3)
        v = kind(y)
        v.add_(1)
        phrase = "This view is the output of a function that returns multiple views"
        found[name] = (
            y,
            attempt(phrase, v.copy_, torch.ones((), requires_grad=True)),
            y._version,
            y.requires_grad,
        )
    return found


@program()
def views_of_views_have_the_same_base(torch: Any) -> Any:
    found = {}
    for name, kind in KINDS.items():
        x = matrix(torch)
        y = x * 1
        v = kind(y.t().t())
        w = v[..., :1] if v.dim() else v
        w.mul_(2)
        (v * v).sum().backward()
        found[name] = w._base is y, v, x.grad
    return found


@program()
def detach_is_no_view(torch: Any) -> Any:
    y = matrix(torch) * 1
    d = y.detach()
    d[0].add_(1)
    return d._is_view(), d._base is None, y._version, d._version, y, d[0]._is_view(), d[0]._base is d


# -- a view that is itself a leaf ----------------------------------------------------------------------------------


@program()
def a_view_of_a_constant_can_be_a_leaf(torch: Any) -> Any:
    base = torch.zeros(2, 3)
    v = base.view(6).requires_grad_()
    phrase = "a view of a leaf Variable that requires grad is being used in an in-place operation"
    return [
        v,
        v._is_view(),
        attempt(phrase, v.mul_, 2),
        attempt(phrase, v[1:].mul_, 2),
        attempt(phrase, v.t_),
        base.requires_grad,
    ]


@program()
def a_view_that_is_a_leaf_gets_a_gradient(torch: Any) -> Any:
    v = torch.arange(6.0).view(2, 3).requires_grad_()
    (v * v).sum().backward()
    with torch.no_grad():
        v.sub_(v.grad)
    return v, v.grad, v._version


# -- complex numbers and their parts -------------------------------------------------------------------------------

PARTS: dict[str, Callable[[Any, Any], Any]] = {
    "view_as_real": lambda torch, z: torch.view_as_real(z),
    "real": lambda torch, z: z.real,
    "imag": lambda torch, z: z.imag,
    "a row of view_as_real": lambda torch, z: torch.view_as_real(z)[1],
    "view_as_real of a row": lambda torch, z: torch.view_as_real(z[1]),
    "real of a row": lambda torch, z: z[0].real,
    "imag transposed": lambda torch, z: z.imag.t(),
}


@program()
def parts_know_their_base(torch: Any) -> Any:
    found = {}
    for name, part in PARTS.items():
        z = numbers(torch) * 1
        v = part(torch, z)
        found[name] = v._is_view(), v._base is z, v, v._version
    return found


@program()
def parts_are_regenerated(torch: Any) -> Any:
    found = {}
    for name, part in PARTS.items():
        x = numbers(torch)
        z = x * 1
        v = part(torch, z)
        z.mul_(1 + 2j)
        (v * v).sum().backward()
        found[name] = v, x.grad
    return found


@program()
def parts_can_be_written(torch: Any) -> Any:
    found = {}
    for name, part in PARTS.items():
        x = numbers(torch)
        z = x * 1
        v = part(torch, z)
        v.mul_(3)
        (z * z.conj()).real.sum().backward()
        found[name] = v, z.detach(), z.grad_fn, x.grad
    return found


@program()
def view_as_real_of_a_constant_that_joins_a_graph(torch: Any) -> Any:
    x = numbers(torch)
    z = torch.zeros(2, 2, dtype=torch.complex128)
    pairs, real = torch.view_as_real(z), z.real
    z.add_(x)
    (pairs * pairs).sum().backward()
    return pairs, real, x.grad


@program()
def view_as_complex_is_regenerated(torch: Any) -> Any:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 1
    z, row = torch.view_as_complex(y), torch.view_as_complex(y[0])
    y.mul_(2)
    (z * z.conj()).real.sum().backward()
    return z, row, x.grad


@program()
def view_as_complex_can_be_written(torch: Any) -> Any:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 1
    z = torch.view_as_complex(y)
    z.mul_(1j)
    (y * y * y).sum().backward()
    return z, y, x.grad


# -- views made without recording ----------------------------------------------------------------------------------


def unrecorded(torch: Any, t: Any, mode: str) -> Any:
    with torch.no_grad() if mode == "no_grad" else torch.inference_mode():
        return t[0]


MODES = ("no_grad", "inference")


@program()
def an_unrecorded_view_requires_a_gradient_and_has_no_history(torch: Any) -> Any:
    y = matrix(torch) * 1
    return [(v, v._is_view(), v._base is y) for v in (unrecorded(torch, y, mode) for mode in MODES)]


@program()
def operations_on_an_unrecorded_view_lead_nowhere(torch: Any) -> Any:
    found = []
    for mode in MODES:
        v = unrecorded(torch, matrix(torch) * 1, mode)
        for out in (v * 2, v + v, v.sin(), v.sum(), v[1:], torch.stack([v, v]), torch.cat([v, v]), v.clone()):
            found.append((out, [f for f, _ in out.grad_fn.next_functions]))
    return found


@program()
def backward_through_an_unrecorded_view(torch: Any) -> Any:
    x = matrix(torch)
    y = x * 1
    w = torch.ones(3, dtype=torch.float64, requires_grad=True)
    for mode in MODES:
        v = unrecorded(torch, y, mode)
        (v.sin() * w).sum().backward()
        v.exp().sum().backward()
    return x.grad, w.grad


@program()
def an_unrecorded_view_differentiates_twice(torch: Any) -> Any:
    v = unrecorded(torch, matrix(torch) * 1, "no_grad")
    w = torch.ones(3, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad((v.sin() * w * w).sum(), w, create_graph=True)
    return first, torch.autograd.grad(first.sum(), w)


@program()
def an_unrecorded_view_of_a_leaf(torch: Any) -> Any:
    x = matrix(torch)
    v = unrecorded(torch, x, "no_grad")
    (v * 2).sum().backward()
    return v, x.grad, (v * 2).grad_fn.next_functions[0][0]


@program()
def asking_for_a_gradient_of_an_unrecorded_view(torch: Any) -> Any:
    x = matrix(torch)
    y = x * 1
    v = unrecorded(torch, y, "no_grad")
    return [
        torch.autograd.grad(v.sum(), x, allow_unused=True),
        torch.autograd.grad((y * y).sum(), v, allow_unused=True),
        attempt("appears to not have been used in the graph", torch.autograd.grad, v.sum(), x),
    ]


@program()
def an_unrecorded_view_can_become_a_leaf(torch: Any) -> Any:
    x = matrix(torch)
    v = unrecorded(torch, x * 1, "no_grad").requires_grad_()
    (v * v).sum().backward()
    return v, v.grad, x.grad


@program()
def writes_to_an_unrecorded_view(torch: Any) -> Any:
    phrases = {
        "no_grad": "A view was created in no_grad mode and is being modified inplace with grad mode enabled",
        "inference": "A view was created in inference mode and is being modified inplace in normal mode",
    }
    found = []
    for mode, phrase in phrases.items():
        y = matrix(torch) * 1
        v = unrecorded(torch, y, mode)
        found += [
            attempt(phrase, v.mul_, 2),
            attempt(phrase, v.t_),
            attempt(phrase, v.copy_, v.detach()),
            y._version,
        ]
    return found


@program()
def writes_to_a_view_of_an_unrecorded_view(torch: Any) -> Any:
    phrases = {
        "no_grad": "Output 0 of Slice is a view of a view which was created in no_grad mode and is being modified",
        "inference": "Output 0 of Slice is a view of a view which was created in inference mode and is being modified",
    }
    found = []
    for mode, phrase in phrases.items():
        v = unrecorded(torch, matrix(torch) * 1, mode)
        found += [attempt(phrase, v[1:].mul_, 2), v[1:].grad_fn.next_functions[0][0]]
    return found


@program()
def one_of_several_views_of_an_unrecorded_view(torch: Any) -> Any:
    several = (
        "Output 1 of Unbind is a view and is being modified inplace. This view is the output of a function"
    )
    inference = (
        "Output 1 of Unbind is a view of a view which was created in inference mode and is being modified"
    )
    y = matrix(torch) * 1
    return [
        attempt(several, unrecorded(torch, y, "no_grad").unbind()[1].mul_, 2),
        attempt(inference, unrecorded(torch, y, "inference").unbind()[1].mul_, 2),
    ]


@program()
def unrecorded_writes_lose_an_unrecorded_view(torch: Any) -> Any:
    phrases = {
        "no_grad": "A view was created in no_grad mode and its base or another view of its base has been modified",
        "inference": "A view was created in inference mode and its base or another view of its base has been modified",
    }
    found = []
    for mode, phrase in phrases.items():
        y = matrix(torch) * 1
        v = unrecorded(torch, y, mode)
        with torch.no_grad():
            y.mul_(2)
            inside = v * 2
        found += [attempt(phrase, v.mul, 2), attempt(phrase, getattr, v, "grad_fn"), inside]
    return found


@program()
def unrecorded_views_of_constants_are_free(torch: Any) -> Any:
    found = []
    for mode in MODES:
        y = torch.zeros(2, 3)
        v = unrecorded(torch, y, mode)
        v.add_(1)
        y.mul_(2)
        phrase = "A view was created in"
        found += [v, v * 2, attempt(phrase, v.copy_, torch.ones(3, requires_grad=True)), y._version]
    return found


@program()
def a_tracked_value_and_an_unrecorded_view_in_place(torch: Any) -> Any:
    v = unrecorded(torch, matrix(torch) * 1, "no_grad")
    z = torch.zeros(3, dtype=torch.float64)
    z.add_(v)
    return z, [f for f, _ in z.grad_fn.next_functions]


@program()
def a_view_brought_up_to_date_by_being_an_operand_in_place(torch: Any) -> Any:
    x, base = matrix(torch), torch.zeros(2, 3, dtype=torch.float64)
    v = base[0]
    base.add_(x)
    z = torch.ones(3, dtype=torch.float64)
    z.mul_(v)
    z.sum().backward()
    return z, x.grad


@program()
def views_of_inference_tensors(torch: Any) -> Any:
    with torch.inference_mode():
        t = torch.ones(3)
        inside = t[:2]
        part = inside[:1].add_(1)
    outside = t[1:]
    return [
        (v._is_view(), v._base is None, v.is_inference(), v.requires_grad) for v in (inside, outside, part)
    ], t


@program()
def writes_to_views_of_inference_tensors(torch: Any) -> Any:
    with torch.inference_mode():
        t = torch.ones(3)
    phrase = "Inplace update to inference tensor outside InferenceMode is not allowed"
    return attempt(phrase, t[:2].add_, 1), attempt("Inference tensors", getattr, t[:2], "_version")
