"""`torch.masked`: every function, with and without a mask, over dtypes, with gradients."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program

_DTYPES = ("float64", "float32", "int32", "uint8", "bool", "complex128")
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("sum", "mean", "prod", "amax", "amin", "argmax", "argmin", "median", "logsumexp"), (1,)),
    **dict.fromkeys(("var", "std", "cumsum", "cumprod", "softmax", "log_softmax", "softmin"), (1,)),
    **dict.fromkeys(("norm", "normalize"), (2, 1)),
}


def _masks(torch: Any) -> tuple[Any, Any, Any]:
    """None, one that leaves out a row, one that does not."""
    some = torch.tensor([[True, True, False], [False, True, True]])
    return None, torch.tensor([[True, False, True], [False, False, False]]), some


def _result(torch: Any, function: Any, x: Any, *args: Any, **named: Any) -> Any:
    """What a call gives, with the gradient of a weighted sum of it; or its error."""
    if x.is_floating_point():
        x = x.clone().requires_grad_()
    found = attempt("", function, x, *args, **named)
    if not isinstance(found, torch.Tensor) or not found.requires_grad:
        return found
    weights = torch.arange(1.0, found.numel() + 1, dtype=found.dtype).reshape(found.shape)
    return found.detach(), torch.autograd.grad(found.sin(), x, weights)


def _each(name: str) -> Any:
    def run(torch: Any) -> Any:
        x = torch.tensor([[0.5, 1.0, 3.0], [4.5, 2.0, 6.0]])
        function = getattr(torch.masked, name)
        inputs = [x.to(getattr(torch, dtype)) for dtype in _DTYPES]
        return [
            _result(torch, function, value, *_FUNCTIONS[name], mask=mask)
            for value in inputs
            for mask in _masks(torch)
            if not (
                name == "median" and value.is_complex()
            )  # PyTorch warns there that it drops the imaginary part
        ]

    run.__name__ = f"masked_{name}"
    return run


for _name in _FUNCTIONS:
    globals()[f"masked_{_name}"] = program()(_each(_name))


@program()
def masked_dimensions_and_dtypes(torch: Any) -> Any:
    masked = torch.masked
    x = torch.tensor([[0.5, 1.0, 3.0], [4.5, 2.0, 6.0]])
    _, rows, some = _masks(torch)
    inf = float("inf")
    return (
        masked.sum(x, mask=some), masked.sum(x, (0, 1), mask=rows), masked.sum(x, (), mask=some),
        masked.sum(x, 1, keepdim=True, dtype=torch.float64, mask=rows), masked.sum(x, mask=some[0]),
        masked.sum(x, mask=some.int()), masked.sum(x[0, 0], mask=some[0, 0]), masked.amax(x, mask=some),
        masked.argmax(x), masked.argmax(x, mask=rows), masked.median(x), masked.prod(x, (0, 1), mask=some),
        masked.logsumexp(x, (0, 1), mask=some), masked.var(x, 1, False, mask=rows),
        masked.var(x, 1, keepdim=True, mask=some), masked.std(x, correction=2, mask=some),
        masked.mean(x.long(), 1, dtype=torch.float32), masked.softmax(x, 1, dtype=torch.float64, mask=some),
        [masked.norm(x, order, 1, mask=rows) for order in (inf, -inf, 0, -1.0, 3)],
        masked.logaddexp(x, x, input_mask=rows, other_mask=some),
    )  # fmt: skip


@program()
def masked_calls_that_are_refused(torch: Any) -> Any:
    masked = torch.masked
    x = torch.ones(2, 3)
    high, wide = torch.ones(5, 2, 3).bool(), torch.ones(3, 3).bool()
    return (
        attempt("Dimension out of range", masked.sum, x, 3),
        attempt("got mask dimensionality higher than of the input", lambda: masked.sum(x, mask=high)),
        attempt("", lambda: masked.sum(x, mask=wide)),
        attempt("positional arguments", masked.sum, x, 1, True),
        attempt("Could not infer output dtype", masked.mean, x.long()),
        attempt("Only one of unbiased and correction", lambda: masked.var(x, 1, True, correction=0)),
        attempt("identity of amax", lambda: masked.amax(x.bool(), mask=x.bool())),
        attempt("no fully masked out rows", lambda: masked.median(x.long(), mask=x.bool() & False)),
    )
