"""Names that tests and tools use: shapes, checks, hooks of tensors, classes of results."""

from __future__ import annotations

import gc
import importlib
import pickle
from typing import Any, ClassVar

from .harness import attempt, program


@program()
def shapes_are_whole_numbers(torch: Any) -> Any:
    size = torch.Size([1, 2])
    made = (size + (3,), (3,) + size, size * 2, 2 * size, size[1:], torch.Size([torch.tensor(3), True]))
    return (
        [(type(m).__name__, tuple(m)) for m in made],
        attempt("item 0 is 'float'", torch.Size, [1.5]),
        attempt("item 1 is 'str'", lambda: size[:1] + ("a",)),
        attempt("can only concatenate tuple", lambda: size + [1]),
        attempt("takes an iterable of 'int'", torch.Size, torch.ones(2)),
    )


@program()
def results_have_classes(torch: Any) -> Any:
    x = torch.tensor([[1.0, 4.0], [3.0, 2.0]])
    results = (
        x.max(0),
        x.sort(),
        torch.linalg.svd(x),
        x.frexp(),
        torch.histogram(x, 2),
        x.slogdet(),
        x.aminmax(),
    )
    names = [type(r).__name__ for r in results]
    kept = pickle.loads(pickle.dumps(x.max(0)))
    return (
        names,
        [isinstance(r, getattr(torch.return_types, n)) for r, n in zip(results, names, strict=True)],
        [type(r).n_fields for r in results],
        repr(results[0]),
        kept.values,
        type(kept) is torch.return_types.max,
    )


@program(warns="_check_is_size will be removed")
def conditions(torch: Any) -> Any:
    none = torch.tensor([True, False])
    return (
        torch._check(True),
        attempt("Expected cond to be True", torch._check, False),
        attempt("^why$", torch._check, False, lambda: "why"),
        attempt("cond must be a bool", torch._check, 1),
        attempt("message must be a callable", torch._check, False, "why"),
        attempt("^why$", torch._check_value, False, lambda: "why"),
        attempt("^why$", torch._check_index, False, lambda: "why"),
        attempt("^why$", torch._check_type, False, lambda: "why"),
        attempt("^why$", torch._check_not_implemented, False, lambda: "why"),
        attempt("why", torch._check_with, KeyError, False, lambda: "why"),
        attempt("Expected cond to be True", torch._check_tensor_all, none),
        attempt("Expected cond to be True", torch._check_is_size, -1),
        attempt("^boom$", torch._assert, False, "boom"),
        attempt("single nonzero value", torch._assert_async, torch.tensor(0)),
    )


@program()
def hooks_can_be_seen(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    before = x._backward_hooks, y._backward_hooks, x._post_accumulate_grad_hooks
    handle = x.register_hook(lambda g: g * 2)
    y.register_hook(lambda g: g * 3)
    x.register_post_accumulate_grad_hook(lambda t: None)
    during = [len(h) for h in (x._backward_hooks, y._backward_hooks, x._post_accumulate_grad_hooks)]
    handle.remove()
    return before, during, len(x._backward_hooks), x.name


@program()
def division_by_old_names(torch: Any) -> Any:
    x = torch.tensor([1.0, 4.0])
    return x.__div__(2), x.__rdiv__(2), x.clone().__idiv__(2), x[0].__long__(), x[0].__nonzero__()


@program()
def helpers_of_backward(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    make = torch.autograd._make_grads
    return (
        torch.autograd.graph._get_grad_fn_or_grad_acc(x),
        torch.autograd.graph._get_grad_fn_or_grad_acc(y),
        torch.autograd._tensor_or_tensors_to_tuple(None, 2),
        torch.autograd._calculate_shape(y, torch.ones(2, 3), True),
        make((y.sum(),), (None,), False),
        attempt("only for scalar outputs", make, (y,), (None,), False),
        attempt("increment_version expect a Iterable", torch.autograd.graph.increment_version, 1),
    )


@program()
def modes_as_a_stack(torch: Any) -> Any:
    c = torch._C
    seen = [c._len_torch_function_stack(), c._get_torch_function_state() == c._TorchFunctionState.ENABLED]
    mode = torch.overrides.BaseTorchFunctionMode()
    with mode:
        seen += [c._len_torch_function_stack(), c._get_function_stack_at(0) is mode]
    with c.DisableTorchFunction():
        seen.append(c._get_torch_function_state() == c._TorchFunctionState.ALL_DISABLED)
    return seen


@program()
def memory_of_a_storage(torch: Any) -> Any:
    x, y = torch.arange(6.0), torch.empty(0)
    y.set_(x.untyped_storage(), 2, (2,), (2,))
    y.add_(10)
    return x, y, y.storage_offset()


@program()
def old_constructors(torch: Any) -> Any:
    t = torch.Tensor
    return (
        t(torch.Size([2, 3])).shape,
        attempt("new()", t, "a"),
        attempt("data must be a sequence", t, 2.5),
        attempt("invalid type", torch.ones(1).type, "foo"),
    )


@program()
def switches_of_sparse_tensors(torch: Any) -> Any:
    switch = torch.sparse.check_sparse_tensor_invariants
    seen = [switch.is_enabled()]
    with switch():
        seen.append(switch.is_enabled())
    seen.append(switch(True)(switch.is_enabled)())
    return seen


@program()
def tensors_like_those_of_a_subclass(torch: Any) -> Any:
    class Kept(torch.Tensor):
        pass

    class Plain(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    kept, plain = torch.ones(2).as_subclass(Kept), torch.ones(2).as_subclass(Plain)
    made = (
        torch.ones_like(kept),
        torch.rand_like(kept),
        kept.new_zeros(2),
        kept + 1,
        plain + 1,
        torch.ones_like(plain),
    )
    return [type(m).__name__ for m in made]


@program()
def hooks_are_called_by_their_names(torch: Any) -> Any:
    def shorter(g: Any) -> Any:
        return g[:1]

    def run() -> None:
        y = torch.ones(3, requires_grad=True) * 2
        y.register_hook(shorter)
        y.sum().backward()

    return attempt("hook 'shorter' has changed the size of value", run)


@program()
def a_length_that_was_not_asked_for(torch: Any) -> Any:
    class Longer(torch.utils.data.IterableDataset):
        def __iter__(self) -> Any:
            return iter(range(5))

        def __len__(self) -> int:
            return 3

    return list(torch.utils.data.DataLoader(Longer(), batch_size=1))


@program()
def what_cannot_be_a_parameter(torch: Any) -> Any:
    module = torch.nn.Linear(1, 1)
    return (
        attempt(
            "cannot assign 'torch.FloatTensor' as parameter 'weight'",
            setattr,
            module,
            "weight",
            torch.ones(1),
        ),
        attempt("'torch.FloatTensor' object to parameter 'w'", module.register_parameter, "w", torch.ones(1)),
        attempt("cannot assign 'int' object to buffer 'b'", module.register_buffer, "b", 1),
    )


@program(phrase="Parent directory /there/is/none does not exist")
def a_file_in_no_folder(torch: Any) -> Any:
    torch.save(torch.ones(1), "/there/is/none/file.pt")


@program()
def arguments_of_module_to(torch: Any) -> Any:
    parse, like = torch._C._nn._parse_to, torch.ones(1, dtype=torch.int8)
    found = [
        parse(),
        parse(torch.float64),
        parse(torch.int8, True),
        parse("cpu"),
        parse(torch.device("cpu"), torch.float16, True),
        parse("cpu", dtype=torch.float32),
        parse(None),
        parse(None, torch.float32),
        parse(like),
        parse(like, True),
        parse(tensor=like),
        parse(dtype=torch.float16, non_blocking=True),
        parse(device=torch.device("cpu"), memory_format=torch.channels_last),
    ]
    return [tuple(map(str, one)) for one in found], attempt("does not accept copy", parse, "cpu", copy=True)


@program()
def tables_by_identity(torch: Any) -> Any:
    weak = importlib.import_module(f"{torch.__name__}.utils.weak")
    x, y = torch.ones(2), torch.ones(2)
    table = weak.WeakTensorKeyDictionary({x: 1})
    table[y] = 2
    same = [any(key is known for known in (x, y)) for key in table]
    twin = table.copy()
    found = [
        len(table),
        table[x],
        table.get(y),
        torch.ones(2) in table,
        twin == table,
        table.setdefault(x, 5),
    ]
    references = weak.WeakIdRef(x), weak.WeakIdRef(x), weak.TensorWeakRef(y)
    equal = references[0] == references[1], references[0] == weak.WeakIdRef(y), references[0]() is x
    del twin[x], y
    gc.collect()
    missing = attempt("", lambda: table.pop(torch.zeros(1)))
    return same, found, equal, list(twin.values()), len(table), references[2]() is None, missing, table.pop(x)


@program()
def how_modules_are_converted(torch: Any) -> Any:
    future = torch.__future__
    future.set_overwrite_module_params_on_conversion(False)
    future.set_swap_module_params_on_conversion(False)
    layer = torch.nn.Linear(1, 1)
    before = layer.weight
    return (
        future.get_overwrite_module_params_on_conversion(),
        future.get_swap_module_params_on_conversion(),
        layer.to(torch.float64).weight is before,
    )


@program()
def hooks_of_a_tensor_are_not_deleted(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    return (
        attempt("Deletion of _backwards_hooks not allowed", delattr, x, "_backward_hooks"),
        attempt("not allowed", delattr, x, "_post_accumulate_grad_hooks"),
        attempt("Deleting tensor data is not allowed", delattr, x, "data"),
        delattr(x, "grad"),
    )


@program()
def what_a_node_knows_of_its_gradients(torch: Any) -> Any:
    node = (torch.ones(3, 2, requires_grad=True) * 2).grad_fn
    return [(tuple(m.shape), m.dtype, m.device.type, m.is_nested_tensor) for m in node._input_metadata]


@program()
def warnings_about_streams_are_switched(torch: Any) -> Any:
    switch = torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch
    return switch(False), switch(True), attempt("enabled must be a bool, but got int", switch, 1)


@program()
def what_a_mode_is_asked_about(torch: Any) -> Any:
    class Names(torch.overrides.TorchFunctionMode):
        seen: ClassVar[list[str]] = []

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    class Silent(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented

    x = torch.ones(2, requires_grad=True)
    with Names():
        torch.autograd.grad(torch.linalg.vector_norm(x), x)
        torch.fft.fft(x)
        torch.special.erf(x)
        torch.result_type(x, 1)
    with Silent():
        refused = attempt("Multiple dispatch failed for 'torch.exp'", torch.exp, x)
    enabled = torch._C._is_torch_function_enabled()
    with torch._C.DisableTorchFunction():
        return Names.seen, refused, enabled, torch._C._is_torch_function_enabled()


@program()
def making_an_instance_asks_no_class(torch: Any) -> Any:
    calls: list[str] = []

    class Asked(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            calls.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    made = torch.Tensor._make_subclass(Asked, torch.ones(2), True)
    return list(calls), type(made).__name__, type(made + 1).__name__, calls


@program()
def casts_by_their_old_names(torch: Any) -> Any:
    x = torch.tensor([1.75, -2.0], requires_grad=True)
    kinds = ("Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")
    return [getattr(torch, f"_cast_{kind}")(x.relu()) for kind in kinds], torch._cast_Float(x) is x


@program()
def fills_as_the_file_of_initial_values_has_them(torch: Any) -> Any:
    init, w = torch.nn.init, torch.nn.Parameter(torch.empty(2, 3))
    drawn = init._no_grad_trunc_normal_(w, 0.0, 1.0, 2.0, 2.5).detach().clone()
    between = init._no_grad_uniform_(w, 4.0, 5.0).detach().clone()
    init._no_grad_normal_(w, 9.0, 0.0)
    normal = w.detach().clone()
    filled = init._no_grad_fill_(w, 3.0).detach().clone()
    pattern = torch.utils.data._utils.collate.np_str_obj_array_pattern.pattern
    return (
        bool(((drawn >= 2) & (drawn <= 2.5)).all()),
        bool(((between >= 4) & (between <= 5)).all()),
        normal,
        filled,
        init._no_grad_zero_(w),
        pattern,
    )
