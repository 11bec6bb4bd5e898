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


def loose(text: str, *names: str, **others: str) -> str:
    """A module of this text whose public functions are `names`, beside `others`."""
    tally = Tally()
    census = Census({"m": FUTURE + text, **others})
    made = loosened("m", census, {"m": set(names)}, FUTURE + text, tally)
    tally.check({IMPORTS: exactly(1)})
    assert made.count("\n") == (FUTURE + text).count("\n")
    ast.parse(made)
    return made.split("\n", 2)[2]


def test_functions_that_users_call_take_anything():
    text = "def f(x: Any, s: str, *, n: int | None = None) -> int: ...\ndef g(s: str) -> int: ...\n"
    made = loose(text, "f")
    assert made == text.replace("s: str, *, n: int | None", "s: Any, *, n: Any")


INNER = """
def inner(n: int, x: Any = None, *, k: bool = True, p: float | None = None) -> int: ...
"""


@pytest.mark.parametrize(
    ("call", "handed_on"),
    [
        ("inner(n)", "inner(as_int(n))"),
        ("inner(1, n)", "inner(1, n)"),  # where anything is taken
        ("inner(x, k=k, p=p)", "inner(as_int(x), k=as_bool(k), p=as_float(p))"),
        ("inner(n + 1, k=n > 1)", "inner(as_int(as_int(n) + 1), k=as_bool(n > 1))"),
        ("inner(0 if k else n)", "inner(as_int(0 if k else n))"),
        ("inner(0 if k else 1)", "inner(0 if k else 1)"),
        ("inner(inner(n))", "inner(inner(as_int(n)))"),
        ("inner(len(x), k=x.k)", "inner(len(x), k=x.k)"),  # what is called and looked up has its own type
        ("inner(y)", "inner(as_int(y))"),
        ("inner(z)", "inner(z)"),
        ("x.size * n, x * p", "x.size * as_int(n), x * p"),
        ("inner(*x, n)", "inner(*x, n)"),
        ("other(n)", "other(n)"),
        ("Box(n)", "Box(as_int(n))"),
        ("Pair(x, k=k)", "Pair(x, k=as_bool(k))"),
        ("x(n, k or y)", "x(as_int(n), k or y)"),  # some function: as the argument was declared
        ("z(n, k or p, k)", "z(as_int(n), k or p, as_bool(k))"),
    ],
)
def test_numbers_that_are_handed_on_are_pythons(call, handed_on):
    text = "def f(x: Any, n: int, k: bool, p: float) -> int:\n    y = n * 2\n    z = 1\n    return %s\n"
    box = "from n import Base\nclass Box(Base): ...\nclass Pair(NamedTuple):\n    x: Any\n    k: bool\n"
    base = "class Base:\n    def __init__(self, n: int) -> None: ...\n"
    made = loose(box + INNER + text % call, "f", n=base)
    assert made.endswith(f"    return {handed_on}\n")


def test_public_functions_get_what_was_passed():
    text = "def f(n: int) -> int:\n    return inner(n)\n"
    assert loose(INNER + text, "f", "inner").endswith("    return inner(n)\n")


def test_fields_hold_pythons_numbers():
    text = (
        "class A:\n    def __init__(self, n: int, x: Any) -> None:\n        self.n = n\n        self.x = x\n"
    )
    assert loose(text, "A.__init__").endswith("        self.n = as_int(n)\n        self.x = x\n")


def test_a_variable_of_two_kinds_holds_pythons_number():
    text = "def f(n: int) -> int:\n    n = 1 if n is None else n\n    m = n if n else None\n"
    assert loose(text, "f").endswith(
        "    n = as_int(1 if n is None else n)\n    m = as_int(n if n else None)\n"
    )


def test_methods_are_loosened_by_their_classes():
    text = "class %s:\n    def f(self, s: str) -> int: ...\n    @p.setter\n    def p(self, s: str) -> None: ...\n"
    both = text % "A" + text % "B"
    assert loose(both, "A.f", "A.p") == text.replace("s: str) -> int", "s: Any) -> int") % "A" + text % "B"


def test_a_module_without_the_usual_first_line_stops_the_build():
    tally = Tally()
    text = "def f(s: str) -> int: ...\n"
    loosened("m", Census({"m": text}), {"m": {"f"}}, text, tally)
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
    assert {"backward", "grad", "softmax", "jacobian", "make_dual", "one_hot"} <= functions
    assert {"Tensor.backward", "Tensor.size", "Tensor.__array__", "Generator.manual_seed"} <= functions | {
        f"Tensor.{name.partition('.')[2]}" for name in functions if name.startswith("Tensor")
    }
    assert not {name for name in functions if name.startswith(("Node.", "Mul."))}
