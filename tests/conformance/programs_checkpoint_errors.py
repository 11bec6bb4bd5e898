"""Checkpoints that go wrong, and what `debug=True` says of them."""

from __future__ import annotations

import contextlib
import gc
import logging
import re
import weakref
from typing import Any

from .harness import attempt, program


def checkpoint_of(torch: Any) -> Any:
    """The module with `checkpoint`."""
    import importlib

    return importlib.import_module(f"{torch.__name__}.utils.checkpoint")


@program()
def a_context_that_swallows_the_error(torch: Any) -> Any:
    module = checkpoint_of(torch)

    @contextlib.contextmanager
    def swallow() -> Any:
        with contextlib.suppress(Exception):
            yield

    calls = []

    def run(x: Any) -> Any:
        calls.append(1)
        if len(calls) > 1:
            raise ValueError("not again")
        return x.sin().exp()

    x = torch.ones(2, requires_grad=True)
    out = module.checkpoint(
        run, x, use_reentrant=False, context_fn=lambda: (contextlib.nullcontext(), swallow())
    )
    return attempt("", out.sum().backward)


@program()
def a_first_run_whose_context_swallows_the_error(torch: Any) -> Any:
    module = checkpoint_of(torch)

    @contextlib.contextmanager
    def swallow() -> Any:
        with contextlib.suppress(Exception):
            yield

    def run(x: Any) -> Any:
        raise RuntimeError("not at all")

    def call() -> Any:
        x = torch.ones(2, requires_grad=True)
        contexts = (swallow(), contextlib.nullcontext())
        return module.checkpoint(run, x, use_reentrant=False, context_fn=lambda: contexts)

    return attempt("the forward context provided by context_fn suppressed an exception", call)


@program()
def a_second_run_whose_context_swallows_everything(torch: Any) -> Any:
    module = checkpoint_of(torch)

    @contextlib.contextmanager
    def swallow() -> Any:
        with contextlib.suppress(BaseException):
            yield

    found = []
    for early in (True, False):
        with module.set_checkpoint_early_stop(early):
            x = torch.ones(2, requires_grad=True)
            contexts = (contextlib.nullcontext(), swallow())
            out = module.checkpoint(
                lambda t: t.sin().exp(), x, use_reentrant=False, context_fn=lambda c=contexts: c
            )
            out.sum().backward()
            found.append(x.grad)
    return found


def frees(torch: Any, early: bool, run: Any) -> bool:
    """Whether a leaf dies with its graph after a checkpointed backward, without the collector."""
    module = checkpoint_of(torch)
    with module.set_checkpoint_early_stop(early):
        x = torch.ones(2, requires_grad=True)
        out = module.checkpoint(run, x, use_reentrant=False)
        ref = weakref.ref(x)
        gc.collect()
        gc.disable()
        try:
            out.sum().backward()
            del x, out
            return ref() is None
        finally:
            gc.enable()


@program()
def early_stop_leaves_no_cycle(torch: Any) -> Any:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g * ctx.saved_tensors[0]

    runs = (lambda t: t.sin().exp().cos(), lambda t: Square.apply(t.sin()), lambda t: (t * t).sum() + t.exp())
    return [frees(torch, early, run) for early in (True, False) for run in runs]


@program()
def debug_texts(torch: Any) -> Any:
    module = checkpoint_of(torch)
    calls = []

    def run(x: Any) -> Any:
        calls.append(1)
        return x.sin().exp() if len(calls) == 1 else x.sin().sum().exp()

    x = torch.ones(2, requires_grad=True)
    logging.getLogger("LoggingTensor").disabled = True  # PyTorch's listing cannot be made twice under pytest
    out = module.checkpoint(run, x, use_reentrant=False, debug=True)
    try:
        out.sum().backward()
    except module.CheckpointError as error:
        words = (
            "An error happened while unpacking tensors; dumping logs of latest computation",
            "because you passed `debug=True` to `torch.utils.checkpoint.checkpoint\\(\\)`",
            "ERROR: Detected non-determinism while running activation checkpointing",
            "uring the original forward:",
            "uring recomputation:",
        )
        cause = (
            "Recomputed values for the following tensors have different metadata than during the forward pass"
        )
        found = [re.search(w, str(error)) is not None for w in words]
        return type(error).__name__, found, type(error.__cause__).__name__, cause in str(error.__cause__)
    finally:
        logging.getLogger("LoggingTensor").disabled = False
    return None


@program()
def the_group_of_graphs(torch: Any) -> Any:
    module = checkpoint_of(torch)
    group = module.GraphExecGroup()
    x = torch.ones(2, requires_grad=True)
    before = module.GraphExecGroup._get_current_group()
    with group:
        inside = module.GraphExecGroup._get_current_group() is group
        nested = attempt("GraphExecGroup contexts cannot be nested", group.__enter__)
        out = module.checkpoint(lambda t: t.sin().exp(), x, use_reentrant=False)
        out.sum().backward()
    return before, inside, nested, module.GraphExecGroup._get_current_group(), x.grad


@program()
def a_group_of_graphs_for_two_backwards(torch: Any) -> Any:
    module = checkpoint_of(torch)
    calls = []

    def run(t: Any) -> Any:
        calls.append(1)
        return t.sin().exp()

    x = torch.ones(2, requires_grad=True)
    y = torch.ones(2, requires_grad=True)
    with module.GraphExecGroup():
        out = module.checkpoint(lambda a, b: (run(a), b.cos().exp()), x, y, use_reentrant=False)
        out[0].sum().backward(retain_graph=True)
        out[1].sum().backward()
    return len(calls), x.grad, y.grad


@program()
def a_group_of_graphs_for_overlapping_backwards(torch: Any) -> Any:
    module = checkpoint_of(torch)
    x = torch.ones(2, requires_grad=True)
    with module.GraphExecGroup():
        out = module.checkpoint(lambda a: a.sin().exp(), x, use_reentrant=False)
        out.sum().backward(retain_graph=True)
        return attempt("Performing two backward calls that overlap", out.sum().backward)
