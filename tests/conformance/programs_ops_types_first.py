"""Calls with two faults, of which PyTorch tells a wrong type first, and calls that only its parser refuses."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program


@program()
def a_wrong_type_is_told_before_a_wrong_value(torch: Any) -> Any:
    x, i = torch.ones(2, 3), torch.tensor([0, 5])
    return [
        attempt("argument 'index' .position 3. must be Tensor", torch.index_select, x, 7, "x"),
        attempt("must be", torch.index_select, x, "x", i),
        attempt("must be Tensor", torch.gather, x, 7, [1]),
        attempt("argument 'out' must be Tensor", torch.cumsum, x, 9, out=1),
        attempt("", torch.narrow, x, 9, 0, 2.5),
        attempt("must be Tensor", torch.bmm, x, None),
        attempt("must be", torch.addmm, x, torch.ones(5, 7), "x"),
        attempt("must be", torch.linalg.vector_norm, x, 2, 9, "x"),
        attempt("must be bool", torch.nn.functional.avg_pool2d, torch.ones(2), 1, count_include_pad="x"),
    ]


@program()
def a_wrong_value_alone_is_told_as_it_is(torch: Any) -> Any:
    x, i = torch.ones(2, 3), torch.tensor([0, 5])
    return [
        attempt("Dimension out of range", torch.index_select, x, 7, i),
        attempt("out of range", torch.index_select, x, 0, i),
        attempt("Dimension out of range", torch.gather, x, 7, i),
        attempt("must be a matrix", torch.addmm, x, torch.ones(2), x),
    ]


@program(warns="This overload of add.* is deprecated")
def numbers_before_tensors_are_no_wrong_type(torch: Any) -> Any:
    x, m = torch.ones(2, 2), torch.ones(3, 3)
    return [
        torch.addmm(0.5, x, 2, x, x),
        attempt("", torch.addmm, 0.5, x, 2, m, m),
        attempt("", torch.addcmul, x, 2, torch.ones(3), torch.ones(2)),
    ]


@program()
def something_else_for_a_tensor(torch: Any) -> Any:
    f = torch.nn.functional
    calls = (f.mse_loss, f.binary_cross_entropy, f.adaptive_avg_pool2d, f.lp_pool2d, f.softsign)
    return [attempt("", call, 2.5, torch.ones(2)) for call in calls]


@program()
def dimensions_that_are_not_there(torch: Any) -> Any:
    f, v, m = torch.nn.functional, torch.ones(3), torch.ones(3, 3)
    rows = [
        (call, t) for call in (f.avg_pool2d, f.unfold, f.adaptive_avg_pool3d) for t in (v, torch.tensor(1.0))
    ]
    return [
        [attempt("Dimension", call, t, 1) for call, t in rows],
        [attempt("Dimension", torch.baddbmm, m, t, t) for t in (m, v, torch.tensor(1.0))],
        attempt("Dimension", torch.group_norm, v, 1),
        attempt("Dimension", torch.grid_sampler, torch.tensor(1.0), torch.tensor(1.0), 9, 9, True),
        attempt("Dimension", torch.instance_norm, v, None, None, None, None, True, 0.1, 0.1, False),
        attempt("tuple index out of range", f.max_unpool3d, v, v.long(), 1),
        attempt("non-negative", f.max_unpool2d, m, m.long(), 1, padding=3),
        attempt("either size or scale_factor should be defined", f.interpolate, m),
        attempt("same number of spatial dimensions", f.interpolate, m, (2, 1)),
    ]


@program()
def averages_over_everything_have_any_rank(torch: Any) -> Any:
    f, m = torch.nn.functional, torch.arange(6.0).reshape(2, 3)
    return (
        f.adaptive_avg_pool2d(m, 1),
        f.adaptive_avg_pool3d(m[None], 1),
        attempt("", f.adaptive_avg_pool2d, m, 2),
    )


@program()
def arguments_that_go_together(torch: Any) -> Any:
    x = torch.ones(4, 2)
    return [
        attempt("", torch.tensor_split, x),
        attempt("", torch.tensor_split, x, 2, indices=(1,)),
        attempt("", torch.where, x > 0, other=2.0),
        attempt("", torch.max, x, 0, other=x),
        attempt("", x.scatter, 0, torch.zeros(1, 1, dtype=torch.int64)),
        attempt("", x.repeat_interleave, dim=0),
        attempt("", x.movedim, (0, 1), 1),
        attempt("", torch.trapezoid, x, x, dx=x),
        attempt("", torch.true_divide, x, x, rounding_mode="floor"),
        attempt("", torch.batch_norm, x, None, None, None, None, True, 0.1, 0.1),
        attempt(
            "",
            torch.convolution,
            torch.ones(1, 1, 3),
            torch.ones(1, 1, 1),
            None,
            1,
            (0,),
            (1,),
            False,
            (0,),
            1,
        ),
        attempt("", torch.chain_matmul, [x, x.t()]),
        attempt("", torch.nonzero, x, as_tuple=1),
        attempt("", torch.promote_types, torch.float32, None),
        attempt("", torch.can_cast, None, torch.float32),
        attempt("", torch.pinverse, x, x),
        attempt("", torch.rsub, 2.0, x),
        attempt("", torch.tril_indices, 2, 2, requires_grad=True),
    ]


@program()
def of_two_wrong_values_the_same_is_told(torch: Any) -> Any:
    f, x = torch.nn.functional, torch.ones(2, 3)
    i = torch.tensor([0, 5])
    return [
        attempt("Unrecognised padding mode", f.pad, x, (1, 1), "x", 2.0),
        attempt("0-dimensional value tensor", torch.index_fill, x, 9, i, x),
        attempt("complex Scalar", torch.index_fill, x, 0, i, 1j),
        attempt("Dimension", torch.scatter_reduce, x, 9, x.long(), x, "x"),
        attempt("repeats must be 0-dim or 1-dim", x.repeat_interleave, torch.ones(2, 2).long(), 9),
        attempt("align_to_window", torch.stft, x, "x", center=True, align_to_window=True),
        attempt("sizes must be non-empty", x.unflatten, 9, ()),
        attempt("complex", torch.clamp_min, x, 1j),
        attempt("Complex", torch.nansum, x, dtype=torch.complex64),
        attempt("Input shapes should be of type ints", torch.broadcast_shapes, 2.5),
        attempt("Expected 2-dimensional tensor", torch.embedding_renorm_, x[0].clone(), i, 1.0, 2.0),
        attempt("Expected tensor with 2 or more dimensions", torch.lu_unpack, x[0], i),
        attempt("must have at least 2 dimensions", torch.linalg.solve_ex, torch.eye(2), torch.tensor(1.0)),
        attempt("ZeroDivisionError", torch.unravel_index, i, (0, 2)),
    ]


@program()
def names_and_places_of_arguments(torch: Any) -> Any:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    return [
        torch.exp_(input=x.clone()),
        torch.clamp_(input=x.clone(), min=2.0),
        x.norm(2, 0, False, torch.float64),
        attempt("", torch.exp_),
        torch.fft.rfftfreq(-1),
        torch.hinge_embedding_loss(torch.tensor([1, 2], dtype=torch.uint8), torch.tensor([1, -1]), 1.0, 2),
    ]


@program()
def what_is_saved_has_pytorchs_names(torch: Any) -> Any:
    f, m, v = torch.nn.functional, torch.ones(2, 2, requires_grad=True), torch.ones(2, requires_grad=True)
    made = [
        torch.mm(m, m), torch.mv(m, v), torch.dot(v, v), torch.bmm(m[None], m[None]), torch.clamp_min(v, v + 1),
        torch.clamp_max(v, v - 1), f.huber_loss(v, v + 1), f.smooth_l1_loss(v, v + 1), torch.vdot(v, v),
    ]  # fmt: skip
    names = ("mat2", "vec", "tensor", "mat2", "min", "max", "target", "target", "other")
    shown = [getattr(y.grad_fn, f"_saved_{name}") for y, name in zip(made, names, strict=True)]
    raw = [hasattr(y.grad_fn, f"_raw_saved_{name}") for y, name in zip(made, names, strict=True)]
    return [t.detach() for t in shown], raw, ["_saved_other" in dir(y.grad_fn) for y in made]
