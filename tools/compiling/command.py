"""The step of `pip install .` that compiles: the Python modules by mypyc, the native pack by the C++ compiler.

Where there is no compiler nothing is compiled, with a line that says so: the package is complete without. A compiler
that fails ends the build. The environment variable RETROGRAD_PURE decides otherwise: 1 compiles nothing, 0 compiles
even an editable install, and takes a missing compiler for an error.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

from setuptools import Extension
from setuptools._distutils.ccompiler import new_compiler
from setuptools._distutils.sysconfig import customize_compiler
from setuptools.command.build_ext import build_ext
from tools.compiling.flags import link_flags
from tools.compiling.modules import SOURCE
from tools.compiling.native import NAME, native_extension, native_objects
from tools.compiling.objects import Objects
from tools.compiling.unit import unit_objects

_ASKED = os.environ.get("RETROGRAD_PURE", "")
_EDITABLE = {"editable_wheel", "develop"}
_SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")


def what_to_build() -> dict[str, Any]:
    """Arguments for `setup`."""
    if _ASKED != "1" and sysconfig.get_config_var("Py_GIL_DISABLED"):
        sys.exit(
            "retrograd: this is a free-threaded Python, and compiled retrograd needs the global interpreter lock. "
            "Use the ordinary build of this Python. RETROGRAD_PURE=1 installs the package without compiled parts, "
            "which runs here when the lock is on: python -X gil=1."
        )
    # Who edits the sources wants those to run.
    if _ASKED == "1" or (_ASKED != "0" and _EDITABLE & set(sys.argv)):
        return {}
    if _ASKED != "0" and not _can_compile():
        _say("no C compiler was found that can build extension modules: this is the pure build")
        return {}
    # setup.py runs several times for one install: what is in the pack is found out when it is compiled.
    return {"ext_modules": [Extension(NAME, sources=[])], "cmdclass": {"build_ext": Compile}}


class Compile(build_ext):  # type: ignore[misc]
    """Compiles both parts, each of which may fail by itself."""

    def build_extensions(self) -> None:
        """Called when the compiler is set up."""
        self.made: list[Path] = []
        with ThreadPoolExecutor(1) as beside:  # mypyc, which is one thread, translates meanwhile
            native = beside.submit(self._native)
            self._attempt("the Python modules were not compiled", self._python)
            self._attempt("the native kernel pack was not built", native.result)

    def get_outputs(self) -> list[str]:
        """What was made; nothing before."""
        return [str(path) for path in getattr(self, "made", ())]

    def get_output_mapping(self) -> dict[str, str]:
        """Where an editable install finds it: beside the sources."""
        if not self.inplace:
            return {}
        return {
            str(path): str(SOURCE / path.relative_to(self.build_lib)) for path in getattr(self, "made", ())
        }

    def copy_extensions_to_source(self) -> None:
        """For `build_ext --inplace`, and editable installs that are asked to compile."""
        for path in self.made:
            shutil.copy2(path, SOURCE / path.relative_to(self.build_lib))

    def _attempt(self, failure: str, build: Callable[[], Path]) -> None:
        try:
            self.made.append(build())
        except (Exception, SystemExit) as error:  # mypyc leaves by sys.exit
            raise RuntimeError(
                f"{failure} ({type(error).__name__}: {error}). See the lines above; RETROGRAD_PURE=1 installs the "
                "package without compiled parts, which is complete and slower."
            ) from error

    @cached_property
    def _objects(self) -> Objects:
        return Objects(self.compiler, Path(self.build_temp).resolve() / "objects")

    def _python(self) -> Path:
        """One library with all the code."""
        from tools.compiling.translate import translate

        folder = Path(self.build_temp).resolve() / "c"
        unit = translate(folder)
        return self._library(unit, unit_objects(unit, folder, self._objects))

    def _native(self) -> Path:
        pack = native_extension(self.compiler.compiler_type)
        return self._library(pack, native_objects(pack, self._objects))

    def _library(self, extension: Extension, objects: list[str]) -> Path:
        """An extension module from its object files."""
        target = Path(self.build_lib).joinpath(*extension.name.split("."))
        target = target.with_name(target.name + _SUFFIX)
        target.parent.mkdir(parents=True, exist_ok=True)
        self.compiler.link_shared_object(
            objects,
            str(target),
            libraries=self.get_libraries(extension),
            library_dirs=self.library_dirs,
            export_symbols=self.get_export_symbols(extension),
            extra_postargs=link_flags(self.compiler),
            target_lang=extension.language or "c",
        )
        return target


def _can_compile() -> bool:
    """Whether an extension module of no content can be built."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.c")
        source.write_text("#include <Python.h>\nPyMODINIT_FUNC PyInit_probe(void) { return NULL; }\n")
        compiler = new_compiler()
        customize_compiler(compiler)
        try:
            compiler.compile([str(source)], folder, include_dirs=[sysconfig.get_path("include")])
        except Exception:  # noqa: BLE001 - whatever keeps a compiler from compiling
            return False
    return True


def _say(line: str) -> None:
    print(f"retrograd: {line}.", file=sys.stderr, flush=True)
