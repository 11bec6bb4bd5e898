"""Graphs of a GPU's work, as `torch.cuda.graphs`: they can be named, and none is captured here."""

from __future__ import annotations

from typing import Final

from retrograd.absent import Unavailable
from retrograd.cuda.devices import is_available

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"]


def _unavailable(name: str) -> Unavailable:
    return Unavailable(
        f"torch.cuda.{name}", RuntimeError, "retrograd captures no CUDA graphs", "call the step itself"
    )


CUDAGraph: Final = _unavailable("CUDAGraph")
graph: Final = _unavailable("graph")
graph_pool_handle: Final = _unavailable("graph_pool_handle")
make_graphed_callables: Final = _unavailable("make_graphed_callables")


def is_current_stream_capturing() -> bool:
    """Whether what a GPU is given is captured and not done: never. Without a GPU an error, as in PyTorch."""
    if not is_available():
        raise RuntimeError("is_current_stream_capturing asks about a GPU, and there is none")
    return False
