"""What modules do when they are loaded, in few words.

A module's own statements run once, but mypyc spells each of them out: an import of a compiled module is thirty lines
with five ways to fail, a class is fifty, with a tuple of all that it inherits. Here each becomes a call of what stands
in loading.c, and the tuples are tables of numbers.

A line for a traceback names its file and globals, which are the same all over a module: a function of the module knows
them, and is told the function and the line.
"""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from mypyc.namegen import exported_name
from tools.compiling.census import Census
from tools.compiling.rewriting import Rewriting, Tally, Times, exactly

_R = r"cpy_r_r\d+"
_LITERAL = rf"    {_R} = CPyStatics\[\d+\]; /\* .* \*/\n"
_FAILED = (
    rf"    if \(unlikely\((?:!{_R}|{_R} == \w+)\)\) \{{\n"
    r"        CPy_AddTraceback\(.*\);\n"
    r"        goto CPyL\d+;\n"
    r"    \}\n"
)
_SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")

IMPORTS = Rewriting(
    "imports of compiled modules",
    re.compile(
        rf"    {_R} = \(void \*\)&CPyModule_(?P<module>\w+);\n"
        rf"    {_R} = \(void \*\)&CPyImportState_(?P=module);\n"
        rf"    {_R} = CPyModuleLockAPI_\w+;\n"
        rf"    {_R} = CPyImport_IsInitialized\({_R}\);\n"
        rf"    if \(!{_R}\) goto CPyL\d+;\n"
        rf"    {_R} = PyImport_GetModuleDict\(\);\n"
        rf"{_LITERAL}"
        rf"    {_R} = CPyDict_GetItem\({_R}, {_R}\);\n"
        rf"{_FAILED}"
        rf"    (?P<made>{_R}) = {_R};\n"
        rf"    goto CPyL\d+;\n"
        rf"CPyL\d+: ;\n"
        rf"    {_R} = CPyInitOnly_(?P=module);\n"
        rf"    {_R} = CPyExec_(?P=module);\n"
        rf"    {_R} = \(PyObject \*\*\)&CPyModule_(?P=module)__internal;\n"
        rf"    {_R} = PyImport_GetModuleDict\(\);\n"
        rf"{_LITERAL}"
        rf"    {_R} = CPyDict_GetItem\({_R}, {_R}\);\n"
        rf"{_FAILED}"
        rf"{_LITERAL}"
        rf"    {_R} = CPyObject_GetAttr\({_R}, {_R}\);\n"
        rf"    CPy_DECREF\({_R}\);\n"
        rf"{_FAILED}"
        rf"    {_R} = CPyStatics\[\d+\]; /\* '{re.escape(_SUFFIX)}' \*/\n"
        rf"{_LITERAL}"
        rf"    (?P<last>{_R}) = CPyImport_ImportNative\(.*, 0\);\n"
        rf"    CPy_DECREF\({_R}\);\n"
        rf"(?P<failed>{_FAILED})"
        rf"    (?P=made) = (?P=last);\n"
        rf"CPyL\d+: ;\n"
    ),
    r"""    PyObject *load_\g<module>(void);
    \g<last> = load_\g<module>();
\g<failed>    \g<made> = \g<last>;
""",
)

CLASSES = Rewriting(
    "class statements",
    re.compile(
        rf"    (?P<made>{_R}) = CPyType_FromTemplate\((?P<given>.*)\);\n"
        rf"(?P<released>(?:    CPy_DECREF\({_R}\);\n)?)"
        rf"(?P<failed>{_FAILED})"
        rf"    {_R} = CPyDef_(?P<name>\w+)_trait_vtable_setup\(\);\n"
        rf"{_FAILED}"
        rf"    {_R} = CPyDef_(?P=name)_coroutine_setup\((?P=made)\);\n"
        rf"{_FAILED}"
        rf"    {_R} = CPyStatics\[\d+\]; /\* '__mypyc_attrs__' \*/\n"
        rf"(?P<attributes>(?:{_LITERAL})*)"
        rf"    {_R} = (?:PyTuple_Pack\(.*\);\n{_FAILED}|CPyTuple_LoadEmptyTupleConstant\(\);\n)"
        rf"    {_R} = PyObject_SetAttr\((?P=made), {_R}, {_R}\);\n"
        rf"    CPy_DECREF\({_R}\);\n"
        rf"    {_R} = {_R} >= 0;\n"
        rf"{_FAILED}"
        rf"    CPyType_(?P=name) = \(PyTypeObject \*\)(?P=made);\n"
        rf"    CPy_INCREF\(CPyType_(?P=name)\);\n"
        rf"    {_R} = (?P<globals>\w+);\n"
        rf"(?P<called>    (?P<word>{_R}) = .*\n)"
        rf"    {_R} = PyDict_SetItem\({_R}, (?P=word), (?P=made)\);\n"
        rf"    {_R} = {_R} >= 0;\n"
        rf"{_FAILED}"
    ),
)
_BASES = re.compile(
    rf"    {_R} = \(PyObject \*\)CPyType_(?P<base>\w+);\n"
    rf"    {_R} = PyTuple_Pack\(1, {_R}\);\n"
    rf"{_FAILED}"
    rf"{_LITERAL}"
    rf"    {_R} = \(PyObject \*\)CPyType_(?P<name>\w+)_template;\n"
)

METHODS = Rewriting(
    "tables of methods",
    re.compile(
        r"^static CPyVTableItem (?P<name>\w+)_vtable\[(?P<length>\d+)\];\n"
        r"(?P<head>static bool\nCPyDef_(?P=name)_trait_vtable_setup\(void\)\n\{\n(?:    \w+_shadow\(\);\n)?)"
        r"    CPyVTableItem (?P=name)_vtable_scratch\[\] = \{\n"
        r"(?P<methods>(?:        .*,\n)+)"
        r"    \};\n"
        r"    memcpy\((?P=name)_vtable, (?P=name)_vtable_scratch, sizeof\((?P=name)_vtable\)\);\n",
        re.MULTILINE,
    ),
)
_NUMBER = re.compile(r"CPyStatics\[(\d+)\]")

BODIES = Rewriting(
    "statements of modules, which run once",
    re.compile(r"^char (?=CPyDef_\w+_____top_level__\(void\) \{$)", re.MULTILINE),
    "COLD char ",
)

TRACEBACKS = Rewriting(
    "a module's file and globals, which a traceback names",
    re.compile(r'^#include "loading\.h"\n', re.MULTILINE),
)
_NAMED = re.compile(r'CPy_AddTraceback\(("[^"]*"), "[^"]*", -?\d+, (\w+)\)')
_TRACED = """\
#undef CPy_AddTraceback
static COLD void trace_{module}(const char *function, int line) {{
    CPy_AddTraceback({file}, function, line, {globals});
}}
#define CPy_AddTraceback(file, function, line, globals) trace_{module}(function, line)
"""
_LOADED = """
PyObject *load_{module}(void) {{
    static PyObject *name;
    return load_compiled(&name, "{dotted}", CPyInitOnly_{module}, CPyExec_{module}, &CPyModule_{module}__internal,
                         &CPyModule_{module}, &CPyImportState_{module});
}}
"""


class Loading:
    """The C files of a build, given by their modules as mypyc wrote them, and the tables that they need."""

    def __init__(self, texts: Mapping[str, str], tally: Tally) -> None:
        self.tally = tally
        self.texts = texts
        self.tables: list[str] = []
        self.bases: dict[str, str] = {}
        self.methods: dict[str, list[str]] = {}
        for text in texts.values():
            self.bases.update((found["name"], found["base"]) for found in _BASES.finditer(text))
            for found in METHODS.pattern.finditer(text):
                self.methods[found["name"]] = found["methods"].splitlines()

    def shortened(self, module: str, text: str) -> str:
        """The file of a module, in fewer words; it can load itself."""
        name = exported_name(module)
        text = BODIES.apply(IMPORTS.apply(text, self.tally), self.tally)
        text = CLASSES.apply(text, self.tally, self._class)
        text = METHODS.apply(text, self.tally, self._methods)
        text = TRACEBACKS.apply(text, self.tally, lambda found: found[0] + _traced(name, text))
        return text + _LOADED.format(module=name, dotted=module)

    def _class(self, found: re.Match[str]) -> str:
        """A class statement as a call; its attributes go into a table of the places of their names."""
        table = f"attributes_{found['name']}"
        numbers = _NUMBER.findall(found["attributes"])
        self.tables.append(f"const int {table}[] = {{{', '.join([*numbers, '-1'])}}};\n")
        return found.expand(
            f"    extern const int {table}[];\n"
            r"\g<called>"
            r"    \g<made> = make_class(\g<given>, CPyDef_\g<name>_trait_vtable_setup, "
            rf"CPyDef_\g<name>_coroutine_setup, {table}, &CPyType_\g<name>, \g<globals>, \g<word>);"
            "\n"
            r"\g<released>\g<failed>"
        )

    def _methods(self, found: re.Match[str]) -> str:
        """A table that is filled from that of the base, which is there before, and with what differs."""
        name, base = found["name"], self.bases.get(found["name"], "")
        inherited = self.methods.get(base, [])
        table = f"{name}_vtable"
        copied = (
            f"    extern CPyVTableItem {base}_vtable[];\n"
            f"    memcpy({table}, {base}_vtable, {len(inherited)} * sizeof *{table});\n"
        )
        own = [
            f"    {table}[{i}] = {method.strip(' ,')};\n"
            for i, method in enumerate(self.methods[name])
            if i >= len(inherited) or method != inherited[i]
        ]
        return f"CPyVTableItem {table}[{found['length']}];\n{found['head']}{copied if inherited else ''}{''.join(own)}"

    def finish(self, table: Path) -> None:
        """Adds the tables to the C file of all literals, whose places change with any of them."""
        with table.open("a", encoding="utf-8") as file:
            file.write(f'const char library_suffix[] = "{_SUFFIX}";\n')
            file.writelines(self.tables)

    def expected(self, census: Census) -> dict[Rewriting, Times]:
        """How often that happens in a build."""
        return {
            IMPORTS: exactly(self._count("CPyImport_ImportNative(")),
            CLASSES: exactly(
                len(census.native()) - len(census.exceptions())
            ),  # which have no tables of methods
            METHODS: exactly(self._count("_vtable_scratch[] = {\n        (CPyVTableItem)")),
            BODIES: exactly(len(self.texts)),
            TRACEBACKS: exactly(len(self.texts)),
        }

    def _count(self, words: str) -> int:
        return sum(text.count(words) for text in self.texts.values())


def _traced(module: str, text: str) -> str:
    """A function that adds a line of this module to a traceback, in place of the one that must be told everything."""
    named = set(_NAMED.findall(text))
    if len(named) != 1 or text.count("CPy_AddTraceback(") != len(_NAMED.findall(text)):
        raise RuntimeError(f"mypyc names more than one file in the C of {module}: {named}")
    ((file, globals_),) = named
    return _TRACED.format(module=module, file=file, globals=globals_)
