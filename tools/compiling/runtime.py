"""Changes to mypyc's run-time library, so that nobody can tell errors of compiled functions from those of others.

Wrong arguments are complained of in the words that C functions use, where Python says `f() got an unexpected keyword
argument 'x'`. The lines of a traceback name a file relative to where the package was compiled, which nobody finds, and
modules name a library of their own that does not exist: both are to name the source that is installed.

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
}
FILES = {
    "getargs.c": _MESSAGES,
    "getargsfast.c": _MESSAGES,
    "exc_ops.c": _TRACEBACKS,
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
    return {**_MESSAGES, **_TRACEBACKS, **_PLACES, **_INTS}
