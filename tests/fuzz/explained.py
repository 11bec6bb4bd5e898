"""The differences of random programs that are known, with their reasons; docs/differences.md tells them to users."""

from __future__ import annotations

import re

# What the program, the kind of difference and its words must match, and why it is so.
EXPLAINED: list[tuple[str, str, str, str]] = [
    (
        ".",
        "raises only there",
        "modified by an inplace operation",
        "PyTorch saves, or takes for saved, what is not saved here",
    ),
    (
        ".",
        "raises only there",
        "some elements of the input tensor and the written-to",
        "an operand that overlaps is computed first",
    ),
    (
        ".",
        "raises only there",
        "does not support automatic differentiation for outputs with complex",
        "gradients where PyTorch has none",
    ),
    (
        ".",
        "raises only there",
        "the `-` operator, with a bool tensor",
        "gradients where PyTorch's formula fails",
    ),
    (".", "raises only there", "Expected isFloatingType", "gradients where PyTorch's formula fails"),
    (
        "scatter",
        "raises only there",
        "returned an invalid gradient",
        "gradients where PyTorch's formula fails",
    ),
    ("jacobian", "raises only there", "stack expects a non-empty", "Jacobians of nothing are empty"),
    (
        "autograd.grad",
        "raises only there",
        "ZeroTensors are immutable|more than one element of the written-to",
        "gradients are in memory of their own",
    ),
    (
        "autograd.grad",
        "raises only there",
        "A view was created in no_grad mode",
        "gradients are in memory of their own",
    ),
    (
        "addc(mul|div)",
        "graph",
        "ToCopyBackward0",
        "operands of several dtypes are converted by nodes of their own",
    ),
    ("tensordot", "graph", "SumBackward1", "sums over single elements are left out"),
    (r"\*\* t", "strides", "", "a number to the power of a tensor keeps the layout"),
    (r"\.data = ", ".*", "", "a new data is not seen by graphs made before"),
    (
        "backward",
        "version|values",
        "grad|version",
        "PyTorch makes a gradient that is a part of something .grad itself",
    ),
    ("logsigmoid", "strides", "", "it keeps the layout"),
    ("out=", "values", "", "out= of another shape gets memory of its own"),
    ("pool|softmax", "raises only there", "a second time", "a node that saves nothing here is not freed"),
    ("pool", "is_leaf|requires_grad", "", "the gradient of a linear function does not depend on its input"),
    ("remainder", "values", "0", "the sign of a remainder of zero"),
    (
        r"float_power",
        "graph",
        "ToCopyBackward0",
        "operands of several dtypes are converted by nodes of their own",
    ),
    (
        "floor_divide_",
        "graph",
        "CopySlices",
        "a node that cannot be differentiated has an edge for each operand",
    ),
    (r"\.(real|imag|mH|conj)", "graph", "AsStridedBackward0", "regenerated views of complex tensors"),
    ("narrow_copy", "error type", "Could this error message be improved", "an internal check of PyTorch's"),
    ("cum(sum|prod)_", "error type|raises only here", "Bool", "two faults, of which another is told first"),
    (
        ".",
        "error type",
        "a leaf Variable|is a view and|in no_grad mode",
        "two faults, of which another is told first",
    ),
    (".", "error type", "setStorage|single memory location", "an internal check of PyTorch's"),
    ("func.hessian", "error type", "cannot reshape tensor of 0", "a function of nothing"),
    ("float16", "dtype", "complex32", "there is no complex32"),
    (
        "embedding|index|gather|log_softmax",
        "raises only here",
        "out of bounds|Byte",
        "what of nothing is checked all the same",
    ),
    (
        "nan_to_num_",
        "raises only here",
        "complex",
        "no gradient of nan_to_num for complex numbers, in place either",
    ),
    (
        "inference_mode",
        "raises only here",
        "Inference tensors cannot be saved",
        "PyTorch saves a converted copy",
    ),
    (
        r"def forward",
        "raises only here",
        "is a view and its base|A view was created",
        "a write that mark_dirty does not tell of",
    ),
]


def reason(program: list[str], kind: str, words: str) -> str | None:
    """Why a program is known to differ, or None."""
    text = "\n".join(program)
    for in_program, of_kind, in_words, why in EXPLAINED:
        if (
            re.search(in_program, text)
            and re.fullmatch(of_kind, kind)
            and re.search(in_words, words, re.DOTALL)
        ):
            return why
    return None
