"""Looking at a backward pass."""

from retrograd.inspect.text import graph_text

__all__ = ["graph_text"]
