"""Checkpoints that go wrong, and what `debug=True` says of them."""

from __future__ import annotations

import contextlib
import gc
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
def early_stop_leaves_no_cycle(torch: Any) -> Any:
    module = checkpoint_of(torch)
    found = []
    for early in (True, False):
        with module.set_checkpoint_early_stop(early):
            x = torch.ones(2, requires_grad=True)
            out = module.checkpoint(lambda t: t.sin().exp().cos(), x, use_reentrant=False)
            ref = weakref.ref(x)
            gc.collect()
            gc.disable()
            try:
                out.sum().backward()
                del x, out
                found.append(ref() is None)
            finally:
                gc.enable()
    return found


@program()
def debug_texts(torch: Any) -> Any:
    module = checkpoint_of(torch)
    calls = []

    def run(x: Any) -> Any:
        calls.append(1)
        return x.sin().exp() if len(calls) == 1 else x.sin() * 2 + x.cos().exp()

    x = torch.ones(2, requires_grad=True)
    out = module.checkpoint(run, x, use_reentrant=False, debug=True)
    try:
        out.sum().backward()
    except module.CheckpointError as error:
        text = str(error)
        words = (
            "An error happened while unpacking tensors; dumping logs of latest computation",
            "because you passed `debug=True` to `torch.utils.checkpoint.checkpoint\\(\\)`",
            "Detail of the tensors",
            "trace of the ops",
            "original forward",
            "recomputation",
        )
        return type(error).__name__, [re.search(w, text) is not None for w in words]
    return None


@program()
def the_group_of_graphs(torch: Any) -> Any:
    module = checkpoint_of(torch)
    group = module.GraphExecGroup()
    x = torch.ones(2, requires_grad=True)
    before = module.GraphExecGroup._get_current_group()
    with group:
        inside = module.GraphExecGroup._get_current_group() is group
        nested = attempt("already in use", lambda: group.__enter__())
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
