"""The steps between Python and a library: corrections to C, descriptions, what a file depends on, who may fail."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("mypyc", reason="mypy is only there where the package is developed")
pytest.importorskip("setuptools", reason="only a build needs setuptools")

import mypyc
from mypyc.namegen import NameGenerator
from tools.compiling import command, judging, runtime
from tools.compiling.declarations import declared
from tools.compiling.describe import Descriptions
from tools.compiling.flags import compiler_kind, python_flags
from tools.compiling.loading import CLASSES, IMPORTS, METHODS, TRACEBACKS, Loading
from tools.compiling.modules import SOURCE as SOURCES
from tools.compiling.modules import compiled_files, loaded_at_once
from tools.compiling.objects import Objects
from tools.compiling.repair import DEALLOCATORS, SETTERS, SLOTS, repair
from tools.compiling.rewriting import Rewriting, Tally, at_least, exactly
from tools.compiling.stable import Header, name_literals

# ---- rewritings ---------------------------------------------------------------------------------------------------

DIGITS = Rewriting("digits", re.compile(r"\d"), "n")


def test_a_rewriting_is_counted():
    tally = Tally()
    assert DIGITS.apply("a1b2", tally) == "anbn"
    assert DIGITS.apply("3", tally, lambda found: None) == "3"
    tally.check({DIGITS: exactly(2)})
    tally.check({DIGITS: at_least(1)})


@pytest.mark.parametrize(
    ("expected", "complaint"),
    [
        ({DIGITS: exactly(1)}, "digits: 2 times, expected 1 times"),
        ({DIGITS: at_least(3)}, "digits: 2 times, expected at least 3 times"),
        ({}, "digits: 2 times, expected nothing of the kind"),
        ({DIGITS: exactly(2), SLOTS: exactly(0)}, "weak references .*: never tried"),
    ],
)
def test_a_rewriting_that_happens_otherwise_than_expected_stops_the_build(expected, complaint):
    tally = Tally()
    DIGITS.apply("a1b2", tally)
    with pytest.raises(RuntimeError, match=complaint):
        tally.check(expected)


# ---- corrections --------------------------------------------------------------------------------------------------

DEALLOC = """\
static void
node___Node_dealloc(NodeObject *self)
{
    PyObject_GC_UnTrack(self);
    CPy_TRASHCAN_BEGIN(self, node___Node_dealloc)
    CPyDef_node___Node_clear((PyObject *)self);
    Py_TYPE(self)->tp_free((PyObject *)self);
    CPy_TRASHCAN_END(self)
    done: ;
}
"""


def test_weak_references_are_not_owned_and_are_told():
    slot = "*((PyObject **)((char *)self + sizeof(PyObject *) + sizeof(NodeObject)))"
    text = f"    Py_VISIT(self->_x);\n    Py_VISIT({slot});\n    Py_CLEAR({slot});\n    Py_CLEAR(self->_x);\n{DEALLOC}"
    tally = Tally()
    repaired = repair(text, tally)
    assert repaired.startswith("    Py_VISIT(self->_x);\n    Py_CLEAR(self->_x);\n")
    assert (tally.counts[SLOTS], tally.counts[DEALLOCATORS]) == (2, 1)
    assert repaired.index("UnTrack") < repaired.index("PyObject_ClearWeakRefs") < repaired.index("Node_clear")


SETTER = """\
static int
tensor___Tensor_set_data(TensorObject *self, PyObject *value, void *closure)
{
    char retval = 2;
    retval = CPyDef_tensor___Tensor_____mypyc_setter__data((PyObject *) self, value);
"""


def test_a_property_that_is_deleted_has_no_value_to_set():
    tally = Tally()
    repaired = repair(SETTER, tally)
    assert tally.counts[SETTERS] == 1
    assert repaired.index("value == NULL") < repaired.index("char retval = 2;")
    assert "property 'data' has no deleter" in repaired


def test_an_object_lets_go_of_its_class():
    repaired = repair(DEALLOC, Tally())
    assert repaired.index("type->tp_free((PyObject *)self);") < repaired.index("Py_DECREF(type);")


def test_an_object_waits_where_python_would_let_it_recurse():
    repaired = repair(DEALLOC, Tally())
    assert "TRASHCAN" not in repaired
    steps = ["BEGIN_END(self, node___Node_dealloc)", "Node_clear", "tp_free", "END_END\n"]
    assert [repaired.count(step) for step in steps] == [1, 1, 1, 1]
    assert sorted(steps, key=repaired.index) == steps
    # Weak references are told before: an object that waits is nobody's any more.
    assert repaired.index("PyObject_ClearWeakRefs") < repaired.index(steps[0])


NEW = """\
node___Node_new(PyTypeObject *type, PyObject *args, PyObject *kwds)
{
    PyObject *self = setup((PyObject*)type);
%s    return self;
}
"""
INIT = """\
node___Node_init(PyObject *self, PyObject *args, PyObject *kwds)
{
    return 0;
}
"""


def test_init_is_called_once():
    called = NEW % "    PyObject *ret = CPyPy_node___Node_____init__(self, args, kwds);\n"
    assert repair(called + INIT, Tally()) == called + INIT
    repaired = repair(NEW % "" + INIT, Tally())
    assert repaired.count("CPyPy_node___Node_____init__(self, args, kwds)") == 1


def test_the_slot_of_attributes_stays_owned():
    text = "    Py_CLEAR(*((PyObject **)((char *)self + sizeof(NodeObject))));\n"
    assert repair(text, Tally()) == text


@pytest.mark.parametrize(
    "line", ["PyObject_GC_UnTrack(self);", "CPy_TRASHCAN_BEGIN(self, node___Node_dealloc)"]
)
def test_a_deallocator_of_another_form_is_an_error(line):
    with pytest.raises(RuntimeError, match="deallocators differently"):
        repair(DEALLOC.replace(line, "other();"), Tally())


# ---- what runs when a module is loaded ----------------------------------------------------------------------------

FAILED = """\
    if (unlikely(%s)) {
        CPy_AddTraceback("ops/a.py", "<module>", 3, CPyStatic_a___globals);
        goto CPyL9;
    }
"""
IMPORT = f"""\
    cpy_r_r0 = (void *)&CPyModule_ops___b;
    cpy_r_r1 = (void *)&CPyImportState_ops___b;
    cpy_r_r2 = CPyModuleLockAPI_ops;
    cpy_r_r3 = CPyImport_IsInitialized(cpy_r_r1);
    if (!cpy_r_r3) goto CPyL1;
    cpy_r_r4 = PyImport_GetModuleDict();
    cpy_r_r5 = CPyStatics[1]; /* 'ops.b' */
    cpy_r_r6 = CPyDict_GetItem(cpy_r_r4, cpy_r_r5);
{FAILED % "cpy_r_r6 == NULL"}    cpy_r_r7 = cpy_r_r6;
    goto CPyL2;
CPyL1: ;
    cpy_r_r8 = CPyInitOnly_ops___b;
    cpy_r_r9 = CPyExec_ops___b;
    cpy_r_r10 = (PyObject **)&CPyModule_ops___b__internal;
    cpy_r_r11 = PyImport_GetModuleDict();
    cpy_r_r12 = CPyStatics[2]; /* 'ops__mypyc' */
    cpy_r_r13 = CPyDict_GetItem(cpy_r_r11, cpy_r_r12);
{FAILED % "cpy_r_r13 == NULL"}    cpy_r_r14 = CPyStatics[3]; /* '__file__' */
    cpy_r_r15 = CPyObject_GetAttr(cpy_r_r13, cpy_r_r14);
    CPy_DECREF(cpy_r_r13);
{FAILED % "cpy_r_r15 == NULL"}    cpy_r_r16 = CPyStatics[4]; /* '{sysconfig.get_config_var("EXT_SUFFIX")}' */
    cpy_r_r17 = CPyStatics[1]; /* 'ops.b' */
    cpy_r_r18 = CPyImport_ImportNative(cpy_r_r17, cpy_r_r8, 0);
    CPy_DECREF(cpy_r_r15);
{FAILED % "cpy_r_r18 == NULL"}    cpy_r_r7 = cpy_r_r18;
CPyL2: ;
"""
CLASS = f"""\
    cpy_r_r20 = (PyObject *)CPyType_b___Base;
    cpy_r_r21 = PyTuple_Pack(1, cpy_r_r20);
{FAILED % "cpy_r_r21 == NULL"}    cpy_r_r22 = CPyStatics[5]; /* 'ops.a' */
    cpy_r_r23 = (PyObject *)CPyType_a___Sin_template;
    cpy_r_r24 = CPyType_FromTemplate(cpy_r_r23, cpy_r_r21, cpy_r_r22);
    CPy_DECREF(cpy_r_r21);
{FAILED % "cpy_r_r24 == NULL"}    cpy_r_r25 = CPyDef_a___Sin_trait_vtable_setup();
{FAILED % "cpy_r_r25 == 2"}    cpy_r_r26 = CPyDef_a___Sin_coroutine_setup(cpy_r_r24);
{FAILED % "cpy_r_r26 == 2"}    cpy_r_r27 = CPyStatics[6]; /* '__mypyc_attrs__' */
    cpy_r_r28 = CPyStatics[17]; /* 'x' */
    cpy_r_r29 = CPyStatics[11]; /* 'version' */
    cpy_r_r30 = PyTuple_Pack(2, cpy_r_r28, cpy_r_r29);
{FAILED % "cpy_r_r30 == NULL"}    cpy_r_r31 = PyObject_SetAttr(cpy_r_r24, cpy_r_r27, cpy_r_r30);
    CPy_DECREF(cpy_r_r30);
    cpy_r_r32 = cpy_r_r31 >= 0;
{FAILED % "!cpy_r_r32"}    CPyType_a___Sin = (PyTypeObject *)cpy_r_r24;
    CPy_INCREF(CPyType_a___Sin);
    cpy_r_r33 = CPyStatic_a___globals;
    cpy_r_r34 = CPyStatics[7]; /* 'Sin' */
    cpy_r_r35 = PyDict_SetItem(cpy_r_r33, cpy_r_r34, cpy_r_r24);
    cpy_r_r36 = cpy_r_r35 >= 0;
{FAILED % "!cpy_r_r36"}"""


def table_of(name: str, *methods: str) -> str:
    lines = "".join(f"        (CPyVTableItem)CPyDef_{method},\n" for method in methods)
    return f"""\
static CPyVTableItem {name}_vtable[{len(methods)}];
static bool
CPyDef_{name}_trait_vtable_setup(void)
{{
    CPyVTableItem {name}_vtable_scratch[] = {{
{lines}    }};
    memcpy({name}_vtable, {name}_vtable_scratch, sizeof({name}_vtable));
    return 1;
}}
"""


INCLUDED = '#include "loading.h"\n'


def shortened(text: str, others: str = "") -> tuple[str, Loading]:
    """A file of the module `ops.a`, and what was collected."""
    loading = Loading({"ops.a": INCLUDED + text, "ops.b": others}, Tally())
    return loading.shortened("ops.a", INCLUDED + text), loading


def test_an_import_of_a_compiled_module_is_a_call_that_can_fail_once():
    text, loading = shortened(IMPORT)
    assert loading.tally.counts[IMPORTS] == 1
    assert "cpy_r_r18 = load_ops___b();" in text
    assert text.count("goto CPyL9;") == 1
    assert "CPyImport_ImportNative" not in text
    assert "PyObject *load_ops___a(void) {" in text  # and others can import this one


def test_a_class_statement_is_a_call_and_its_attributes_are_numbers(tmp_path):
    text, loading = shortened(CLASS)
    assert loading.tally.counts[CLASSES] == 1
    assert "CPyType_FromTemplate" not in text
    assert text.index("CPyStatics[7]; /* 'Sin' */") < text.index("cpy_r_r24 = make_class(")
    assert text.index("make_class(") < text.index("CPy_DECREF(cpy_r_r21)")
    loading.finish(tmp_path / "table.c")
    assert "const int attributes_a___Sin[] = {17, 11, -1};\n" in (tmp_path / "table.c").read_text()


def test_a_table_of_methods_is_copied_from_the_base_and_changed_where_it_differs():
    base = table_of("b___Base", "b___Base___f", "b___Base___g")
    own = table_of("a___Sin", "b___Base___f", "a___Sin___g", "a___Sin___h")
    text, loading = shortened(CLASS + own, base)
    assert loading.tally.counts[METHODS] == 1
    assert "memcpy(a___Sin_vtable, b___Base_vtable, 2 * sizeof *a___Sin_vtable);" in text
    assert "a___Sin_vtable[0]" not in text
    assert "a___Sin_vtable[1] = (CPyVTableItem)CPyDef_a___Sin___g;" in text
    assert "a___Sin_vtable[2] = (CPyVTableItem)CPyDef_a___Sin___h;" in text


def test_a_traceback_is_told_the_file_by_the_module():
    text, loading = shortened(FAILED % "cpy_r_r0 == NULL")
    assert loading.tally.counts[TRACEBACKS] == 1
    assert 'CPy_AddTraceback("ops/a.py", function, line, CPyStatic_a___globals);' in text
    assert text.index("static COLD void trace_ops___a") < text.index("#define CPy_AddTraceback(")
    other = (FAILED % "cpy_r_r0 == NULL").replace("a.py", "b.py")
    with pytest.raises(RuntimeError, match="more than one file"):
        shortened(FAILED % "cpy_r_r0 == NULL" + other)


# ---- descriptions -------------------------------------------------------------------------------------------------

SOURCE = '''
"""A module."""

def scale(x, by=1 / 8, *, out=None, **more):
    """Scales."""

def scaled(by):
    def method(self, *args):
        pass
    return method

class Box:
    """Holds."""

    def __init__(self, size=(1, 2)):
        pass

    @property
    def size(self):
        """How large."""

    @property
    def place(self):
        """Where."""

    @place.setter
    def place(self, value):
        pass

class Pair(NamedTuple):
    """Two."""
'''
GENERATED = r"""
    {"scale", (PyCFunction)CPyPy_scale, METH_FASTCALL | METH_KEYWORDS, PyDoc_STR(NULL) /* docstring */},
    {"scaled", (PyCFunction)CPyPy_scaled, METH_FASTCALL | METH_KEYWORDS, PyDoc_STR(NULL) /* docstring */},
    {"__init__",
     (PyCFunction)CPyPy_Box_____init__,
     METH_FASTCALL | METH_KEYWORDS, PyDoc_STR("__init__($self, size, /)\n--\n\n")},
    {"size",
     (getter)Box_get_size,
    NULL, NULL, NULL},
    {"place",
     (getter)Box_get_place,
     (setter)Box_set_place,
    NULL, NULL},
static PyTypeObject CPyType_Box_template_ = {
    .tp_doc = PyDoc_STR("Box(...)\n--\n\n"),
};
static PyGetSetDef method_scaled_obj_getseters[] = {
    {NULL}  /* Sentinel */
};
    cpy_r_r289 = CPyStatics[357]; /* 'mypyc filler docstring' */
    NULL, /* docstring */
"""


def test_docstrings_and_signatures_come_from_the_source():
    tally = Tally()
    descriptions = Descriptions("m", SOURCE, NameGenerator([["m"]]))
    text = descriptions.put_into(GENERATED, tally)
    assert r'"scale(x, by=0.125, *, out=None, **more)\n--\n\nScales."' in text
    assert r'"__init__($self, size=(1, 2))\n--\n\n"' in text
    assert r'"Box(size=(1, 2))\n--\n\nHolds."' in text
    assert 'PyDoc_STR("How large."), NULL}' in text
    assert 'PyDoc_STR("Where."), NULL}' in text
    assert 'return PyUnicode_InternFromString("(self, *args)");' in text
    assert '{"__text_signature__", method_scaled_obj_signature, NULL, NULL, NULL},' in text
    assert 'cpy_r_r289 = PyUnicode_InternFromString("Two.");' in text
    assert '    PyDoc_STR("A module."),\n' in text
    tally.check({rewriting: exactly(count) for rewriting, count in descriptions.expected().items()})


def test_public_functions_look_whether_they_have_failed():
    tally, names = Tally(), NameGenerator([["m"]])
    source = "def f(x): ...\ndef g(x): ...\npublic('f')(f)\npublic('Error')(Error)\n"
    arguments = "PyObject *self, PyObject *const *args, size_t nargs, PyObject *kwnames"
    text = "".join(f"        PyObject *CPyPy_{name}({arguments}) {{\n        }}\n" for name in ("f", "g"))
    found = judging.judge("m", source, names, text, tally)
    assert f"static PyObject *unjudged_f({arguments}) {{\n        }}\n" in found
    assert 'tell_types_first(self, "f", args, nargs, kwnames)' in found
    assert "unjudged_g" not in found
    tally.check({judging.WRAPPERS: exactly(judging.count("m", source, names))})


def test_declarations_are_made_at_the_end():
    text = (
        "import a\n\n@public(\n    'f', method=True\n)\n@public_property('Tensor.g')\n@cache\ndef f(): ...\n"
    )
    wanted = "import a\n\n\n\n\n\n@cache\ndef f(): ...\n"
    assert declared(text) == f"{wanted}public_property('Tensor.g')(f)\npublic('f', method=True)(f)\n"


def test_variants_become_classes():
    text = "A = variant(\n    B, 'N', 'does', x=1\n)\nC = 1\n"
    assert declared(text) == "class A(B): 'does'; node_name = 'N'; same_as = B; x = 1\n\n\nC = 1\n"


# ---- mypyc's run-time library ---------------------------------------------------------------------------------------


def test_the_runtime_library_is_changed_as_often_as_it_says():
    library = Path(mypyc.__file__).parent / "lib-rt"
    tally = Tally()
    texts = {
        name: runtime.changed(name, (library / name).read_text(encoding="utf-8"), tally)
        for name in runtime.FILES
    }
    tally.check(runtime.expected())
    for name in ("getargs.c", "getargsfast.c"):
        assert "got an unexpected keyword argument" in texts[name]
        assert "invalid keyword" not in texts[name]
    assert "PyCode_NewEmpty(source_of(globals, filename), funcname, line)" in texts["exc_ops.c"]
    assert 'PyUnicode_InternFromString(".py")' in texts["misc_ops.c"]
    # Whoever ends the process for want of memory has asked twice before.
    ends = texts["int_ops.c"].split("CPyError_OutOfMemory();")[:-1]
    asked_twice = [text for text in ends if "PyErr_Clear();" in text[-300:]]
    assert len(asked_twice) == len(ends) - 2  # the two that compare ints, which takes no memory


# ---- objects --------------------------------------------------------------------------------------------------------


def test_a_file_depends_on_the_declarations_it_mentions(tmp_path):
    header = tmp_path / "a.h"
    header.write_text(
        "typedef struct {\n    Pair p;\n} Box;\ntypedef struct { int f; } Pair;\n"
        "int other(void);\nextern int CPyStatics[3];\n"
    )
    seen = Header([header]).seen_by("Box *b = CPyStatics[1];")
    assert "Pair p;" in seen
    assert "int f;" in seen
    assert "other" not in seen
    assert "CPyStatics" not in seen


def test_literals_have_names_that_do_not_depend_on_their_number(tmp_path):
    texts = []
    for number in (1, 2):
        file, table = tmp_path / "m.c", tmp_path / "table.c"
        file.write_text(f"#include \"__native_internal_m.h\"\nx = CPyStatics[{number}]; /* 'a' */\n")
        table.write_text("")
        name_literals([file], table)
        texts.append(file.read_text())
        assert f"CPyStatics + 8 * {number}" in table.read_text()
    assert texts[0] == texts[1]
    assert "CPyStatics" not in texts[0]


@pytest.mark.parametrize(
    ("said", "kind"),
    [("gcc (Debian 12) 12\nFree Software Foundation, Inc.", "gcc"), ("Apple clang version 16", "unix")],
)
def test_gcc_is_told_from_others_that_take_its_options(tmp_path, said, kind):
    program = tmp_path / "cc"
    program.write_text(f"#!/bin/sh\ncat <<END\n{said}\nEND\n")
    program.chmod(0o755)
    assert compiler_kind(SimpleNamespace(compiler_type="unix", compiler_so=[str(program)])) == kind
    assert compiler_kind(SimpleNamespace(compiler_type="msvc")) == "msvc"


class Compiler:
    """Counts what it compiles."""

    obj_extension = ".o"

    def __init__(self) -> None:
        self.compiled: list[str] = []

    def compile(self, sources: list[str], folder: str, **how: Any) -> list[str]:
        self.compiled += [Path(source).name for source in sources]
        Path(folder).mkdir()
        made = Path(folder, "made.o")
        made.write_text("object")
        return [str(made)]


def test_only_what_changed_is_compiled(tmp_path):
    first, second = tmp_path / "a.c", tmp_path / "b.c"
    first.write_text("1")
    second.write_text("2")
    compiler = Compiler()
    objects = Objects(compiler, tmp_path / "store")

    def build(flags: list[str], header: str) -> list[str]:
        compiler.compiled.clear()
        made = objects.of([first, second], [], lambda _: flags, lambda _: header)
        assert all(Path(path).exists() for path in made)
        return sorted(compiler.compiled)

    assert build([], "") == ["a.c", "b.c"]
    assert build([], "") == []
    second.write_text("3")
    assert build([], "") == ["b.c"]
    assert build(["-O3"], "") == ["a.c", "b.c"]
    assert build(["-O3"], "int x;") == ["a.c", "b.c"]
    assert build([], "") == []


def test_code_of_modules_that_are_loaded_on_demand_is_small():
    def flags(module: str, kind: str = "gcc") -> list[str]:
        return python_flags(kind, Path(f"__native_{module.replace('.', '___')}.c"))

    modules = [".".join(path.relative_to(SOURCES).with_suffix("").parts) for path in compiled_files()]
    rare = [
        module for module in modules if module.startswith("retrograd.ops.") and module not in loaded_at_once()
    ]
    for module in ("retrograd.ops.operators", "retrograd.autograd.backward"):
        assert {"-O2", "-fno-gcse"} <= set(flags(module))
    for module in ("retrograd.core.tensor", "retrograd.engine.task"):  # which every operation passes through
        assert "-O2" in flags(module)
        assert "-fno-gcse" not in flags(module)
    library = python_flags("gcc", Path("getargs.c"))
    assert "-O2" in library
    assert "-fno-gcse" not in library
    for module in rare:
        assert {"-Os", "-fno-gcse"} <= set(flags(module))
        assert "-fno-gcse" not in flags(module, "unix")
        assert "/O1" in flags(module, "msvc")


@pytest.mark.parametrize(
    ("asked", "words", "compiler", "compiles"),
    [
        ("", ["bdist_wheel"], True, True),
        ("", ["bdist_wheel"], False, False),
        ("", ["editable_wheel"], True, False),
        ("1", ["bdist_wheel"], True, False),
        ("0", ["editable_wheel"], True, True),
        ("0", ["bdist_wheel"], False, True),
    ],
)
def test_when_a_build_compiles(monkeypatch, asked, words, compiler, compiles):
    monkeypatch.setattr(command, "_ASKED", asked)
    monkeypatch.setattr(command, "_can_compile", lambda: compiler)
    monkeypatch.setattr("sys.argv", ["setup.py", *words])
    assert bool(command.what_to_build()) == compiles


def a_build(monkeypatch: Any, asked: str, python: Any, native: Any) -> Any:
    from setuptools import Distribution

    monkeypatch.setattr(command, "_ASKED", asked)
    monkeypatch.setattr(command.Compile, "_python", python)
    monkeypatch.setattr(command.Compile, "_native", native)
    build = command.Compile(Distribution())
    build.build_extensions()
    return build


def fails(self: Any) -> Path:
    raise SystemExit(1)


def works(self: Any) -> Path:
    return Path("made.so")


@pytest.mark.parametrize("asked", ["", "0"])
@pytest.mark.parametrize(
    ("python", "native", "said"),
    [
        (fails, works, "the Python modules were not compiled"),
        (works, fails, "the native kernel pack was not built"),
    ],
)
def test_a_part_that_fails_ends_the_build(monkeypatch, asked, python, native, said):
    with pytest.raises(RuntimeError, match=f"{said} .SystemExit: 1.. .*RETROGRAD_PURE=1"):
        a_build(monkeypatch, asked, python, native)
