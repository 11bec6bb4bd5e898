"""Changes to mypyc's run-time library, so that nobody can tell errors of compiled functions from those of others.

Wrong arguments are complained of in the words that C functions use, where Python says `f() got an unexpected keyword
argument 'x'`, and of one that is of a wrong type it is not said whose it is. The lines of a traceback name a file
relative to where the package was compiled, which nobody finds, and modules name a library of their own that does not
exist: both are to name the source that is installed.

Compiled code takes it for granted that an int can be made an object. Where there is no memory for one, the library
ends the process; it is to ask once more first, because by then others may have given memory back.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tools.compiling.rewriting import Rewriting, Tally, Times, exactly


def _message(name: str, pattern: str, instead: str) -> Rewriting:
    r"""A format in the C files, and what stands instead. `\\s*` is where the text is broken into lines."""
    return Rewriting(f"message: {name}", re.compile(pattern, re.DOTALL), instead)


_MESSAGES = {
    _message(
        "missing keyword",
        r'''missing required "\s*"keyword-only argument '%(\w)'"''',
        r'''missing 1 required " "keyword-only argument: '%\1'"''',
    ): exactly(2),
    _message(
        "missing argument",
        r"""missing required "\s*"argument '%(\w)' \(pos %d\)"(.*?),\s*i\+1\);""",
        r"""missing 1 required " "positional argument: '%\1'"\2);""",
    ): exactly(2),
    _message(
        "too many positional arguments",
        r'''takes %s %d positional argument%s("\s*"|) \(%zd given\)"''',
        r'''takes %s%d positional argument%s\1 but %zd were given"''',
    ): exactly(4),
    _message("how many", r'''\? "(at most|at least)" : "exactly"''', r'''? "\1 " : ""'''): exactly(4),
    _message(
        "too many arguments",
        r'''takes at most %d %sargument%s \(%zd given\)"''',
        r'''takes %d %sargument%s but %zd were given"''',
    ): exactly(2),
    _message("which kind", r'''"keyword " : ""''', r'''"keyword " : "positional "'''): exactly(2),
    _message(
        "given twice",
        r"""argument for %\.200s%s given by name \('%(\w)'\) "\s*"and position \(%d\)"(.*?),\s*i\+1\);""",
        r"""%.200s%s got multiple values " "for argument '%\1'"\2);""",
    ): exactly(2),
    _message(
        "unknown keyword",
        r""""'%(\w)' is an invalid keyword "\s*"argument for %\.200s%s",\s*(\w+),(.*?)\);\s*goto""",
        r""""%.200s%s got an unexpected keyword argument '%\1'",\3, \2); goto""",
    ): exactly(2),
}

_SOURCE = """\
// The file that a module says it is from, if it says so.
static const char *source_of(PyObject *globals, const char *otherwise) {
    PyObject *file = globals == NULL ? NULL : PyDict_GetItemString(globals, "__file__");
    const char *path = file != NULL && PyUnicode_Check(file) ? PyUnicode_AsUTF8(file) : NULL;
    PyErr_Clear();
    return path == NULL ? otherwise : path;
}

"""
_TRACEBACKS = {
    Rewriting(
        "the file in a traceback",
        re.compile(r"^(void CPy_AddTraceback\((?:.*\n)*?.*PyCode_NewEmpty\()filename,", re.MULTILINE),
        lambda found: f"{_SOURCE}{found[1]}source_of(globals, filename),",
    ): exactly(1),
}
_TYPES = {
    _message("a wrong type", r"%s object expected; got %U", "expected %s, but got %U"): exactly(1),
    Rewriting(
        "whose argument is of a wrong type",
        re.compile(r"^( *)CPy_TypeError\(expected, value\);\n( *CPy_AddTraceback)", re.MULTILINE),
        r"""\1PyObject *kind = CPy_FormatTypeName(value);
\1PyErr_Format(PyExc_TypeError, "%s(): expected %s, but got %V", funcname, expected, kind, "something else");
\1Py_XDECREF(kind);
\2""",
    ): exactly(1),
}
_PLACES = {
    Rewriting(
        "the file of a module",
        re.compile(
            r"^( *)(res = CPyImport_SetModuleFile\(module, module_name, shared_lib_file, )ext_suffix,",
            re.MULTILINE,
        ),
        lambda found: (
            f'{found[1]}PyObject *suffix = PyUnicode_InternFromString(".py");\n'
            f"{found[1]}if (suffix == NULL) return -1;\n{found[1]}{found[2]}suffix,"
        ),
    ): exactly(1),
}
_INTS = {
    Rewriting(
        "an int for which there was no memory",
        re.compile(
            r"(value = CPyLong_FromSsize_t\(CPyTagged_ShortAsSsize_t\(x\)\);\s*if \(value == NULL\) \{)"
            r"\s*CPyError_OutOfMemory\(\);"
        ),
        r"""\1
            PyErr_Clear();
            value = CPyLong_FromSsize_t(CPyTagged_ShortAsSsize_t(x));
            if (value == NULL) CPyError_OutOfMemory();""",
    ): exactly(2),
    Rewriting(
        "a sum, a difference, a product, a negative or a complement for which there was no memory",
        re.compile(
            r"(result = (PyNumber_(?:Negative|Add|Subtract|Multiply|Invert)\([^;]*\));"
            r"\s*if \((?:unlikely\()?result == NULL\)+ \{)\s*CPyError_OutOfMemory\(\);"
        ),
        r"""\1
        PyErr_Clear();
        result = \2;
        if (result == NULL) CPyError_OutOfMemory();""",
    ): exactly(5),
    Rewriting(
        "the bits of negative numbers for which there was no memory",
        re.compile(
            r"(if \(op == '&'\) \{\s*r = PyNumber_And.*?PyNumber_Xor\(aobj, bobj\);\s*\}\s*)"
            r"(if \(unlikely\(r == NULL\)\) \{)\s*CPyError_OutOfMemory\(\);",
            re.DOTALL,
        ),
        r"""\1\2
        PyErr_Clear();
        \1if (r == NULL) CPyError_OutOfMemory();""",
    ): exactly(1),
    Rewriting(
        "the bits of positive numbers for which there was no memory",
        re.compile(
            r"(writer = (PyLongWriter_Create\([^;]*\));\s*if \(unlikely\(writer == NULL\)\) \{)"
            r"\s*CPyError_OutOfMemory\(\);"
        ),
        r"""\1
        PyErr_Clear();
        writer = \2;
        if (writer == NULL) CPyError_OutOfMemory();""",
    ): exactly(1),
}
FILES = {
    "getargs.c": _MESSAGES,
    "getargsfast.c": _MESSAGES,
    "exc_ops.c": _TRACEBACKS | _TYPES,
    "misc_ops.c": _PLACES,
    "int_ops.c": _INTS,
}


def change_runtime(unit: Any, target: Path, tally: Tally) -> None:
    """Has the unit compile changed copies of those files, in `target`."""
    for i, source in enumerate(unit.sources):
        path = Path(source)
        if path.name in FILES:
            copy = target / path.name
            copy.write_text(changed(path.name, path.read_text(encoding="utf-8"), tally), encoding="utf-8")
            unit.sources[i] = str(copy)


def changed(name: str, text: str, tally: Tally) -> str:
    """One C file of the library as it should be."""
    for rewriting in FILES[name]:
        text = rewriting.apply(text, tally)
    return text


def expected() -> dict[Rewriting, Times]:
    """How often that happens in a build."""
    return {**_MESSAGES, **_TRACEBACKS, **_TYPES, **_PLACES, **_INTS}
