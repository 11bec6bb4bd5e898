"""How tensors and gradients lie in memory: memory formats, and the layout of `.grad`."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program


@program()
def a_gradient_lies_as_its_leaf_does(torch: Any) -> Any:
    leaves = {
        "rows": torch.zeros(2, 3, 4),
        "columns": torch.zeros(4, 3, 2).permute(2, 1, 0),
        "permuted": torch.zeros(3, 2, 4).transpose(0, 1),
        "with gaps": torch.zeros(2, 3, 8)[:, :, ::2],
        "part": torch.zeros(4, 6, 4)[1:3, 2:5],
        "expanded": torch.zeros(2, 1, 4).expand(2, 3, 4),
        "one": torch.zeros(4, 3, 1).permute(2, 1, 0),
    }
    weight = torch.rand(3, 4)
    found = {}
    for name, leaf in leaves.items():
        leaf = leaf.detach().requires_grad_()
        (leaf * weight[: leaf.shape[1]]).sum().backward()
        first = leaf.grad.stride()
        (leaf * 2).sum().backward()
        second = leaf.grad.stride()
        leaf.grad = None
        leaf.sum().backward()
        third = leaf.grad.stride()
        leaf.grad = None
        leaf.backward(torch.ones_like(leaf).contiguous())
        found[name] = (first, second, third, leaf.grad.stride())
    return found


@program(warns="reference cycle")
def a_recorded_gradient_lies_as_its_leaf_does(torch: Any) -> Any:
    found = []
    for leaf in (torch.ones(3, 2).t(), torch.ones(2, 6)[:, ::2], torch.ones(2, 3)):
        leaf = leaf.detach().requires_grad_()
        (leaf * leaf * torch.ones(2, 3)).sum().backward(create_graph=True)
        found.append((leaf.grad, leaf.grad.stride()))
        leaf.grad = None
    return found


@program()
def a_policy_that_is_not_enforced(torch: Any) -> Any:
    found = []
    for enforced in (True, False):
        leaf = torch.ones(3, 2).t().requires_grad_()
        with torch.autograd.enforce_grad_layout_policy(enforced):
            leaf.register_hook(lambda g: g.contiguous() * 1)
            (leaf * 2).sum().backward()
        found.append(leaf.grad.stride())

    @torch.autograd.enforce_grad_layout_policy(False)
    def run() -> Any:
        leaf = torch.ones(3, 2).t().requires_grad_()
        leaf.register_hook(lambda g: g.contiguous() * 1)
        (leaf * 2).sum().backward()
        return leaf.grad.stride()

    leaf = torch.ones(3, 2).t().requires_grad_()
    leaf.register_hook(lambda g: g.contiguous() * 1)
    (leaf * 2).sum().backward()
    return found, run(), leaf.grad.stride(), torch.autograd.enforce_grad_layout_policy(True).mode


@program()
def names_of_memory_formats(torch: Any) -> Any:
    formats = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d, torch.preserve_format)
    return (
        [str(f) for f in formats],
        [repr(f) for f in formats],
        [isinstance(f, torch.memory_format) for f in formats],
        torch.channels_last == torch.channels_last,
        torch.channels_last == torch.channels_last_3d,
        len({*formats}),
        attempt("cannot create", torch.memory_format),
    )


@program()
def copies_in_a_memory_format(torch: Any) -> Any:
    x = torch.arange(120.0).reshape(2, 3, 4, 5)
    last = x.to(memory_format=torch.channels_last)
    formats = (torch.contiguous_format, torch.channels_last, torch.preserve_format)
    found = {}
    for name, t in (
        ("rows", x),
        ("last", last),
        ("expanded", x[:, :1].expand(2, 3, 4, 5)),
        ("sliced", last[:, :2]),
    ):
        found[name] = [
            [t.clone(memory_format=f).stride() for f in formats],
            [t.to(torch.float64, memory_format=f).stride() for f in formats],
            [t.double(memory_format=f).stride() for f in formats],
            [torch.empty_like(t, memory_format=f).stride() for f in formats],
            [torch.zeros_like(t, memory_format=f).stride() for f in formats],
            [torch.ones_like(t, memory_format=f).stride() for f in formats],
            [torch.full_like(t, 2.0, memory_format=f).stride() for f in formats],
            [torch.rand_like(t, memory_format=f).stride() for f in formats],
            [torch.randn_like(t, memory_format=f).stride() for f in formats],
            [t.contiguous(memory_format=f).stride() for f in formats[:2]],
            [t.is_contiguous(memory_format=f) for f in formats[:2]],
            [t.contiguous(memory_format=f) is t for f in formats[:2]],
            t.to(memory_format=torch.channels_last) is t,
            t.to(memory_format=torch.channels_last, copy=True) is t,
        ]
    return found, torch.equal(x, last), last


@program()
def volumes_in_channels_last(torch: Any) -> Any:
    x = torch.arange(48.0).reshape(2, 3, 2, 2, 2)
    last = x.contiguous(memory_format=torch.channels_last_3d)
    return (
        last.stride(),
        last.is_contiguous(memory_format=torch.channels_last_3d),
        last.is_contiguous(),
        x.is_contiguous(memory_format=torch.channels_last_3d),
        torch.empty_like(x, memory_format=torch.channels_last_3d).stride(),
        torch.equal(x, last),
        x.is_contiguous(memory_format=torch.channels_last),
    )


@program()
def memory_made_in_a_format(torch: Any) -> Any:
    x = torch.zeros(2)
    x.resize_(2, 3, 4, 5, memory_format=torch.channels_last)
    like = torch.zeros(1)
    like.resize_as_(x, memory_format=torch.preserve_format)
    rows = torch.zeros(1)
    rows.resize_as_(x)
    return (
        torch.empty(2, 3, 4, 5, memory_format=torch.channels_last).stride(),
        torch.empty((2, 3, 4, 5), memory_format=torch.contiguous_format).stride(),
        torch.full((2, 3, 4, 5), 1.0).stride(),
        x.stride(),
        like.stride(),
        rows.stride(),
    )


@program()
def sizes_of_one_in_channels_last(torch: Any) -> Any:
    found = []
    for shape in ((2, 1, 4, 5), (1, 3, 1, 1), (2, 3, 1, 1), (1, 1, 1, 1)):
        x = torch.zeros(shape)
        last = x.contiguous(memory_format=torch.channels_last)
        found.append((last.is_contiguous(memory_format=torch.channels_last), last.is_contiguous()))
        found.append((x.is_contiguous(memory_format=torch.channels_last), last is x))
    return found


@program()
def gradients_through_a_memory_format(torch: Any) -> Any:
    x = torch.arange(24.0).reshape(1, 2, 3, 4).requires_grad_()
    found = []
    for make in (
        lambda t: t.contiguous(memory_format=torch.channels_last),
        lambda t: t.to(memory_format=torch.channels_last),
        lambda t: t.clone(memory_format=torch.channels_last),
        lambda t: t.to(torch.float64, memory_format=torch.channels_last),
    ):
        y = make(x)
        x.grad = None
        (y * y).sum().backward()
        found.append((y, x.grad, x.grad.stride()))
    leaf = torch.ones(1, 2, 3, 4).to(memory_format=torch.channels_last).requires_grad_()
    (leaf * 2).sum().backward()
    return found, leaf.grad.stride(), (leaf + 1).stride(), leaf.exp().stride()


@program()
def a_wrong_memory_format(torch: Any) -> Any:
    x, image = torch.zeros(2, 3), torch.zeros(1, 2, 3, 4)
    four, five = (
        "required rank 4 tensor to use channels_last format",
        "required rank 5 tensor to use channels_last_3d",
    )
    return [
        attempt(four, x.contiguous, memory_format=torch.channels_last),
        attempt(four, x.clone, memory_format=torch.channels_last),
        attempt(four, x.to, memory_format=torch.channels_last),
        attempt(four, torch.empty_like, x, memory_format=torch.channels_last),
        attempt(four, torch.zeros_like, x, memory_format=torch.channels_last),
        attempt(four, torch.empty, 2, 3, memory_format=torch.channels_last),
        attempt(five, image.contiguous, memory_format=torch.channels_last_3d),
        attempt(five, torch.empty_like, image, memory_format=torch.channels_last_3d),
        attempt(
            "preserve memory format is unsupported by the contiguous operator",
            image.transpose(1, 2).contiguous,
            memory_format=torch.preserve_format,
        ),
        attempt("must be torch.memory_format, not str", x.contiguous, memory_format="channels_last"),
        attempt("must be torch.memory_format, not str", x.clone, memory_format="channels_last"),
        attempt("must be torch.memory_format, not int", torch.empty_like, x, memory_format=1),
        attempt("must be torch.memory_format, not str", x.is_contiguous, memory_format="rows"),
        attempt("", x.to, memory_format="channels_last"),
        attempt("must be torch.memory_format, not str", torch.empty, 2, memory_format="rows"),
        x.is_contiguous(memory_format=torch.channels_last),
    ]


@program()
def layouts_to_compare_with(torch: Any) -> Any:
    sparse = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)
    others = (*sparse, torch.jagged)
    x = torch.ones(2)
    return (
        [str(other) for other in others],
        [isinstance(other, torch.layout) for other in others],
        [x.layout == other for other in others],
        x.layout in sparse,
        len({torch.strided, *others}),
    )
