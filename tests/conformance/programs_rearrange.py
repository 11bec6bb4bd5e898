"""func.rearrange: what patterns give, and which are refused."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program

GIVEN = [
    ("a b c -> c (a b)", {}),
    ("a b (c d) -> a d b c", {"d": 2}),
    ("(a x) b c -> x a b c", {"a": 2}),
    ("a (b x) (c y) -> (a x) y c b", {"x": 3, "y": 2}),
    ("... a -> a ...", {}),
    ("... -> (...)", {}),
    ("a ... -> (...) a", {}),
    ("a b c -> a 1 b () c", {}),
    ("a b (1 c) -> (b) a c", {}),
    ("  a b c->c b a ", {}),
    ("a b c -> a b c", {"a": 2}),
]
REFUSED = [
    ("a b c", {}, "Pattern must contain a single '->' separator"),
    ("a -> b -> c", {}, "Pattern must contain a single '->' separator"),
    ("a b -> a b", {}, r"Number of dimensions in pattern \(2\) must be equal to"),
    (
        "a b c d ... -> a b c d ...",
        {},
        r"Number of dimensions in pattern \(4\) must be less than or equal to",
    ),
    ("a b c -> a b", {}, r"Identifiers only on one side of rearrange expression .* \{'c'\}"),
    ("a a b -> a b", {}, "Indexing expression contains duplicate dimension 'a'"),
    ("a b c -> c b a", {"q": 1}, r"Identifiers not found in rearrange expression: \{'q'\}"),
    ("a ... ... -> a ...", {}, "only one ellipsis for tensor"),
    ("a b c -> ...", {}, "Ellipsis found in right side, but not left side"),
    ("(...) -> ...", {}, "Ellipsis is parenthesis in the left side is not allowed"),
    ("a b c -> ((a b) c)", {}, r"Axis composition is one-level \(brackets inside brackets not allowed\)"),
    ("a b c) -> a b c", {}, "Brackets are not balanced"),
    ("a b (c -> a b c", {}, "Imbalanced parentheses in expression"),
    ("a b .c -> a b c", {}, "Expression may contain dots only inside ellipsis"),
    ("a 3 c -> a c 3", {}, "rearrange only supports unnamed axes of size 1"),
    ("a b 1c -> a b 1c", {}, "Invalid axis identifier: 1c"),
    ("_a b c -> b c _a", {}, "Invalid axis identifier: _a"),
    ("a - b c -> a b c", {}, "Unknown character '-'"),
    ("a b (c d) -> a b c d", {"d": 2.0}, "rearrange axis lengths must be integers"),
]
UNFIT = [
    ("a b (c d) -> a b c d", {}, "cannot infer the sizes of two dimensions at once"),
    ("a b (c d) -> a b c d", {"d": 3}, "inferred dimension does not evenly fit into larger dimension: 4 vs ('?', 3)"),
    ("a b (c d) -> a b c d", {"c": 3, "d": 2}, "Dimension sizes to do not match (4 != 6)"),
    ("a b c -> a b c", {"a": 5}, "Dimension sizes to do not match (2 != 5)"),
]  # fmt: skip


def box(torch: Any) -> Any:
    return torch.arange(24.0).reshape(2, 3, 4)


@program()
def patterns_that_fit(torch: Any) -> Any:
    return [torch.func.rearrange(box(torch), pattern, **lengths) for pattern, lengths in GIVEN]


@program()
def patterns_that_are_refused(torch: Any) -> Any:
    return [
        attempt(phrase, torch.func.rearrange, box(torch), pattern, **lengths)
        for pattern, lengths, phrase in REFUSED
    ]


@program()
def lengths_that_do_not_fit(torch: Any) -> Any:
    found = []
    for pattern, lengths, phrase in UNFIT:
        try:
            torch.func.rearrange(box(torch), pattern, **lengths)
        except Exception as error:
            found.append((type(error).__name__, phrase in str(error)))
    return found


@program()
def several_tensors_and_one_without_dimensions(torch: Any) -> Any:
    x = box(torch)
    return torch.func.rearrange([x, x + 1], "n a b c -> (n a) c b"), torch.func.rearrange(
        torch.tensor(1.0), "-> 1"
    )


@program(warns="It is discouraged to use axes names that are keywords: class")
def a_keyword_as_a_name(torch: Any) -> Any:
    return torch.func.rearrange(torch.ones(2, 3), "a class -> class a")


@program()
def gradients_and_samples_go_through_it(torch: Any) -> Any:
    x = box(torch).requires_grad_()
    turned = torch.func.rearrange(x, "a b (c d) -> (d a) b c", d=2)
    (turned * torch.arange(24.0).reshape(turned.shape)).sum().backward()
    return x.grad, torch.vmap(lambda t: torch.func.rearrange(t, "b c -> (c b)"))(box(torch))
