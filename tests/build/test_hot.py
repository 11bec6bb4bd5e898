"""What every operation passes through is marked, so that it lies side by side in the library."""

from __future__ import annotations

from tools.compiling import hot
from tools.compiling.modules import SOURCE, compiled_files
from tools.compiling.rewriting import Tally

TEXT = """#include "all.h"
PyObject *CPyDef_apply___apply1(PyObject *cpy_r_op, PyObject *cpy_r_input) {
    return CPyDef_link___link1(cpy_r_op);
}
static char CPyDef_apply_____top_level__(void) {
PyObject *CPyPy_apply___apply1(PyObject *self) {
PyObject *CPyDef_apply___apply2(PyObject *cpy_r_op);
"""


def test_the_modules_are_compiled() -> None:
    compiled = {
        ".".join(path.relative_to(SOURCE / "retrograd").with_suffix("").parts) for path in compiled_files()
    }
    assert compiled >= hot.MODULES


def test_functions_are_marked_where_they_are_defined() -> None:
    tally = Tally()
    found = hot.marked("retrograd.core.apply", TEXT, tally)
    assert tally.counts[hot.FUNCTIONS] == 1
    assert "\nRETROGRAD_HOT PyObject *CPyDef_apply___apply1(PyObject *cpy_r_op, " in found
    assert found.count("RETROGRAD_HOT ") == 1 + hot.MARK.count("RETROGRAD_HOT ")


def test_other_modules_stay_as_they_are() -> None:
    tally = Tally()
    assert hot.marked("retrograd.ops.shape.join", TEXT, tally) == TEXT
    assert not tally.counts
