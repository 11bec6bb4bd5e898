"""Upward: the calls that go up the layers.

Note [Upward calls]
~~~~~~~~~~~~~~~~~~~
Imports point down, but a few calls must go up: `x * y` is an op of `retrograd.ops`, an op applies itself by
`core.apply`, which imports the op, and the engine leaves a level of `vmap` by an op of `func`. Each is a field of one
object here, filled in by the module that has what it stands for when that module is imported. PyTorch's dispatcher
plays the same part.

The native pack calls up as well: it asks whose code a frame runs (`core/places.py`), and has metadata made that it has
not seen before (`core/metadata.py`). Both hand it their function by `tell_pack`; without the pack, that does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from retrograd.backends.pack import PACK

if TYPE_CHECKING:
    from retrograd.core.operators import Operators


class Upward:
    """What lower layers call in higher ones, by who fills it in. See Note [Upward calls]."""

    # ops/operators.py
    operators: Operators
    # autograd/backward.py and core/views.py, for the methods of Tensor
    backward: Any = None
    refresh_view: Any = None
    # ops/tensor/data.py: a new array of numbers and a dtype, for the class Tensor as a constructor
    array_from: Any = None
    # core/apply.py: applies an op to Tensors
    apply1: Any = None
    apply2: Any = None
    apply_n: Any = None
    # core/tensor.py and core/node.py: the classes that the collector looks for
    tensor: Any = None
    node: Any = None
    # autograd/nonfinite.py: the error that names the first cause of a NaN or Inf in a gradient
    find_nonfinite: Any = None
    # func/levels.py: a gradient that leaves levels of vmap on an edge, summed over their samples
    leave_levels: Any = None
    # the same: a function called once for each sample of a vmap
    by_sample: Any = None


UPWARD: Final = Upward()


def tell_pack(name: str, function: Callable[..., Any]) -> None:
    """Gives the native pack, where there is one, what it calls: `owner_test`, `metadata_maker`, `size_class`."""
    if PACK is not None:
        getattr(PACK, f"set_{name}")(function)
