"""Corrections to the C that mypyc 2.4.1 writes, where it falls short of what interpreted classes do.

Note [Weak references]
~~~~~~~~~~~~~~~~~~~~~~
A native class with weak references (one that derives from `core.plain.Plain`) has a slot for the list of those that
point at it. The list is not owned by the object; mypyc visits and clears it as if it were, and never tells the
references when the object dies. So those two lines go, and each deallocator clears the references first.

Note [Attributes of users]
~~~~~~~~~~~~~~~~~~~~~~~~~~
The same classes have a slot for the dictionary of attributes that a user hangs on an object. It is made when first
needed, but mypyc's `__dict__` refuses to be read before. Without that entry the one of the ordinary base class is
found, which makes the dictionary.

Note [Classes of instances]
~~~~~~~~~~~~~~~~~~~~~~~~~~~
An instance owns a reference to its class, which mypyc never gives back. A class that a user derives from ours would
live for ever.

Note [Initialisation]
~~~~~~~~~~~~~~~~~~~~~
`__new__` of a native class calls `__init__`, so the slot for the latter does nothing. But `__new__` of a `serializable`
class does not call it, so that copies can be made, and mypyc forgets to let the slot do it.

Note [Deleted properties]
~~~~~~~~~~~~~~~~~~~~~~~~~
`del t.data` calls the setter of a property without a value, which mypyc's hands on as if there were one, and Python
crashes. Interpreted classes raise an AttributeError, and so do these.
"""

from __future__ import annotations

import re
import sys

from tools.compiling.census import Census
from tools.compiling.rewriting import Rewriting, Tally, Times, exactly

_SLOT = r"\*\(\(PyObject \*\*\)\(\(char \*\)self \+ sizeof\(PyObject \*\) \+ sizeof\(\w+\)\)\)"
SLOTS = Rewriting(
    "weak references that an object does not own",
    re.compile(rf"^ *Py_(?:VISIT|CLEAR)\({_SLOT}\);\n", re.MULTILINE),
)
MEMBERS = Rewriting(
    "a __dict__ that cannot be read before it is written",
    re.compile(r'^ *\{"__dict__", T_OBJECT_EX, .*\},\n', re.MULTILINE),
)

_UNTRACK = "    PyObject_GC_UnTrack(self);\n"
_CLEAR_REFERENCES = """\
    Py_ssize_t references = Py_TYPE(self)->tp_weaklistoffset;
    if (references != 0 && *(PyObject **)((char *)self + references) != NULL)
        PyObject_ClearWeakRefs((PyObject *)self);
"""
_FREE = "    Py_TYPE(self)->tp_free((PyObject *)self);\n"
_FREE_BOTH = """\
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
"""
_TRASHCAN = re.compile(r"    CPy_TRASHCAN_BEGIN\((self, \w+)\)\n((?:.*\n)*?)    CPy_TRASHCAN_END\(self\)\n")
_IN_TURN = r"""    BEGIN_END(\1)
\2    END_END
"""  # see Note [Freeing deep graphs] in freeing.c
_FREED_BY_BASE = "_base_tp_dealloc->tp_dealloc((PyObject *)self);"  # of exceptions, which are few


def _deallocator(found: re.Match[str]) -> str:
    """One that tells weak references, does not recurse over a graph, and lets go of the class."""
    body, waits = _TRASHCAN.subn(_IN_TURN, found[0])
    if _UNTRACK not in body or not (_FREE in body if waits else _FREED_BY_BASE in body):
        raise RuntimeError(f"mypyc writes deallocators differently than expected:\n{body}")
    return body.replace(_UNTRACK, _UNTRACK + _CLEAR_REFERENCES).replace(_FREE, _FREE_BOTH)


DEALLOCATORS = Rewriting(
    "the end of an object",
    re.compile(r"^\w+_dealloc\(\w+ \*self\)\n\{(?:.*\n)*?\}\n", re.MULTILINE),
    _deallocator,
)

DECLARATIONS = Rewriting(
    "declarations of what ends an object, boxes numbers, judges an error and loads a module",
    re.compile(r'^#include "__native_internal_\w+\.h"\n', re.MULTILINE),
    r'\g<0>#include "freeing.h"\n#include "boxing.h"\n#include "judging.h"\n#include "loading.h"\n',
)

SETTERS = Rewriting(
    "properties that are deleted",
    re.compile(
        r"^(\w+_set_(\w+)\(\w+ \*self, PyObject \*value, void \*closure\)\n\{\n)(?=    char retval = 2;\n)",
        re.MULTILINE,
    ),
    r"""\1    if (value == NULL) {
        PyErr_SetString(PyExc_AttributeError, "property '\2' has no deleter");
        return -1;
    }
""",
)

_ARGUMENTS = r"\(PyObject \*self, PyObject \*args, PyObject \*kwds\)"
_NEW = re.compile(r"^(\w+)_new\(PyTypeObject \*type, .*\n\{(?:.*\n)*?\}\n", re.MULTILINE)
INITIALISERS = Rewriting(
    "initialisation of serializable objects",
    re.compile(rf"^(\w+)_init({_ARGUMENTS}\n\{{\n)    return 0;\n\}}\n", re.MULTILINE),
    r"""\1_init\2    PyObject *done = CPyPy_\1_____init__(self, args, kwds);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}
""",
)

_TYPE = re.compile(r"^static PyTypeObject CPyType_\w+_template_ = \{$", re.MULTILINE)


def repair(text: str, tally: Tally) -> str:
    """One C file as it should be."""
    for rewriting in (SLOTS, MEMBERS, DECLARATIONS, DEALLOCATORS, SETTERS):
        text = rewriting.apply(text, tally)
    makes_only = {new[1] for new in _NEW.finditer(text) if "__init__(self, args, kwds)" not in new[0]}
    late = INITIALISERS.instead
    return INITIALISERS.apply(text, tally, lambda f: f.expand(late) if f[1] in makes_only else None)


def expected(census: Census, texts: list[str]) -> dict[Rewriting, Times]:
    """How often that happens in a build."""
    types = sum(len(_TYPE.findall(text)) for text in texts)
    owners = crowded = len(census.with_ordinary_base()) + census.nested_functions()
    if sys.version_info >= (
        3,
        12,
    ):  # Python keeps both itself, but for exceptions, and those it frees itself too
        owners, crowded = 0, len(census.exceptions())
        types -= crowded
    return {
        SLOTS: exactly(3 * owners),  # visited, cleared, and cleared by generators that are done
        MEMBERS: exactly(crowded),
        DECLARATIONS: exactly(len(texts)),
        DEALLOCATORS: exactly(types),
        SETTERS: exactly(census.properties("setter")),
        INITIALISERS: exactly(len(census.initialised_late())),
    }
