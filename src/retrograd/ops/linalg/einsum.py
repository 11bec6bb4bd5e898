"""Einstein summation: products of several tensors, summed over the labels that the result does not name.

Labels are ints: a letter's code, or -1, -2, … for the dimensions under an ellipsis, counted from the right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final, TypeAlias

from retrograd.backends.base import Backend
from retrograd.backends.dtypes import SCALAR_NAMES, int64, promote_types
from retrograd.core.apply import apply_n
from retrograd.core.autocast import autocasting, autocasting_on_gpu, lowered
from retrograd.core.families import added
from retrograd.core.op import Variadic, X
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError, type_name, unsupported_dtype
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import Expand
from retrograd.ops.tensor.convert import convert
from retrograd.values import Array, Shape

Term: TypeAlias = tuple[int, ...]
Group: TypeAlias = list[int | None]  # a term as written: None stands for the ellipsis


class Einsum(Variadic):
    """the product of all inputs, summed over the labels missing from `output`; no label twice in one term"""

    params: ClassVar[tuple[str, ...]] = ("terms", "output")
    keeps: ClassVar[int] = X
    multiplies: ClassVar[bool] = True

    def __init__(self, terms: tuple[Term, ...], output: Term) -> None:
        self.terms = terms
        self.output = output
        self.shapes: list[Shape] = []

    def keeps_input(self, i: int) -> bool:
        return any(self.needs(j) for j in range(len(self.terms)) if j != i)

    def forward(self, xp: Backend, xs: Any) -> Any:
        self.shapes = [x.shape for x in xs]
        return contract(xp, self.terms, xs, self.output)

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        return [self.gradient(i, gs[0], xs) if self.needs(i) else None for i in range(len(self.terms))]

    def gradient(self, i: int, g: Any, xs: Any) -> Any:
        """The other inputs and the gradient, contracted to the labels of input `i`."""
        others = [xs[j].conj() if g.dtype.kind == "c" else xs[j] for j in range(len(xs)) if j != i]
        terms = [term for j, term in enumerate(self.terms) if j != i]
        known = set(self.output).union(*terms)
        target = tuple([label for label in self.terms[i] if label in known])
        found = Einsum((*terms, self.output), target).on(*others, g)
        if len(target) == len(self.terms[i]):
            return found
        # A label of this input alone was summed: each of its elements gets the same.
        shape = self.shapes[i]
        kept = tuple([n if label in known else 1 for label, n in zip(self.terms[i], shape, strict=True)])
        return Expand(shape).on(found.reshape(kept))

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        total: Any = None
        for i, t in enumerate(ts):
            if t is not None:
                total = added(total, self.fresh().on(*xs[:i], t, *xs[i + 1 :]))
        return total


# -- contraction of arrays -----------------------------------------------------------------------------------------


def contract(xp: Backend, terms: Sequence[Term], arrays: Sequence[Array], output: Term) -> Array:
    """Multiplies pair by pair, the cheapest first; each pair is one matrix product."""
    left_terms, left = list(terms), list(arrays)
    while len(left) > 1:
        i, j = _cheapest(left_terms, left)
        b, tb = left.pop(j), left_terms.pop(j)
        a, ta = left.pop(i), left_terms.pop(i)
        keep = tuple(sorted(set(output).union(*left_terms))) if left else output
        term, array = _product_of_pair(xp, pairing_of(ta, tb, keep), a, b)
        left.insert(i, array)
        left_terms.insert(i, term)
    if left_terms[0] == output:
        return left[0]
    term, array = _summed(left_terms[0], left[0], output)
    return array.transpose([term.index(label) for label in output])


def _cheapest(terms: list[Term], arrays: list[Array]) -> tuple[int, int]:
    """The pair whose product takes the fewest multiplications."""
    if len(terms) == 2:
        return 0, 1
    sizes = {
        label: n
        for term, a in zip(terms, arrays, strict=True)
        for label, n in zip(term, a.shape, strict=True)
    }
    best, found = -1, (0, 1)
    for i in range(len(terms)):
        for j in range(i + 1, len(terms)):
            cost = _count([sizes[label] for label in set(terms[i]) | set(terms[j])])
            if best < 0 or cost < best:
                best, found = cost, (i, j)
    return found


def _count(sizes: Sequence[int]) -> int:
    n = 1
    for size in sizes:
        n *= size
    return n


def _summed(term: Term, a: Array, keep: Term) -> tuple[Term, Array]:
    """Sums over labels that nobody needs any more."""
    gone = tuple([d for d, label in enumerate(term) if label not in keep])
    if not gone:
        return term, a
    return tuple([label for label in term if label in keep]), a.sum(axis=gone, dtype=a.dtype)


class Pairing:
    """How two terms become one: batch labels are in both and needed later, contracted ones in both and not needed."""

    def __init__(self, ta: Term, tb: Term, keep: Term) -> None:
        self.summed_a: tuple[int, ...] = tuple(
            [d for d, label in enumerate(ta) if label not in keep and label not in tb]
        )
        self.summed_b: tuple[int, ...] = tuple(
            [d for d, label in enumerate(tb) if label not in keep and label not in ta]
        )
        ta = tuple([label for label in ta if label in keep or label in tb])
        tb = tuple([label for label in tb if label in keep or label in ta])
        batch = [label for label in ta if label in tb and label in keep]
        gone = [label for label in ta if label in tb and label not in keep]
        rows = [label for label in ta if label not in tb]
        columns = [label for label in tb if label not in ta]
        self.batch, self.rows, self.gone = len(batch), len(rows), len(gone)
        self.order_a: list[int] | None = _order(ta, (*batch, *rows, *gone))
        self.order_b: list[int] | None = _order(tb, (*batch, *gone, *columns))
        self.term: Term = (*batch, *rows, *columns)


def _order(term: Term, wanted: Term) -> list[int] | None:
    """How to transpose a term to the order that is wanted; None if it has it."""
    return None if term == wanted else [term.index(label) for label in wanted]


MANY: Final = (
    1000  # what has been found out about so many terms or equations is forgotten when there are more
)
_pairings: Final[dict[tuple[Term, Term, Term], Pairing]] = {}


def pairing_of(ta: Term, tb: Term, keep: Term) -> Pairing:
    """The pairing of two terms, where the labels in `keep` are needed later."""
    key = (ta, tb, keep)
    found = _pairings.get(key)
    if found is None:
        if len(_pairings) >= MANY:
            _pairings.clear()
        found = _pairings[key] = Pairing(ta, tb, keep)
    return found


def _product_of_pair(xp: Backend, how: Pairing, a: Array, b: Array) -> tuple[Term, Array]:
    """One product, of matrices or of batches of them."""
    if how.summed_a:
        a = a.sum(axis=how.summed_a, dtype=a.dtype)
    if how.summed_b:
        b = b.sum(axis=how.summed_b, dtype=b.dtype)
    x: Array = a if how.order_a is None else a.transpose(how.order_a)
    y: Array = b if how.order_b is None else b.transpose(how.order_b)
    first: Shape = x.shape
    last: Shape = y.shape[how.batch + how.gone :]
    outer = how.batch + how.rows
    lead = (_count(first[: how.batch]),) if how.batch else ()
    r, k, c = _count(first[how.batch : outer]), _count(first[outer:]), _count(last)
    x, y = _shaped(x, (*lead, r, k)), _shaped(y, (*lead, k, c))
    if how.gone and a.dtype.kind == "b":
        raise unsupported_dtype(
            "bmm", a.dtype, "einsum computes in numbers; convert the operands first, t.float()"
        )
    out = xp.product(x, y) if how.gone else xp.multiply(x, y)
    return how.term, _shaped(out, (*first[:outer], *last))


def _shaped(a: Array, shape: Shape) -> Array:
    return a if a.shape == shape else a.reshape(shape)


# -- equations -----------------------------------------------------------------------------------------------------


@public("einsum")
def einsum(*args: str | Tensor | Sequence[Any]) -> Tensor:
    """Sums of products by an equation: `einsum("ij,jk->ik", a, b)` is a matrix product.

    Labels missing from the right side are summed; `...` stands for dimensions that broadcast; without `->` the result
    has the labels that occur once, in alphabetical order. Lists of ints do as well: `einsum(a, [0, 1], b, [1, 2])`.

    >>> import retrograd as rg
    >>> rg.einsum("ii->i", rg.eye(3) * 2)
    tensor([2., 2., 2.])
    """
    xs: list[Any] = []
    for i, x in enumerate(_operands(args)):
        if not isinstance(x, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 1, but got {type_name(x)}")
        xs.append(x)
    equation = _equation(args, [x.array.ndim for x in xs])
    terms, output = list(equation.terms), equation.output
    sizes = _sizes(terms, [x.array.shape for x in xs])
    for i, x in enumerate(xs):
        terms[i], xs[i] = _cleaned(terms[i], x, sizes, equation.repeats)
    if len(xs) == 1:
        return _single(terms[0], xs[0], output)
    if autocasting() and (_has_products(terms, output) or autocasting_on_gpu(xs[0])):
        xs = lowered(list, xs)
    xs = _one_dtype(xs, terms, output)
    if xs[0].array.dtype.kind in "iub" and _has_sums(terms, output):
        xs = [convert(x, int64) for x in xs]  # as sums of integers are
    found: Tensor = apply_n(Einsum(tuple(terms), output), xs)
    return found


def _has_sums(terms: list[Term], output: Term) -> bool:
    """Whether a label of one operand alone is summed."""
    return any(
        label not in output and sum([label in term for term in terms]) == 1
        for term in terms
        for label in term
    )


def _has_products(terms: list[Term], output: Term) -> bool:
    """Whether operands share a label that is summed: then it is a product of matrices."""
    return any(
        label not in output and sum([label in term for term in terms]) > 1 for term in terms for label in term
    )


class Equation:
    """An equation as operands of certain numbers of dimensions read it: their labels, and those of the result."""

    def __init__(self, terms: tuple[Term, ...], output: Term) -> None:
        self.terms = terms
        self.output = output
        self.repeats: bool = any(
            len(set(term)) < len(term) for term in terms
        )  # whether a label comes twice in a term


_equations: Final[dict[tuple[Any, ...], Equation]] = {}


def _equation(args: Sequence[Any], ndims: list[int]) -> Equation:
    """The equation that is written in front of the operands, or between them."""
    if not isinstance(args[0], str):
        return _read(*_from_lists(args), ndims)
    key = (args[0], *ndims)
    found = _equations.get(key)
    if found is None:
        if len(_equations) >= MANY:
            _equations.clear()
        found = _equations[key] = _read(*_from_string(args[0], len(ndims)), ndims)
    return found


def _read(groups: list[Group], right: Group | None, ndims: list[int]) -> Equation:
    """An equation in labels, of terms and a result as written (None: not written)."""
    terms = [_spread(group, ndims[i], i) for i, group in enumerate(groups)]
    return Equation(tuple(terms), _output(right, groups, terms))


def _single(term: Term, x: Tensor, output: Term) -> Tensor:
    """One operand: a permutation, and the sum over what is left."""
    rest = [label for label in term if label not in output]
    x = x.permute([term.index(label) for label in (*output, *rest)])
    return x.sum(tuple(range(len(output), len(term)))) if rest else x


def _one_dtype(xs: list[Any], terms: list[Term], output: Term) -> list[Any]:
    """The operands in one dtype; they may have several where nothing is summed."""
    dtype = xs[0].array.dtype
    if all(x.array.dtype is dtype for x in xs):
        return xs
    elementwise = all(label in output for term in terms for label in term)
    for x in xs[1:]:
        if x.array.dtype != dtype and not elementwise:
            raise DtypeError(
                f"einsum: expected scalar type {SCALAR_NAMES[dtype]} but found {SCALAR_NAMES[x.array.dtype]}. Convert "
                "one of them with .to(dtype)."
            )
        dtype = promote_types(dtype, x.array.dtype)
    return [convert(x, dtype) for x in xs]


def _operands(args: Sequence[Any]) -> Sequence[Any]:
    """What stands behind the equation, or between its lists."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    if not isinstance(args[0], str):
        return args[: len(args) // 2 * 2 : 2]
    if len(args) == 2 and isinstance(args[1], (list, tuple)):
        return tuple(args[1])
    return args[1:]


def _from_lists(args: Sequence[Any]) -> tuple[list[Group], Group | None]:
    """The terms and the result of `einsum(a, [0, 1], b, [1, 2], [0, 2])`."""
    groups = [_from_list(subscripts) for subscripts in args[1::2]]
    return groups, _from_list(args[-1]) if len(args) % 2 else None


def _from_string(equation: str, operands: int) -> tuple[list[Group], Group | None]:
    """The terms and the result of an equation for so many operands."""
    left, arrow, tail = equation.partition("->")
    written = left.split(",")
    if len(written) != operands:
        which = "fewer" if operands < len(written) else "more"
        raise RuntimeError(
            f"einsum(): {which} operands were provided than specified in the equation: {operands} for "
            f"{len(written)} terms"
        )
    start = 0
    groups: list[Group] = []
    for i, text in enumerate(written):
        groups.append(_from_text(text, start, f"operand {i}"))
        start += len(text) + 1
    return groups, _from_text(tail, len(left) + 2, "the output") if arrow else None


def _from_text(text: str, start: int, what: str) -> Group:
    """The labels in a piece of an equation that begins at index `start`."""
    group: Group = []
    i = 0
    while i < len(text):
        letter = text[i]
        if letter == ".":
            if None in group:
                raise RuntimeError(f"einsum(): found '.' for {what} for which an ellipsis was already found")
            if text[i : i + 3] != "...":
                raise RuntimeError(
                    f"einsum(): found '.' for {what.removeprefix('the ')} that is not part of any ellipsis (...)"
                )
            group.append(None)
            i += 2
        elif letter.isascii() and letter.isalpha():
            group.append(ord(letter))
        elif letter != " ":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {start + i} in the equation string, subscripts must be in "
                "[a-zA-Z]"
            )
        i += 1
    return group


def _from_list(subscripts: Any) -> Group:
    """The labels in a list of ints, of which one may be an Ellipsis."""
    group: Group = []
    for label in subscripts:
        if label is not Ellipsis and not 0 <= label < 52:
            raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
        group.append(None if label is Ellipsis else int(label))
    return group


def _spread(group: Group, ndim: int, i: int) -> Term:
    """A term with its ellipsis spread over as many dimensions as the operand has left."""
    named = len(group) - group.count(None)
    if None not in group and named != ndim:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) does not match the number of dimensions "
            f"({ndim}) for operand {i} and no ellipsis was given"
        )
    if named > ndim:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) is more than the number of dimensions "
            f"({ndim}) for operand {i}"
        )
    return _filled(group, ndim - named)


def _filled(group: Group, hidden: int) -> Term:
    term: list[int] = []
    for label in group:
        term.extend(range(-hidden, 0) if label is None else (label,))
    return tuple(term)


def _output(right: Group | None, groups: Sequence[Group], terms: Sequence[Term]) -> Term:
    """The labels of the result."""
    hidden = max(sum(1 for label in term if label < 0) for term in terms)
    everything = [label for group in groups for label in group if label is not None]
    if right is None:
        return (
            *range(-hidden, 0),
            *sorted(label for label in set(everything) if everything.count(label) == 1),
        )
    for label in right:
        if label is not None and right.count(label) > 1:
            raise RuntimeError(
                f"einsum(): output subscript {_name(label)} appears more than once in the output"
            )
        if label is not None and label not in everything:
            raise RuntimeError(
                f"einsum(): output subscript {_name(label)} does not appear in the equation for any input operand"
            )
    return _filled(right, hidden)


def _name(label: int) -> str:
    return chr(label) if label >= 65 else str(label)


def _sizes(terms: Sequence[Term], shapes: Sequence[Shape]) -> dict[int, int]:
    """The size of each label; sizes of 1 stretch to others."""
    sizes: dict[int, int] = {}
    for i, term in enumerate(terms):
        shape = shapes[i]
        for d, label in enumerate(term):
            n, first = shape[d], term.index(label)
            if shape[first] != n:
                raise ShapeError(
                    f"einsum(): subscript {_name(label)} is repeated for operand {i} but the sizes don't match, "
                    f"{n} != {shape[first]}"
                )
            seen = sizes.get(label, 1)
            if n not in (seen, 1) and seen != 1:
                what = f"dimension {-label} (from the right) covered by ellipsis" if label < 0 else ""
                what = what or f"subscript {_name(label)}"
                raise ShapeError(
                    f"einsum(): {what} has size {n} for operand {i} which does not broadcast with previously seen size "
                    f"{seen}"
                )
            sizes[label] = n if seen == 1 else seen
    return sizes


def _cleaned(term: Term, x: Any, sizes: dict[int, int], repeats: bool) -> tuple[Term, Any]:
    """An operand without repeated labels (their diagonal is taken) and without dimensions that are only stretched."""
    if not repeats and 1 not in x.array.shape:
        return term, x
    labels = list(term)
    d = 0
    while d < len(labels):
        label = labels[d]
        again = labels.index(label, d + 1) if label in labels[d + 1 :] else -1
        if again >= 0:
            x = x.diagonal(0, d, again)
            del labels[again], labels[d]
            labels.append(label)
        elif x.array.shape[d] == 1 != sizes[label]:
            x = x.squeeze(d)
            del labels[d]
        else:
            d += 1
    return tuple(labels), x
