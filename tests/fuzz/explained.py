"""The differences of random programs that are known, with their reasons; docs/differences.md tells them to users."""

from __future__ import annotations

import re

from .explained_corners import CORNERS

# What the program, the kind of difference and its words must match, and why it is so.
EXPLAINED: list[tuple[str, str, str, str]] = [
    (
        "save_on_cpu|saved_tensors_hooks",
        "values",
        "",
        "PyTorch does not notice that what a hook has packed was overwritten",
    ),
    ("allow_mutation", "raises only there", "outside of the", "a graph that needs no copies may be left"),
    ("pow", "values?", "nan", "complex powers of zero, and gradients beside NaN"),
    ("prod", "values", "nan", "complex powers of zero, and gradients beside NaN"),
    (
        ".",
        "error type",
        "shape mismatch|support automatic differentiation|not implemented for",
        "two faults, of which another is told first",
    ),
    (
        "deg2rad|rad2deg",
        "raises only there",
        r"functions with out=\.\.\.",
        "PyTorch writes into a result of its own",
    ),
    ("vmap", "raises only there", "select", "a function of nothing"),
    (".", "raises only there", "modified by an inplace operation", "PyTorch saves what is not saved here"),
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
        "the `-` operator, (with|on) a bool tensor|Expected isFloatingType",
        "gradients where PyTorch's formula fails",
    ),
    (
        "scatter",
        "raises only there",
        "returned an invalid gradient",
        "gradients where PyTorch's formula fails",
    ),
    ("jacobian", "raises only there", "stack expects a non-empty", "Jacobians of nothing are empty"),
    (
        "grad",
        "raises only there",
        "ZeroTensors are immutable|more than one element of the written-to|A view was created in no_grad mode|modifies inplace an input that is a view",
        "gradients are in memory of their own",
    ),
    (
        # what both share shows when one of them is written later
        r"backward\(([^\n]*, )?t\d[\s\S]*\n[\s\S]*(backward\(|\w_\(|[-+*/]= |\] = )",
        "version|values",
        "grad|version",
        "PyTorch makes a gradient that is a part of something .grad itself",
    ),
    ("pool|softmax", "raises only there", "a second time", "a node that saves nothing here is not freed"),
    (r"\.data = ", ".*", "", "a new data is not seen by graphs made before"),
    ("out=", "values", "", "out= of another shape gets memory of its own"),
    (
        "addc(mul|div)|float_power",
        "graph",
        "ToCopyBackward0",
        "operands of several dtypes are converted by nodes of their own",
    ),
    ("tensordot", "graph", "SumBackward1", "sums over single elements are left out"),
    (
        "floor_divide_",
        "graph",
        "CopySlices",
        "a node that cannot be differentiated has an edge for each operand",
    ),
    (
        r"\.(real|imag|mH|conj)|view_as_complex",
        "graph",
        "AsStridedBackward0",
        "regenerated views of complex tensors",
    ),
    (r"swapaxes|permute|transpose|\.m?T\b|\.t\(", "offset|graph|strides", "", "more is contiguous here"),
    ("pool", "is_leaf|requires_grad", "", "the gradient of a linear function does not depend on its input"),
    ("remainder", "values", "0", "the sign of a remainder of zero"),
    ("digamma|lgamma", "values", r"e\+|inf", "near a pole"),
    ("float16", "dtype", "complex32", "there is no complex32"),
    ("float16", "raises only there", "ComplexHalf", "there is no complex32"),
    (
        "kron|isin|take_along_dim",
        "raises only there",
        "view size is not compatible",
        "a call that fails for its layout",
    ),
    ("grad", "raises only there", "out of bounds for storage", "gradients are in memory of their own"),
    (
        r"\[:\] \+= ",
        "raises only there",
        r"\('a leaf Variable that requires",
        "a view whose base was given a history is no leaf",
    ),
    (r"\.set_\(", "raises only here", "cannot leave its base", "a view has its history from its base"),
    (
        ".",
        "raises only here",
        "its base or another view of its base has been modified|A view was created",
        "an invalid view is not read either",
    ),
    (
        "embedding|index|gather|softmax|\\[",
        "raises only here",
        "out of bounds|Byte|Bool",
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
        "raises only here|value",
        "Inference tensors cannot be saved|None there",
        "PyTorch saves a converted copy",
    ),
    ("cum(sum|prod)", "error type|raises only here", "Bool", "two faults, of which another is told first"),
    (
        ".",
        "error type",
        "a leaf Variable|is a view and|in no_grad mode|leaf that requires",
        "two faults, of which another is told first",
    ),
    (
        "embedding|bmm|cat|index|var|std|nansum|nanmean|max|min|put|scatter|gather",
        "error type",
        "",
        "two faults, of which another is told first",
    ),
    (
        ".",
        "error type",
        "Could this error message be improved|setStorage|single memory location",
        "an internal check of PyTorch's",
    ),
    (
        "forward_ad",
        "value",
        r"grad_fn=<\w+>.* there, .*grad_fn=<\w+>",
        "a tangent's nodes are those that are needed",
    ),
    (r"logsigmoid[\s\S]*\.data\.", "values", r"grad", "logsigmoid saves its input alone"),
    (
        r"backward\(t",
        "raises only there",
        "its base or another view of its base has been modified inplace",
        "PyTorch makes a gradient that is a part of something .grad itself",
    ),
    (
        r"p\._version[\s\S]*backward\(t",
        "value",
        r"^log\[\d+\]: \d+ there, \d+ here",
        "PyTorch makes a gradient that is a part of something .grad itself",
    ),
    (
        "inference_mode",
        "raises only there",
        "Inference tensors cannot be saved for backward",
        "what no gradient needs is not saved",
    ),
    (
        r"inference_mode[\s\S]*backward\(",
        "raises only there|is_inference",
        r"Inplace update to inference tensor|\.grad\.is_inference",
        "gradients that backward makes in inference mode can be added to",
    ),
    (
        r"inference_mode[\s\S]*\.(view|data|detach)\b",
        "version",
        "raises RuntimeError here",
        "what may be written of an inference tensor has no version",
    ),
    (
        "pool",
        "raises only (there|here)",
        "support the deepcopy protocol|'NoneType' object has no attribute 'register_",
        "the gradient of a linear function does not depend on its input",
    ),
    (
        r"(t\d+), \*t_rest\d+ = torch\.autograd\.grad\([^\n]*create_graph=True[\s\S]*\b\1\.grad_fn\.register_",
        "shape|values?",
        "^log",
        "the nodes of a gradient are the engine's own",
    ),
    ("vmap", "error type", r"select\(\): index 0 out of range", "a function of nothing"),
    (
        "func.hessian",
        "error type",
        "'NoneType' object has no attribute 'numel'",
        "two faults, of which another is told first",
    ),
    (
        r"zeros\(\(0, 3\)\)|0:0",
        "raises only here",
        r"not implemented for \\?'\w+",
        "a dtype that a function does not take is refused for an empty tensor too",
    ),
    (
        "rrelu|bernoulli",
        "raises only there",
        r"not implemented for \\?'(Half|Complex\w+)",
        "more dtypes are taken than PyTorch's kernels have",
    ),
    (
        r"zeros\(\(0, 3\)\)[\s\S]*normal_\(",
        "raises only here",
        "a leaf Variable that requires grad",
        "what of nothing is checked all the same",
    ),
    (
        r"\b(t\d+)\.backward\(\1\b[\s\S]*backward",
        "values",
        "",
        "PyTorch makes a gradient that is a part of something .grad itself",
    ),
    (
        r"inference_mode[\s\S]*requires_grad=True",
        "raises only there",
        r"functions with out=\.\.\.",
        "PyTorch writes into a result of its own",
    ),
    (
        "as_strided",
        "raises only there",
        "setStorage: .*out of bounds",
        "a part of nothing begins where its memory does",
    ),
    (
        r"zeros\(\(0, 3\)\)[\s\S]*(exponential|cauchy)_\(",
        "raises only here",
        "dtype must be a floating point but you specified",
        "a dtype that a function does not take is refused for an empty tensor too",
    ),
    ("pickle", "offset|strides", "", "a part that pickle has copied lies as usual"),
    (
        r"sinc\(\)[\s\S]*abs\(\)[\s\S]*create_graph",
        "values",
        "",
        "the direction of what is zero but for rounding",
    ),
    ("remainder", "values", "inf", "the sign of a remainder of zero"),
    ("func.hessian", "error type", "cannot reshape tensor of 0", "a function of nothing"),
]


def reason(program: list[str], kind: str, words: str) -> str | None:
    """Why a program is known to differ, or None."""
    text = "\n".join(program)
    for in_program, of_kind, in_words, why in [*EXPLAINED, *CORNERS]:
        if (
            re.search(in_program, text)
            and re.fullmatch(of_kind, kind)
            and re.search(in_words, words, re.DOTALL)
        ):
            return why
    return None
