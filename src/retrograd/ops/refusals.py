"""Whether a call that has failed had an argument of a type that its function does not take.

Note [Types first]
~~~~~~~~~~~~~~~~~~
PyTorch looks at the types of all arguments before it looks at anything else, so that of two faults in a call a wrong
type is told first. Our functions look at an argument where they use it, and a look at all of them beforehand would
cost every call. So the functions that users call ask here when they have failed, and only then: what their
declarations say of types decides whether a TypeError takes the place of the error. The compiled ones do it in C
(`tools/compiling/judging.h`), the interpreted ones in `register.judged`.

Of PyTorch's functions those that are written in Python do not do so; they are listed here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from retrograd.backends.base import is_array
from retrograd.backends.dtype_class import dtype
from retrograd.core.tensor import Tensor
from retrograd.errors import OperandError, type_name

# Functions that are written in Python in PyTorch, or change settings: they look at an argument when they use it.
IN_PYTHON = frozenset({
    "set_default_dtype", "set_deterministic_debug_mode", "set_float32_matmul_precision", "set_flush_denormal",
    "set_num_interop_threads", "set_num_threads", "set_warn_always", "use_deterministic_algorithms",
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors", "cartesian_prod",
    "cdist", "chain_matmul", "einsum", "istft", "lobpcg", "lu", "meshgrid", "norm", "pca_lowrank", "resize_as",
    "split", "stft", "svd_lowrank", "tensordot", "unique", "unique_consecutive", "unravel_index",
    "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d",
    "affine_grid", "alpha_dropout", "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu",
    "cross_entropy", "ctc_loss", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu",
    "embedding", "embedding_bag", "feature_alpha_dropout", "fold", "gaussian_nll_loss", "glu", "grid_sample",
    "gumbel_softmax", "hardsigmoid", "hardswish", "hardtanh", "hinge_embedding_loss", "huber_loss", "interpolate",
    "kl_div", "l1_loss", "leaky_relu", "linear_cross_entropy", "local_response_norm", "lp_pool1d", "lp_pool2d",
    "lp_pool3d", "margin_ranking_loss", "max_unpool1d", "max_unpool2d",
    "max_unpool3d", "mish", "mse_loss", "multi_head_attention_forward", "multi_margin_loss", "multilabel_margin_loss",
    "multilabel_soft_margin_loss", "nll_loss", "normalize", "poisson_nll_loss", "relu6", "rrelu", "selu",
    "silu", "smooth_l1_loss", "soft_margin_loss", "softmin", "softsign", "tanhshrink", "threshold",
    "triplet_margin_loss", "triplet_margin_with_distance_loss", "unfold", "upsample", "upsample_bilinear",
    "upsample_nearest",
})  # fmt: skip


# Of others the part that is written in Python looks at these only, and hands on the rest.
IN_PYTHON_ALONE = {
    "max_pool1d": ("return_indices",), "max_pool2d": ("return_indices",), "max_pool3d": ("return_indices",),
    "cosine_embedding_loss": ("size_average", "reduce", "reduction"),
}  # fmt: skip


class Parameter(NamedTuple):
    """A parameter and the kinds of values that it takes; none where any may come."""

    name: str
    kinds: tuple[str, ...]

    def refuses(self, value: Any) -> bool:
        return bool(self.kinds) and not any(TAKES[kind](value) for kind in self.kinds)


class Declaration(NamedTuple):
    """The parameters of a function."""

    positional: tuple[Parameter, ...]
    rest: Parameter | None  # `*sizes`
    named: dict[str, Parameter]
    needed: frozenset[str]  # what has no default
    forms: list[Declaration]  # the overloads, where a function has some

    def in_old_order(self, args: Sequence[Any]) -> bool:
        """Whether numbers come before tensors, as PyTorch once had them: which may come where is not declared."""
        return self.rest is not None and self.rest.name == "old" and len(args) > len(self.positional)

    def given(self, args: Sequence[Any], named: dict[str, Any]) -> Iterator[tuple[int, Parameter, Any]]:
        """The arguments of a call, with their positions (0 for those by name) and parameters."""
        for i, value in enumerate(args):
            parameter = self.positional[i] if i < len(self.positional) else self.rest
            if parameter is not None:
                yield i + 1, parameter, value
        for name, value in named.items():
            if name in self.named:
                yield 0, self.named[name], value

    def takes(self, args: Sequence[Any], named: dict[str, Any]) -> bool:
        """Whether all arguments have a place here, and are of a kind that is taken there."""
        given = {p.name for p in self.positional[: len(args)]} | named.keys()
        fitting = len(args) <= len(self.positional) and self.needed <= given <= self.named.keys()
        return fitting and not any(p.refuses(value) for _, p, value in self.given(args, named))


def refusal(module: str, function: str, args: Sequence[Any], named: dict[str, Any]) -> TypeError | None:
    """The error for the first argument that a function of a module does not take; None if it takes them all.

    >>> import retrograd as rg
    >>> refusal("retrograd.ops.index.index_select", "index_select", (rg.ones(2), "x", rg.ones(2)), {})
    OperandError("index_select(): argument 'dim' (position 2) must be int, not str")
    """
    in_python = function in IN_PYTHON or function.startswith("functional_")
    declaration = None if in_python else declarations(module).get(function)
    if declaration is None or declaration.in_old_order(args):
        return None
    free = IN_PYTHON_ALONE.get(function, ())
    for position, parameter, value in declaration.given(args, named):
        if parameter.refuses(value) and parameter.name not in free:
            where = f" (position {position})" if position else ""
            wanted = " or ".join(NAMES.get(kind, kind) for kind in parameter.kinds if kind != "None")
            return OperandError(
                f"{function}(): argument '{parameter.name}'{where} must be {wanted}, not {type_name(value)}"
            )
    if declaration.forms and not any(form.takes(args, named) for form in declaration.forms):
        return OperandError(_combination(function, args, named))
    return None


def _combination(function: str, args: Sequence[Any], named: dict[str, Any]) -> str:
    """The message about arguments that no overload takes."""
    given = [type_name(v) for v in args] + [f"{name}={type_name(v)}" for name, v in named.items()]
    return f"{function}() received an invalid combination of arguments - got ({', '.join(given)})"


# -- what declarations say -------------------------------------------------------------------------------------------


@cache
def declarations(module: str) -> dict[str, Declaration]:
    """What the functions of a module declare, read from its source: compiled functions do not know them."""
    try:
        source = Path(import_module(module).__file__ or "").read_text(encoding="utf-8")
    except OSError:
        return {}
    found: dict[str, Declaration] = {}
    forms: dict[str, list[Declaration]] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and any(
            ast.unparse(d) == "overload" for d in node.decorator_list
        ):
            forms.setdefault(node.name, []).append(_declaration(node.args, []))
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = _declaration(node.args, forms.get(node.name, []))
    return found


def _declaration(args: ast.arguments, forms: list[Declaration]) -> Declaration:
    positional = tuple(map(_parameter, [*args.posonlyargs, *args.args]))
    named = [*positional, *map(_parameter, args.kwonlyargs)]
    rest = None if args.vararg is None else _parameter(args.vararg)
    plain = [a.arg for a in (*args.posonlyargs, *args.args)]
    needed = plain[: len(plain) - len(args.defaults)]
    needed += [a.arg for a, default in zip(args.kwonlyargs, args.kw_defaults, strict=True) if default is None]
    return Declaration(positional, rest, {p.name: p for p in named}, frozenset(needed), forms)


def _parameter(arg: ast.arg) -> Parameter:
    kinds = [] if arg.annotation is None else ast.unparse(arg.annotation).split(" | ")
    kinds = [part for kind in kinds for part in SHORT.get(kind, (kind,))]
    return Parameter(arg.arg, tuple(kinds) if all(kind in TAKES for kind in kinds) else ())


# -- kinds of values -------------------------------------------------------------------------------------------------


def _is_number_of(dtypes: str) -> Callable[[Any], bool]:
    """Whether a value of NumPy's, or a tensor without dimensions, stands for a number of these kinds of dtypes."""

    def test(value: Any) -> bool:
        if isinstance(value, Tensor):
            return value.ndim == 0 and value.array.dtype.kind in dtypes and not value.requires_grad
        return isinstance(value, np.generic) and value.dtype.kind in dtypes

    return test


_INTEGERS, _NUMBERS = _is_number_of("iu"), _is_number_of("biufc")


def _is_int(value: Any) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or _INTEGERS(value)


def _are_ints(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and (not value or _is_int(value[0]))


TAKES: dict[str, Callable[[Any], bool]] = {
    "None": lambda value: value is None,
    "Tensor": lambda value: isinstance(value, Tensor) or is_array(value),
    "bool": lambda value: isinstance(value, (bool, np.bool_)),
    "int": _is_int,
    "float": lambda value: (
        isinstance(value, (int, float, complex)) or _NUMBERS(value)
    ),  # a complex one is a wrong value
    "Number": lambda value: isinstance(value, (int, float, complex)) or _NUMBERS(value),
    "str": lambda value: isinstance(value, str),
    "Sequence[int]": _are_ints,
    "Sequence[float]": lambda value: (
        isinstance(value, (tuple, list)) and (not value or isinstance(value[0], (int, float)))
    ),
    "DType": lambda value: isinstance(value, (dtype, np.dtype, str, type)),
    "Sequence[Tensor]": lambda value: (
        isinstance(value, (tuple, list)) and all(isinstance(v, Tensor) for v in value)
    ),
}
SHORT = {"Ints": ("int", "Sequence[int]"), "Dims": ("int", "Sequence[int]", "None")}
NAMES = {
    "Sequence[int]": "tuple of ints", "Sequence[float]": "tuple of floats", "Sequence[Tensor]": "tuple of Tensors",
    "DType": "torch.dtype",
}  # fmt: skip
