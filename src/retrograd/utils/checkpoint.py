"""Trading time for memory: a checkpointed call keeps its arguments, and is run again when backward needs the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

from retrograd.autograd.backward import backward
from retrograd.autograd.function import Function
from retrograd.autograd.modes import enable_grad
from retrograd.core.autocast import same_autocast
from retrograd.core.modes import is_grad_enabled
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.engine.engine import ENGINE
from retrograd.ops.random.generator import get_rng_state
from retrograd.utils.checkpoint_frame import CheckpointError, Frame, GraphExecGroup, random_numbers_again
from retrograd.utils.selective import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

R = TypeVar("R")

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "GraphExecGroup",
    "SAC_IGNORED_OPS",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

_DETERMINISM_CHECKS = ("default", "none")


class _Overrides:
    """What the context managers below set; None leaves it to the arguments of each call."""

    early_stop: bool | None = None
    debug: bool | None = None


_OVERRIDES = _Overrides()


def noop_context_fn() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Two contexts that do nothing: the default `context_fn` of `checkpoint`."""
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., R], *args: Any, use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]] = noop_context_fn,
    determinism_check: str = "default", debug: bool = False, early_stop: bool = True, **kwargs: Any,
) -> R:  # fmt: skip
    """Calls `function` without keeping what it computes on the way; backward calls it again.

    Args:
        function: what to call. It must do the same both times.
        args: its arguments.
        use_reentrant: False (recommended) runs it again when the first saved value is needed. True runs it again inside
            a backward of its own: no keyword arguments, no `autograd.grad`, no `backward(inputs=...)`, and some
            argument must require grad.
        context_fn: gives two context managers, one for the first run and one for those in backward.
        determinism_check: "default" compares shape, dtype and device of what both runs save, "none" does not.
        debug: an error about a difference lists all that both runs saved.
        early_stop: whether the second run ends as soon as everything is there that backward needs.
        kwargs: keyword arguments of `function`; but `preserve_rng_state=False` leaves the random numbers of the second
            run to chance.

    >>> import retrograd as rg
    >>> from retrograd.utils.checkpoint import checkpoint
    >>> x = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> y = checkpoint(lambda t: (t * t).exp(), x, use_reentrant=False)
    >>> y.sum().backward(); x.grad
    tensor([  5.4366, 218.3926])
    """
    if use_reentrant is None:
        use_reentrant = True
        _warn_about_default("")
    preserve_rng_state = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError(
                f"Unexpected keyword arguments: {','.join(kwargs)}. With use_reentrant=True the function takes "
                "positional arguments only."
            )
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        result: R = CheckpointFunction.apply(function, preserve_rng_state, *args)
        return result
    if determinism_check not in _DETERMINISM_CHECKS:
        raise ValueError(
            f"determinism_check should be one of {list(_DETERMINISM_CHECKS)}, but got {determinism_check}"
        )
    forward_context, recompute_context = context_fn()
    if not is_grad_enabled():
        return function(*args, **kwargs)
    frame = Frame(
        function, args, kwargs, recompute_context, preserve_rng_state,
        early_stop if _OVERRIDES.early_stop is None else _OVERRIDES.early_stop,
        determinism_check == "default",
        debug if _OVERRIDES.debug is None else _OVERRIDES.debug,
    )  # fmt: skip
    made: R = frame.run(args, forward_context)
    return made


def _warn_about_default(name: str) -> None:
    warn(
        f"torch.utils.checkpoint{name}: the use_reentrant parameter should be passed explicitly. Without it the "
        "re-entrant variant is used, as ever; use_reentrant=False has fewer restrictions and is recommended.",
        UserWarning,
    )


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Inside the block, checkpointed calls stop their second run early, or not, whatever their own argument says.

    >>> import retrograd as rg
    >>> from retrograd.utils.checkpoint import checkpoint, set_checkpoint_early_stop
    >>> x = rg.tensor(2.0, requires_grad=True)
    >>> def f(t):
    ...     y = t * t
    ...     print("ran to the end")
    ...     return y
    >>> with set_checkpoint_early_stop(False):
    ...     y = checkpoint(f, x, use_reentrant=False)
    ran to the end
    >>> y.backward()
    ran to the end
    """
    before = _OVERRIDES.early_stop
    _OVERRIDES.early_stop = enable
    try:
        yield
    finally:
        _OVERRIDES.early_stop = before


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Inside the block, `debug` of checkpointed calls is this, whatever they say; None leaves it to them."""
    before = _OVERRIDES.debug
    _OVERRIDES.debug = enabled
    try:
        yield
    finally:
        _OVERRIDES.debug = before


# -- a chain of functions ------------------------------------------------------------------------------------------


class _Segment:
    """Some functions of a chain, called one after the other."""

    def __init__(self, functions: Sequence[Callable[[Any], Any]]) -> None:
        self.functions = functions

    def __call__(self, value: Any) -> Any:
        for function in self.functions:
            value = function(value)
        return value


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Calls functions one after the other, in segments that are checkpointed, all but the last.

    Args:
        functions: a sequence of functions of one argument, or a module with `children()`.
        segments: into how many parts to cut it.
        input: the argument of the first.
        use_reentrant: see `checkpoint`.
        kwargs: `preserve_rng_state`, see `checkpoint`.

    >>> import retrograd as rg
    >>> from retrograd.utils.checkpoint import checkpoint_sequential
    >>> x = rg.tensor(0.5, requires_grad=True)
    >>> checkpoint_sequential([rg.sin, rg.exp, rg.tanh], 3, x, use_reentrant=False).backward(); x.grad
    tensor(0.2075)
    """
    if use_reentrant is None:
        use_reentrant = True
        _warn_about_default(".checkpoint_sequential")
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(
            f"Unexpected keyword arguments: {','.join(kwargs)}. Functions of a chain take one argument."
        )
    chain: list[Callable[[Any], Any]] = list(
        functions.children() if hasattr(functions, "children") else functions
    )
    size = _segment_size(len(chain), segments)
    start = 0
    for start in range(0, size * (segments - 1), size):
        segment = _Segment(chain[start : start + size])
        input = checkpoint(segment, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
        start += size
    return _Segment(chain[start:])(input)


def _segment_size(count: int, segments: int) -> int:
    """How many functions one segment has; the last has the rest besides."""
    if segments == 0:
        raise ZeroDivisionError(
            "checkpoint_sequential: a chain cannot be cut into 0 segments; 1 is the least"
        )
    if count // segments == 0:
        raise ValueError(
            f"checkpoint_sequential: a chain of {count} functions cannot be cut into {segments} segments; give at most "
            f"{count}"
        )
    return count // segments


# -- the re-entrant variant ----------------------------------------------------------------------------------------


class CheckpointFunction(Function):
    """`checkpoint(..., use_reentrant=True)`: its backward runs the function again and calls backward on the result."""

    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve_rng_state: bool, *args: Any) -> Any:
        """Runs the function; grad mode is off here, so it saves nothing."""
        _check_some_requires_grad(args, 5)
        ctx.run_function = run_function
        ctx.rng_state = get_rng_state() if preserve_rng_state else None
        ctx.autocast = same_autocast()
        ctx.others = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*[a if isinstance(a, Tensor) else None for a in args])
        return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Runs the function again, with grad mode on, and sends the gradients through it."""
        if not ENGINE.is_checkpoint_valid():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). It sends gradients to all leaves of its function. Use use_reentrant=False, "
                "or call .backward() without `inputs`."
            )
        saved = ctx.saved_tensors
        args = tuple(o if t is None else t for o, t in zip(ctx.others, saved, strict=True))
        detached = detach_variable(args)
        with random_numbers_again(ctx.rng_state), ctx.autocast, enable_grad():
            outputs = ctx.run_function(*detached)
        if isinstance(outputs, Tensor):
            outputs = (outputs,)
        wanted = [
            (o, g) for o, g in zip(outputs, grads, strict=True) if isinstance(o, Tensor) and o.requires_grad
        ]
        if not wanted:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary. The function detaches its "
                "result, or computes it without a gradient."
            )
        backward([o for o, _ in wanted], [g for _, g in wanted])
        return None, None, *(a.grad if isinstance(a, Tensor) else None for a in detached)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warns if no tensor among `inputs` requires grad: re-entrant checkpointing would cut the graph there."""
    _check_some_requires_grad(inputs, 3)


def _check_some_requires_grad(inputs: Iterable[Any], stacklevel: int) -> None:
    if not any(isinstance(i, Tensor) and i.requires_grad for i in inputs):
        warn(
            "None of the inputs have requires_grad=True. Gradients will be None, also of what the function takes from "
            "elsewhere. Use use_reentrant=False, or let an input require grad.",
            UserWarning,
        )


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same values as leaves of their own, each requiring grad if the original does.

    >>> import retrograd as rg
    >>> detach_variable((rg.ones(2, requires_grad=True) * 2, "a"))
    (tensor([2., 2.], requires_grad=True), 'a')
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}"
        )
    return tuple(_detached(i) if isinstance(i, Tensor) else i for i in inputs)


def _detached(tensor: Tensor) -> Tensor:
    twin: Tensor = tensor.detach()
    twin.requires_grad = tensor.requires_grad
    return twin


# -- devices -------------------------------------------------------------------------------------------------------


class DefaultDeviceType:
    """The kind of device whose generators `checkpoint` preserves besides the CPU's, where tensors do not say."""

    _default = "cpu"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Sets it."""
        DefaultDeviceType._default = device

    @staticmethod
    def get_device_type() -> str:
        """What was set."""
        return DefaultDeviceType._default


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The devices on which `args` live, other than the CPU, and the states of their generators: there are none.

    >>> get_device_states()
    ([], [])
    """
    return [], []


def set_device_states(
    devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None
) -> None:
    """Puts the generators of devices where they stood when `get_device_states` was called."""
    if len(devices):
        raise RuntimeError(f"set_device_states: there is no device {devices[0]}; tensors live on the CPU")
