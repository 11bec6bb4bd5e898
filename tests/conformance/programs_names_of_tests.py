"""Names that PyTorch's tests of autograd and of the transforms import from behind the curtain."""

from __future__ import annotations

import importlib
from typing import Any

from .harness import attempt, program


def behind(torch: Any, name: str) -> Any:
    """A module of either library."""
    return importlib.import_module(f"{torch.__name__}.{name}")


@program()
def arguments_by_number(torch: Any) -> Any:
    chosen = behind(torch, "_functorch.eager_transforms")._slice_argnums
    args = (1, [2], {"a": 3})
    return (
        chosen(args, 0), chosen(args, -1), chosen(args, (0, 2)), chosen(args, 1, as_tuple=False),
        attempt("int or Tuple", chosen, args, 0.0), attempt("must be int", chosen, args, (0.0,)),
        attempt("positional inputs", chosen, args, 3), attempt("must be non-empty", chosen, args, ()),
        attempt("must be unique", chosen, args, (0, -3)),
    )  # fmt: skip


@program()
def vmap_that_says_which_results_are_batches(torch: Any) -> Any:
    restore_vmap = behind(torch, "_functorch.vmap").restore_vmap
    x, y = torch.arange(6.0).reshape(2, 3), torch.tensor(3.0)
    return (
        restore_vmap(lambda x, y: (x * y, y + 1), (0, None), 2, "error")(x, y),
        restore_vmap(lambda x: x.sum(), (1,), 3, "error")(x),
    )


@program()
def models_as_functions_of_several_states(torch: Any) -> Any:
    module = behind(torch, "_functorch.make_functional")
    weights, function, names = module.functional_init(torch.nn.Linear, (4,))(3, 2)
    made = torch.vmap(function)(weights, (torch.ones(4, 5, 3),))
    single = module.functional_init(torch.nn.Linear)(3, 2)
    return (
        [w.shape for w in weights], names, made.shape, single[1](single[0], (torch.ones(1, 3),)).shape,
        attempt("ensemble_shape with more than 1 element", module.functional_init(torch.nn.Linear, (2, 2)), 3, 2),
        attempt("num_models 0 should be > 0", module.functional_init(torch.nn.Linear, (0,)), 3, 2),
    )  # fmt: skip


@program(warns="Please use `torch.vmap` instead of `torch._vmap_internals.vmap`")
def vmap_by_its_first_name(torch: Any) -> Any:
    module = behind(torch, "_vmap_internals")
    x = torch.arange(6.0).reshape(2, 3)
    return (
        module._vmap(torch.sum)(x), module._vmap(torch.sin, 1, 1)(x), module.vmap(torch.sum)(x),
        module._vmap(lambda x: (x.sum(), None), allow_none_pass_through=True)(x),
    )  # fmt: skip


@program()
def a_tensor_in_another_shape(torch: Any) -> Any:
    resize = behind(torch, "autograd._functions").Resize.apply
    x = torch.arange(6.0, requires_grad=True)
    y = resize(x, (2, 3))
    (y * torch.arange(6.0).reshape(2, 3)).sum().backward()
    return y.shape, x.grad, attempt("requested resize to", resize, x, (4,))


@program()
def which_nodes_run(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    return attempt("expects an grad_fn", torch._C._will_engine_execute_node, x * 2)


@program()
def tensors_that_something_else_holds(torch: Any) -> Any:
    c, x, found = torch._C, torch.ones(4), []
    c._set_cached_tensors_enabled(True)
    try:
        for change in (c._add_cached_tensor, c._add_cached_tensor, c._remove_cached_tensor):
            change(x)
            found.append(c._is_cached_tensor(x))
    finally:
        c._set_cached_tensors_enabled(False)
    return found


@program()
def whether_views_are_replayed(torch: Any) -> Any:
    asked = torch.autograd.is_view_replay_enabled
    found = [asked()]
    with torch.autograd._force_original_view_tracking(True):
        found.append(asked())
    return [*found, asked()]


@program(warns="Warn from backward")
def a_warning_of_a_backward(torch: Any) -> Any:
    x = torch.zeros((), requires_grad=True)
    torch._C._nn._test_warn_in_autograd(x).backward()
    return x.grad


@program()
def a_budget_that_only_a_compiler_heeds(torch: Any) -> Any:
    budget = torch.autograd.graph.region_activation_memory_budget
    return (
        attempt("can only be used inside a torch.compile region", budget, 0.5),
        attempt(r"must be in \[0, 1\], got 2", budget, 2),
        attempt("expects a float, got str", budget, "a"),
        attempt("expects a float, got bool", budget, True),
    )


@program()
def what_is_beside_an_output_is_a_tensor(torch: Any) -> Any:
    def two(x: Any) -> Any:
        return x.sum(), "a"

    x, f = torch.ones(2), torch.func
    return [
        attempt("Expected tensors, got unsupported type", lambda: f.vjp(two, x, has_aux=True)),
        attempt("Expected tensors, got unsupported type", lambda: f.grad(two, has_aux=True)(x)),
        attempt("Expected tensors, got unsupported type", lambda: f.jvp(two, (x,), (x,), has_aux=True)),
        attempt("Expected f to be a function that has non-empty output", lambda: f.jacfwd(lambda _: None)(x)),
        attempt("Expected f to be a function that has non-empty output", lambda: f.jacrev(lambda _: None)(x)),
    ]


@program()
def metadata_of_a_nodes_inputs(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    found = (x * 2).grad_fn._input_metadata[0]
    return found.shape, found.dtype, found.is_nested_tensor, found.is_cpp_nested_tensor


@program()
def numbers_in_pairs_that_begin_in_the_middle_of_one(torch: Any) -> Any:
    x = torch.arange(9.0)
    return (
        attempt(
            "Tensor must have a storage_offset divisible by 2",
            lambda: torch.view_as_complex(x[1:].view(4, 2)),
        ),
        torch.view_as_complex(x[:8].view(4, 2)[1:]),
        torch.view_as_complex(x[1:].reshape(4, 2).clone()),
    )


@program()
def short_names_of_dtypes(torch: Any) -> Any:
    short = behind(torch, "utils._dtype_abbrs").dtype_abbrs
    return sorted((str(dtype), name) for dtype, name in short.items())


@program()
def frames_of_calls(torch: Any) -> Any:
    profiler = behind(torch, "_C")._profiler
    frames = profiler.symbolize_tracebacks([profiler.gather_traceback(python=True, script=False, cpp=False)])[
        0
    ]
    names = [frame["name"] for frame in frames]
    return "frames_of_calls" in names[:2], sorted(frames[0]), profiler.symbolize_tracebacks([])


@program()
def words_for_types_and_old_places(torch: Any) -> Any:
    words = behind(torch, "_jit_internal")
    chosen = words.boolean_dispatch(
        "both", 1, False, lambda x, both: 2 * x, lambda x, both=False: x, "m", "chosen"
    )
    sizes = behind(torch, "nn.modules.utils" if torch.__name__ == "torch" else "nn.tuples")._list_with_default
    zoo = behind(torch, "utils.model_zoo")
    return (
        repr(words.Optional[int]), words.BroadcastingList2[int], words.is_scripting(),
        chosen(3), chosen(3, True), chosen(3, both=True), chosen.__name__,
        sizes([None, 3], [1, 4, 5]), sizes(2, [1]), attempt("dimension should be at least 3", sizes, [1, 2], [1, 2]),
        zoo.load_url is torch.hub.load_state_dict_from_url,
        issubclass(torch.serialization.SourceChangeWarning, Warning),
    )  # fmt: skip


@program()
def products_for_batches_of_normal_vectors(torch: Any) -> Any:
    module = behind(torch, "distributions.multivariate_normal")
    factor, x = torch.tensor([[2.0, 0.0], [1.0, 3.0]]), torch.arange(6.0).reshape(3, 2)
    return module._batch_mahalanobis(factor, x), module._batch_mv(factor, x)
