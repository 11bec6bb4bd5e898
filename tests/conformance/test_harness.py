"""The harness itself: what it must notice, so that agreement means something."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from .harness import (
    Expectation,
    Outcome,
    Raised,
    TensorRecord,
    Warned,
    attempt,
    broken_promises,
    differences,
    observe,
    record_exception,
)


class Tensor:
    """As little of a tensor as the harness looks at."""

    requires_grad = False
    is_leaf = True
    grad_fn = None

    def __init__(self, data: Any, dtype: str = "float32") -> None:
        self.array = np.asarray(data, dtype=dtype)
        self.shape, self.dtype = self.array.shape, self.array.dtype

    def detach(self) -> Tensor:
        return self

    def clone(self) -> Tensor:
        return self

    def tolist(self) -> Any:
        return self.array.tolist()


def library(**changes: Any) -> SimpleNamespace:
    base: dict[str, Any] = {
        "Tensor": Tensor,
        "float32": np.dtype("float32"),
        "device": bytes,
        "set_default_dtype": lambda dtype: None,
        "set_grad_enabled": lambda mode: None,
        "tensor": Tensor,
    }
    return SimpleNamespace(**{**base, **changes})


def found(program: Callable[[Any], Any], **changes: Any) -> list[str]:
    return differences(observe(program, library()), observe(program, library(**changes)))


def test_equal_runs_agree() -> None:
    assert found(lambda torch: {"a": [torch.tensor([1.0, float("nan")]), 2, "x", None, torch.float32]}) == []


@pytest.mark.parametrize(
    ("ours", "where"),
    [
        (lambda data: Tensor(np.asarray(data) + 0.01), "value"),
        (lambda data: Tensor(data, "float64"), "value.dtype"),
        (lambda data: Tensor([data]), "value.shape"),
        (lambda data: 1.0, "value"),
    ],
)
def test_differing_tensors_are_found(ours: Callable[[Any], Any], where: str) -> None:
    (difference,) = found(lambda torch: torch.tensor([1.0, 2.0]), tensor=ours)
    assert difference.startswith(f"{where}:")


def test_differences_name_their_path() -> None:
    program = lambda torch: {"grads": [1, torch.answer]}  # noqa: E731
    outcomes = [observe(program, library(answer=answer)) for answer in (2, 3)]
    assert differences(*outcomes) == ["value['grads'][1]: 2 on torch, 3 here"]


@pytest.mark.parametrize(
    ("oracle", "ours"), [(1, 1.0), (True, 1), ([1], [1, 2]), ({"a": 1}, {"b": 1}), ("a", "b")]
)
def test_equality_is_strict_about_kinds(oracle: Any, ours: Any) -> None:
    assert differences(Outcome(oracle, None, ()), Outcome(ours, None, ()))


def test_history_is_compared() -> None:
    plain = TensorRecord((1,), "float32", True, False, "MulBackward0", [1.0])
    other = TensorRecord((1,), "float32", True, False, "AddBackward0", [1.0])
    assert "grad_fn" in differences(Outcome(plain, None, ()), Outcome(other, None, ()))[0]


def test_an_exception_of_a_narrower_type_agrees() -> None:
    oracle, ours = record_exception(RuntimeError("x")), record_exception(NotImplementedError("y"))
    assert not differences(Outcome(None, oracle, ()), Outcome(None, ours, ()))
    assert differences(Outcome(None, ours, ()), Outcome(None, oracle, ()))


def test_a_missing_exception_is_a_difference() -> None:
    raised = record_exception(RuntimeError("x"))
    assert differences(Outcome(None, raised, ()), Outcome(None, None, ()))


def test_the_libraries_own_exceptions_count_by_their_bases() -> None:
    own = type("GraphError", (ValueError,), {"__module__": "retrograd.errors"})
    assert record_exception(own("x")).types[0] == "ValueError"


def test_attempted_calls_are_compared_by_phrase() -> None:
    def fail(message: str) -> None:
        raise RuntimeError(message)

    oracle, ours = (attempt("key phrase", fail, message) for message in ("a key phrase", "other words"))
    assert isinstance(oracle, Raised)
    assert "does not match" in differences(Outcome(oracle, None, ()), Outcome(ours, None, ()))[0]


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Outcome(None, None, ()), Expectation(phrase="missing")),
        (Outcome(None, record_exception(ValueError("other")), ()), Expectation(phrase="missing")),
        (Outcome(None, record_exception(ValueError("surprise")), ()), Expectation()),
        (Outcome(None, None, ()), Expectation(warns="missing")),
        (Outcome(None, None, (Warned("UserWarning", "surprise"),)), Expectation()),
    ],
)
def test_broken_promises_are_found(outcome: Outcome, expected: Expectation) -> None:
    assert list(broken_promises(outcome, expected))


def test_kept_promises_are_accepted() -> None:
    outcome = Outcome(None, record_exception(ValueError("a phrase")), (Warned("UserWarning", "old name"),))
    assert not list(broken_promises(outcome, Expectation(phrase="phrase", warns="old")))


def test_what_cannot_be_compared_is_refused() -> None:
    assert observe(lambda torch: object(), library()).raised is not None
