"""The calls that PyTorch's own tests expect each operation to refuse: ours refuses them too, in the same words."""

from __future__ import annotations

import re
import warnings

import pytest

pytest.importorskip("torch", reason="PyTorch has the table of calls: pip install torch==2.13.0")

from tests.fuzz.opinfo import NoCounterpart, counterpart, mapped, operations, ours, title

ROWS = {title(row): row for row in operations() if row.error_inputs_func is not None}
OVERLAP = "computes first and writes then (docs/differences.md)"
OUT_DTYPE = "out= takes any dtype that the result can be cast to (docs/differences.md)"
LENIENT = "PyTorch takes the call, too"
NOTHING = "no error"
WHY_NOT = {
    "kthvalue": OVERLAP, "masked_select": OVERLAP, "gather": OVERLAP, "take": OVERLAP, "cat": OVERLAP,
    "complex": OUT_DTYPE, "aminmax": OUT_DTYPE,
    "clamp_max": LENIENT, "clamp_min": LENIENT,
}  # fmt: skip
# Operators called as functions of a number, which Python never does.
REFUSED = [name for name in ROWS if not re.match("__r[a-z]+__", name)]


def outcome(row, case):
    """What our operation says to a call, or None if that call cannot be made here."""
    sample = case.sample_input
    try:
        args, named = mapped((sample.input, *sample.args), ours), mapped(dict(sample.kwargs), ours)
    except NoCounterpart:
        return None
    try:
        counterpart(row.op, row.name)(*args, **named)
    except case.error_type as error:
        return str(error)
    except Exception as error:
        return f"a {type(error).__name__} instead of a {case.error_type.__name__}: {error}"
    return NOTHING


@pytest.mark.parametrize("name", REFUSED)
def test_what_pytorch_refuses_is_refused_in_its_words(name):
    row = ROWS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = list(row.error_inputs("cpu"))
        said = [(case, outcome(row, case)) for case in cases]
    wrong = [
        f"{case.error_regex!r} is not in {text!r}"
        for case, text in said
        if text is not None and not (text == NOTHING and name in WHY_NOT)
        if text == NOTHING or not re.search(case.error_regex or "", text)
    ]
    assert not wrong, "\n".join(wrong)
