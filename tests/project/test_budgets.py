"""No file and no function is longer than its limit, unless the reason is written down."""

from __future__ import annotations

import ast

from . import budgets


def too_long(lengths, exceptions):
    return [
        f"{length.name} has {length.lines} lines; the limit is {exceptions.get(length.name, (length.limit,))[0]}"
        for length in lengths
        if length.lines > exceptions.get(length.name, (length.limit,))[0]
    ]


def test_nothing_is_longer_than_its_limit():
    wrong = too_long(budgets.lengths(), budgets.EXCEPTIONS)
    assert not wrong, "\n".join(wrong)


def test_every_exception_is_needed_and_explained():
    lengths = {length.name: length for length in budgets.lengths()}
    for name, (_, reason) in budgets.EXCEPTIONS.items():
        assert reason
        assert name in lengths, f"{name} is gone: remove its exception"
        assert lengths[name].lines > lengths[name].limit, f"{name} fits its limit: remove its exception"


# ---- the check itself ---------------------------------------------------------------------------------------------

SOURCE = '''
class A:
    def f(self):
        """One.

        Two.
        """
        x = 1
        return x

    async def g(self):
        def inner():
            pass
        return inner
'''


def test_a_function_is_measured_without_its_docstring():
    found = {length.name: length.lines for length in budgets.function_lengths("a.py", ast.parse(SOURCE))}
    assert found == {"a.py:A.f": 3, "a.py:A.g": 4, "a.py:A.g.inner": 2}


def test_what_is_too_long_is_named_unless_excepted():
    long = budgets.Length("a.py:f", 61, 40, 60)
    assert too_long([long], {}) == ["a.py:f has 61 lines; the limit is 60"]
    assert too_long([long], {"a.py:f": (70, "a table")}) == []
    assert too_long([long._replace(lines=60)], {}) == []
