"""All rules: importing this fills the table of `level.RULES`."""

from retrograd.backends.batch import axes, backend, elementwise, index, layout, matrix

__all__ = ["axes", "backend", "elementwise", "index", "layout", "matrix"]
