"""Fused kernels: one pass over the elements where a formula takes several NumPy calls.

`tools/fuse.py` runs the formulas of elementwise ops on symbols when the pack is built and writes C++ for what they
compute, so no formula is typed twice. A kernel belongs to one method of one op class; `attach` puts it there.

`kernel(op, x)` gives what `op.forward(xp, x)` would, `kernel(op, g, x, out)` what `op.vjp(g, x, out)` would, and for
ops of several operands `kernel(op, g, x, y, out, wanted)` all gradients at once, None where `wanted` lacks the bit of
the operand. A kernel that does not serve its arguments (another dtype, a layout it does not know, a parameter that is
no number) returns NotImplemented, and the op's own formula runs.
"""

from __future__ import annotations

from typing import Any

from retrograd.backends.native import PACK

KERNELS: dict[str, Any] = {} if PACK is None else PACK.fused_kernels()


def attach(cls: Any, key: str) -> None:
    """Gives an op class its kernels, if there are any; `key` is where its source is, `elementwise.exponential.Exp`."""
    for method in ("forward", "vjp"):
        kernel = KERNELS.get(f"{key}.{method}")
        if kernel is not None:
            setattr(cls, f"{method}_kernel", kernel.bind(cls))
