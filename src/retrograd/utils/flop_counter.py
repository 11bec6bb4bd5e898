"""`FlopCounterMode`: how many multiplications and additions a program does, by module and operation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from math import prod
from typing import Any, Self, TypeVar

from retrograd.backends.base import stands_for_many
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.core.tree import flatten
from retrograd.ops.aten import OpOverloadPacket, packet_of
from retrograd.utils._python_dispatch import TorchDispatchMode
from retrograd.utils.module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

Formula = TypeVar("Formula", bound=Callable[..., int])
flop_registry: dict[Any, Callable[..., int]] = {}
_UNITS = ("", "K", "M", "B", "T")


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Formula], Formula]:
    """A decorator: the function says how many an operation does, from the shapes of its arguments and `out_shape`.

    Args:
        targets: one operation as `torch.ops.aten.mm`, or a list of them.
        get_raw: whether it gets the arguments themselves, and the result as `out_val`.
    """

    def decorate(formula: Formula) -> Formula:
        found = formula if get_raw else _of_shapes(formula)
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, OpOverloadPacket):
                raise ValueError(
                    f"register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. "
                    f"torch.ops.mylib.foo), got {target} which is of type {type(target)}"
                )
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = found
        return formula

    return decorate


def shape_of(value: Any) -> Any:
    """Arguments with each tensor's shape in its place."""
    if isinstance(value, Tensor):
        return value.shape
    if isinstance(value, dict):
        return {key: shape_of(v) for key, v in value.items()}
    return type(value)(shape_of(v) for v in value) if isinstance(value, (tuple, list)) else value


def _of_shapes(formula: Callable[..., int]) -> Callable[..., int]:
    """A formula of shapes as one of arguments."""

    def call(*args: Any, out_val: Any = None, **named: Any) -> int:
        return int(formula(*shape_of(args), out_shape=shape_of(out_val), **shape_of(named)))

    return call


@register_flop_formula(packet_of("mm"))
def mm_flop(a: Any, b: Any, *args: Any, out_shape: Any = None, **named: Any) -> int:
    """Of the product of two matrices."""
    return int(a[0] * b[1] * 2 * a[1])


@register_flop_formula(packet_of("addmm"))
def addmm_flop(bias: Any, a: Any, b: Any, *args: Any, out_shape: Any = None, **named: Any) -> int:
    """The same; additions of the bias are not counted."""
    return mm_flop(a, b)


@register_flop_formula(packet_of("bmm"))
def bmm_flop(a: Any, b: Any, *args: Any, out_shape: Any = None, **named: Any) -> int:
    """Of products of matrices, one by one."""
    return int(a[0]) * mm_flop(a[1:], b[1:])


@register_flop_formula(packet_of("baddbmm"))
def baddbmm_flop(bias: Any, a: Any, b: Any, *args: Any, out_shape: Any = None, **named: Any) -> int:
    """The same with something added."""
    return bmm_flop(a, b)


def conv_flop_count(x_shape: Any, w_shape: Any, out_shape: Any, transposed: bool = False) -> int:
    """Of a convolution: each number of the weight meets each place of the output (transposed: of the input)."""
    return int(x_shape[0] * prod((x_shape if transposed else out_shape)[2:]) * prod(w_shape) * 2)


@register_flop_formula(packet_of("convolution"))
def conv_flop(
    x: Any,
    w: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    *args: Any,
    **named: Any,
) -> int:
    """The same from `aten.convolution`'s arguments."""
    return conv_flop_count(x, w, named["out_shape"], transposed)


@register_flop_formula(packet_of("convolution_backward"))
def conv_backward_flop(grad: Any, x: Any, w: Any, *args: Any, out_shape: Any = None, **named: Any) -> int:
    """Of one of its gradients: as many as the convolution itself."""
    transposed = args[4]
    return conv_flop_count(grad, out_shape if w is None else w, out_shape if transposed else grad)


@register_flop_formula(packet_of("einsum"))
def einsum_flop(*operands: Any, out_shape: Any = None) -> int:
    """Of products of one operand after the other; a product that sums nothing is none of matrices."""
    *shapes, terms, output = operands
    sizes = {
        n: size
        for term, shape in zip(terms, shapes, strict=True)
        for n, size in zip(term, shape, strict=True)
    }
    known, count = set(terms[0]), 0
    for i, term in enumerate(terms[1:], 2):
        wanted = {n for n in output if sizes[n] > 1}.union(*terms[i:])
        summed = {n for n in known & set(term) if sizes[n] > 1} - wanted
        alone = (known ^ set(term)) - wanted  # those are summed before
        known |= set(term)
        if summed:
            count += 2 * prod(sizes[n] for n in known - alone)
        known &= wanted
    return count


@register_flop_formula([packet_of(f"{kind}_layer") for kind in ("lstm", "gru", "rnn_tanh", "rnn_relu")])
def recurrent_flop(x: Any, h: Any, c: Any, of_x: Any, of_h: Any, *args: Any, out_shape: Any = None) -> int:
    """Of the products of a recurrent network's steps: each row of `x` meets both weights."""
    return int(2 * prod(x[:-1]) * (prod(of_x) + prod(of_h)))


def _samples(result: Any) -> int:
    """How many samples of `vmap` a result stands for; its shape is that of one."""
    array = next((leaf.array for leaf in flatten(result)[0] if isinstance(leaf, Tensor)), None)
    found = 1
    while array is not None and stands_for_many(array):
        array = array.value
        found *= array.shape[0]
    return found


class FlopCounterMode(TorchDispatchMode):
    """A context that counts floating-point operations of products and convolutions.

    Args:
        mods: not needed any more.
        depth: how many levels of modules the table shows; None for all.
        display: whether to print the table at the end.
        custom_mapping: more formulas, by operation; they get shapes, and `out_shape`.

    >>> import retrograd as rg
    >>> with FlopCounterMode(display=False) as counter:
    ...     y = rg.ones(2, 3) @ rg.ones(3, 4)
    >>> counter.get_total_flops()
    48
    """

    def __init__(
        self, mods: Any = None, depth: int | None = 2, display: bool = True, custom_mapping: Any = None
    ) -> None:
        super().__init__()
        if mods is not None:
            warn("mods argument is not needed anymore, you can stop passing it", UserWarning)
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth = depth
        self.display = display
        self.mod_tracker: ModuleTracker = ModuleTracker()
        self.flop_registry: dict[Any, Callable[..., int]] = flop_registry | {
            target: formula if getattr(formula, "_get_raw", False) else _of_shapes(formula)
            for target, formula in (custom_mapping or {}).items()
        }

    def get_total_flops(self) -> int:
        """How many there were."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """How many there were, by module and operation."""
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        formula = self.flop_registry.get(func.overloadpacket)
        if formula is not None:
            count = formula(*args, **kwargs, out_val=out) * _samples(out)
            for module in set(self.mod_tracker.parents):
                self.flop_counts[module][func.overloadpacket] += count
        return out

    def __enter__(self) -> Self:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        return super().__enter__()

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        super().__exit__(kind, error, where)
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))  # noqa: T201 - what it was asked for

    def get_table(self, depth: int | None = None) -> str:
        """The counts for people."""
        depth = 999999 if depth is None and self.depth is None else depth or self.depth or 1
        total = self.get_total_flops()
        modules = [m for m in self.flop_counts if m != "Global" and m.count(".") < depth]
        rows: list[tuple[str, str, str]] = []
        if not modules or ("Global" in self.flop_counts and self._outside(modules)):
            rows += self._rows("Global", total)
        for module in sorted(modules):
            rows += self._rows(module, total)
        return _aligned([("Module", "FLOP", "% Total"), *rows])

    def _outside(self, modules: list[str]) -> bool:
        """Whether something was computed outside of every module."""
        outermost = [m for m in modules if "." not in m]
        return sum(sum(self.flop_counts[m].values()) for m in outermost) < self.get_total_flops()

    def _rows(self, module: str, total: int) -> list[tuple[str, str, str]]:
        counts = self.flop_counts[module]
        whole = sum(counts.values())
        parts = [(f"- {op}", _in_units(n, total), _percentage(n, total)) for op, n in counts.items()]
        return [(module, _in_units(whole, total), _percentage(whole, total)), *parts]


def _in_units(number: int, largest: int) -> str:
    """A count in the unit that the largest is told in."""
    place = max(0, min(len(_UNITS) - 1, (len(str(largest)) - 2) // 3))
    return f"{number / 1000**place:.3f}{_UNITS[place]}" if place else str(number)


def _percentage(number: int, whole: int) -> str:
    return f"{100 * number / whole:.2f}%" if whole else "0%"


def _aligned(rows: list[tuple[str, str, str]]) -> str:
    """Rows under each other, names to the left and numbers to the right, a rule under the first."""
    widths = [max(len(head) + 2, *map(len, column)) for head, *column in zip(*rows, strict=True)]
    rule = tuple("-" * width for width in widths)
    lines = [
        (a.ljust(widths[0]), b.rjust(widths[1]), c.rjust(widths[2])) for a, b, c in [rows[0], rule, *rows[1:]]
    ]
    return "\n".join("  ".join(line).rstrip() for line in lines)
