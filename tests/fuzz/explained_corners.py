"""The known differences of random programs that train, or look into corners: see `explained.py`."""

from __future__ import annotations

ONLY_THERE, ONLY_HERE = "raises only there", "raises only here"
FUNCTION, SUBCLASS = r"def f\d+\(a\)", r"class S\d+\(torch.Tensor"

TANGENT = "a tangent that is multiplied by a number requires a gradient only if it did before"
ARGUMENT = "the argument of a transform may be written, if it is no view of what has a history outside"
CAPTURED = "captured tensors may be written inside of transforms"
ENGINE = "the nodes of a gradient are the engine's own"
OWN_CLASS = "results of functions on a subclass are made in its class"
PLAIN = "gradients and tangents by a subclass are plain tensors"
TWO_NAMES = "a module that has two names is restored after a functional_call"
NOTHING = "a function of nothing"
EMPTY = "a dtype that a function does not take is refused for an empty tensor too"
LINEARIZE = "linearize runs backwards"
PARAMETER = "a parameter that a Function returns stays one"
COMPLEX32 = "there is no complex32"
SAMPLES = "samples, and what vmap returns, are no views"

# What the program, the kind of difference and its words must match, and why it is so.
CORNERS: list[tuple[str, str, str, str]] = [
    # transforms
    ("func|vmap|functional_call", ONLY_THERE, "that would mutate a captured Tensor|don't yet support saved tensor hooks", CAPTURED),
    ("func|vmap|functional_call", "error type", "mutate a captured|call in-place operation|TensorWrapper", CAPTURED),
    ("functional_call", ONLY_THERE, "mutating directly with|TensorWrapper|different number of tensors was saved", TWO_NAMES),
    (r"self.c = self.a[\s\S]*functional_call|ModuleList[\s\S]*functional_call", "value|values|requires_grad", r"^[mt]\d+", TWO_NAMES),
    ("linearize", "raises only .*|error type|requires_grad|is_leaf|values?", "", LINEARIZE),
    (FUNCTION, ONLY_THERE, "a (view of a )?leaf Variable that requires|is not possible because there exists a Tensor", ARGUMENT),
    (FUNCTION, ONLY_HERE, "shows the samples of an argument of vmap|a view of a leaf Variable that requires", ARGUMENT),
    ("torch.func", ONLY_HERE, "the jvp is not returning a view", "a view's tangent is one in transforms too"),
    ("jac|hessian|grad", ONLY_THERE, "output of a function that returns multiple views", "gradients are in memory of their own"),
    ("vmap|jvp|jac", ONLY_THERE, "Batching rule not implemented|Trying to use forward AD with", "tangents and batches where PyTorch has none"),
    ("self.n = self.n", ONLY_THERE, "batched == nullptr|may have escaped", "a tensor that outlives its vmap is not noticed"),
    ("vmap", ONLY_THERE, "Can't detach views in-place|arg_spec must not be None|is a view and is being modified inplace", SAMPLES),
    ("vmap", "error type", "Can't detach views|arg_spec must not be None", SAMPLES),
    ("vmap", "value|graph", "RemoveBatchDimBackward0|AddBatchDimBackward0", SAMPLES),
    (r"vmap[\s\S]*grad_fn.register_", "value|values|shape|dtype", "^log", SAMPLES),
    ("_hook", ONLY_THERE, "must override the setup_context", "backward hooks of modules wait inside of vmap"),
    ("vmap|func|jacobian", "raises only .*", r"cannot be concatenated|select\(\): index 0|index 0 is out of bounds for dimension 0 with size 0|cannot reshape tensor of 0", NOTHING),
    # forward mode, and gradients of it
    ("func|jvp|forward_ad", "requires_grad", "True there, False here", TANGENT),
    ("func|jvp|forward_ad", "is_leaf", "False there, True here", TANGENT),
    ("func|jvp|forward_ad", ONLY_HERE, "does not require grad|has no attribute '(register_|metadata)|can't retain_grad", TANGENT),
    ("jvp|forward_ad", "value", r"^log: .*(True|False|\[\[)", TANGENT),
    ("jvp|forward_ad|jacfwd", ONLY_THERE, "element 0 of tensors does not require grad", TANGENT),
    ("jvp|forward_ad", "value", "grad: .* there, None here|BackwardBackward0|AddBackward0 there", "a tangent's nodes are those that are needed"),
    # gradients
    ("create_graph", "requires_grad|is_leaf", r"grad\.(requires_grad|is_leaf)", ENGINE),
    ("create_graph", ONLY_THERE, "a leaf Variable that requires grad", ENGINE),
    (r"\.grad_fn\(", "value", "None here", "a node that is called gives the gradients that are needed"),
    (r"\.grad_fn\(", ONLY_THERE, "is not callable", "nodes of custom Functions can be called"),
    ("register_multi_grad_hook", ONLY_THERE, "_will_engine_execute_node", "hooks that wait for a leaf work in autograd.grad too"),
    ("checkpoint", "requires_grad", "False there, True here", PARAMETER),
    ("checkpoint", "grad", "None there", PARAMETER),
    ("checkpoint", ONLY_HERE, "a leaf Variable that requires grad", PARAMETER),
    ("GRU|RNN|LSTM", "graph|value", "LayerBackward0", "a recurrent layer or cell is one node"),
    (r"\.(double|float|half|to)\(", ONLY_HERE, "the data of a leaf was replaced", "a backward says that data was replaced"),
    ("clip_grad", ONLY_THERE, "nested_tensorlist", "no gradients are clipped"),
    ("pool", ONLY_HERE, "does not require grad", "the gradient of a linear function does not depend on its input"),
    # subclasses and modes
    (SUBCLASS, "graph", "AliasBackward0|CopySlices", OWN_CLASS),
    (SUBCLASS, "raises only .*|is_leaf|requires_grad", "Can't detach views|a leaf Variable|a second time|inference", OWN_CLASS),
    (SUBCLASS, "value", "^log", OWN_CLASS),
    ("unsafe_", ONLY_HERE, "modified by an inplace operation", "parts count their writes together in inference mode"),
    (SUBCLASS, "raises only .*", "Multiple dispatch failed|unsupported operand", PLAIN),
    (SUBCLASS, ONLY_THERE, "implementation of __deepcopy__", "subclasses can be copied"),
    ("TorchFunctionMode", "value", "^log: ", "a mode does not see what the class Tensor has itself"),
    # dtypes and layouts
    (r"zeros\(\(0, 3\)\)|, \(0, 3\)|diff|narrow|0:0", ONLY_HERE, "dtype must be a floating|not implemented for|check_random", EMPTY),
    ("complex|view_as_real", "dtype|values", "float16 there, torch.float32 here", COMPLEX32),
    ("numpy", ONLY_THERE, "unsupported ScalarType BFloat16|unsupported operand type", "bfloat16 is an array too"),
    (r"out_dims|swapaxes|permute|transpose|\.m?T\b|\.t\(|adjoint", ONLY_THERE, "view size is not compatible", "more is contiguous here"),
]  # fmt: skip
