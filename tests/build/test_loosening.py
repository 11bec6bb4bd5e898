"""Functions that users call are compiled to take what the interpreted ones take."""

from __future__ import annotations

import ast

import pytest

pytest.importorskip("mypyc", reason="mypy is only there where the package is developed")

from tools.compiling.census import Census
from tools.compiling.declarations import declared
from tools.compiling.loosen import IMPORTS, loosened
from tools.compiling.modules import PACKAGE, SOURCE, compiled_files
from tools.compiling.public import called_by_users
from tools.compiling.rewriting import Tally, exactly

FUTURE = "from __future__ import annotations\n\n"


def loose(text: str, *names: str) -> str:
    tally = Tally()
    made = loosened(FUTURE + text, set(names), tally)
    tally.check({IMPORTS: exactly(1)})
    assert made.count("\n") == (FUTURE + text).count("\n")
    ast.parse(made)
    return made.split("\n", 2)[2]


def test_functions_that_users_call_take_anything():
    text = "def f(x: Any, s: str, *, t: Tensor | None = None) -> int: ...\ndef g(s: str) -> int: ...\n"
    made = loose(text, "f")
    assert "def f(x: Any, s: Any, *, t: Any = None) -> int: ...\n" in made
    assert "def g(s: str) -> int: ...\n" in made


def test_numbers_are_taken_as_pythons():
    text = 'def f(n: int, k: bool = True, p: float | None = None, *, s: str) -> int:\n    """Says."""\n    return n\n'
    assert '    """Says."""; n = as_int(n); k = as_bool(k); p = as_float(p)\n    return n\n' in loose(
        text, "f"
    )


@pytest.mark.parametrize(
    ("body", "begins"),
    [
        ("    return n\n", "    n = as_int(n); return n\n"),
        ("    if n:\n        pass\n", "    if [n := as_int(n)] and (n):\n        pass\n"),
        (
            "    if (\n        n\n        or 1\n    ):\n        pass\n",
            "        [n := as_int(n)] and (n\n        or 1)\n",
        ),
        (
            '    """A\n    docstring.\n    """\n    for _ in range(n):\n        pass\n',
            '    """; n = as_int(n)\n    for',
        ),
    ],
)
def test_that_happens_before_anything_else(body, begins):
    assert begins in loose(f"def f(n: int) -> int:\n{body}", "f")


def test_a_function_that_looks_itself_gets_what_was_passed():
    text = 'def f(n: int) -> int:\n    """Says."""\n    if not isinstance(n, int):\n        raise TypeError\n'
    assert loose(text, "f") == text.replace("n: int", "n: Any")


def test_where_nothing_can_be_put_first_the_build_stops():
    with pytest.raises(RuntimeError, match="line 3: f takes numbers from users, so it needs a docstring"):
        loose("def f(n: int) -> int:\n    for _ in range(n):\n        pass\n", "f")


def test_methods_are_loosened_by_their_classes():
    text = "class %s:\n    def f(self, s: str) -> int: ...\n    @p.setter\n    def p(self, s: str) -> None: ...\n"
    both = text % "A" + text % "B"
    assert loose(both, "A.f", "A.p") == text.replace("s: str) -> int", "s: Any) -> int") % "A" + text % "B"


def test_a_module_without_the_usual_first_line_stops_the_build():
    tally = Tally()
    loosened("def f(s: str) -> int: ...\n", {"f"}, tally)
    with pytest.raises(
        RuntimeError, match="imports of what loose parameters need: 0 times, expected 1 times"
    ):
        tally.check({IMPORTS: exactly(1)})


# ---- who is public --------------------------------------------------------------------------------------------------


def module(path):
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def test_the_public_functions_are_those_that_the_package_offers():
    texts = {
        "retrograd": "from retrograd import sub\nfrom retrograd.ops.a import f as g\n__all__ = ['g', 'sub']\n",
        "retrograd.sub": "from retrograd.ops.again import C\n",
        "retrograd.ops.again": "from retrograd.ops.a import C\n",
        "retrograd.ops.a": "def f(): ...\ndef not_offered(): ...\nclass Base:\n    def n(self): ...\n"
        "class C(Base):\n    def m(self): ...\n    def _p(self): ...\n",
        "retrograd.ops.b": "def h(): ...\ndef i(): ...\ndef j(): ...\npublic('h')(h)\npublic_property('Tensor.k')(i)\n",
    }
    texts["retrograd.sub"] += "__all__ = ['C']\n"
    compiled = {name: text for name, text in texts.items() if name in ("retrograd.ops.a", "retrograd.ops.b")}
    found = called_by_users({name: ast.parse(text) for name, text in texts.items()}, Census(compiled))
    assert found == {"retrograd.ops.a": {"f", "C.m", "Base.n"}, "retrograd.ops.b": {"h", "i"}}


def test_everything_that_a_user_reaches_is_found():
    trees = {module(path): ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")}
    compiled = Census({module(path): declared(path.read_text(encoding="utf-8")) for path in compiled_files()})
    found = called_by_users(trees, compiled)
    functions = {name for names in found.values() for name in names}
    assert {"backward", "grad", "softmax", "gradcheck", "jacobian", "make_dual", "one_hot"} <= functions
    assert {"Tensor.backward", "Tensor.size", "Tensor.__array__", "Generator.manual_seed"} <= functions | {
        f"Tensor.{name.partition('.')[2]}" for name in functions if name.startswith("Tensor")
    }
    assert not {name for name in functions if name.startswith(("Node.", "Mul."))}
