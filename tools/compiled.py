"""A compiled build for development, beside the checkout's sources, which stay interpreted.

    python tools/compiled.py                  brings build/compiled/lib up to date
    PYTHONPATH=build/compiled/lib python …    runs with it

Only what changed is compiled again; the first build takes some minutes. Linux only: elsewhere `pip install .`.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import shutil
import sys
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from setuptools._distutils.ccompiler import new_compiler
from setuptools._distutils.sysconfig import customize_compiler

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools.compiling.flags import link_flags  # noqa: E402
from tools.compiling.modules import PACKAGE  # noqa: E402
from tools.compiling.native import native_extension, native_objects  # noqa: E402
from tools.compiling.objects import Objects  # noqa: E402
from tools.compiling.stable import Header, name_literals  # noqa: E402
from tools.compiling.translate import translate  # noqa: E402
from tools.compiling.unit import flags_of  # noqa: E402

STORE = ROOT / "build" / "objects"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")


def main() -> None:
    parser = argparse.ArgumentParser(description="Brings a compiled build up to date.")
    parser.add_argument("-O", dest="level", default="", help="optimisation level of the C compiler")
    parser.add_argument("--into", type=Path, default=ROOT / "build" / "compiled", help="folder of the build")
    args = parser.parse_args()
    folder: Path = args.into.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        Build(folder, args.level).run()


class Build:
    """One build, in `folder`: C files in c, the package in lib."""

    def __init__(self, folder: Path, level: str) -> None:
        self.folder = folder
        self.lib = folder / "lib"
        self.level = level
        self.compiler = new_compiler()
        customize_compiler(self.compiler)
        self.compiler.add_include_dir(sysconfig.get_path("include"))
        self.objects = Objects(self.compiler, STORE)

    def run(self) -> None:
        """Brings everything up to date and removes what belongs to no module any more."""
        start = time.perf_counter()
        with ThreadPoolExecutor(1) as beside:  # mypyc is one thread
            native = beside.submit(self.native)
            unit = translate(self.folder / "c")
            print(f"translated after {time.perf_counter() - start:.0f} s", flush=True)
            made = {*self.copy_python(), self.unit(unit), native.result()}
        for path in self.lib.rglob("*"):
            if path.is_file() and path not in made and "__pycache__" not in path.parts:
                path.unlink()
        print(f"done after {time.perf_counter() - start:.0f} s; now: export PYTHONPATH={self.lib}")

    def unit(self, unit: Any) -> Path:
        """The library with all the code."""
        folder = self.folder / "c"
        sources = [Path(source) for source in unit.sources]
        table = folder / "__native_retrograd.c"
        name_literals([path for path in sources if path.name.startswith("__native") and path != table], table)
        header = Header(sorted(folder.glob("__native*.h")))
        freeing = (folder / "freeing.h").read_text(encoding="utf-8")  # which every module uses
        flags = flags_of(unit, folder, self.objects, self.level)
        objects = self.objects.of(
            sources, unit.include_dirs, flags, lambda text: header.seen_by(text) + freeing
        )
        return self.link(objects, unit.name)

    def native(self) -> Path:
        """The kernel pack."""
        pack = native_extension(self.compiler.compiler_type)
        flags = link_flags(self.compiler.compiler_type)
        return self.link(
            native_objects(pack, self.objects), pack.name, target_lang="c++", extra_postargs=flags
        )

    def link(self, objects: list[str], name: str, **how: Any) -> Path:
        """The extension module `name`, linked again if what it is made of is new."""
        target = self.lib.joinpath(*name.split("."))
        target = target.with_name(target.name + SUFFIX)
        note = self.folder / "linked" / name
        now = hashlib.sha256("\n".join(objects).encode()).hexdigest()
        if not (target.exists() and note.exists() and note.read_text() == now):
            target.parent.mkdir(parents=True, exist_ok=True)
            note.parent.mkdir(exist_ok=True)
            fresh = target.with_suffix(".new")  # programs that run may hold the old file
            self.compiler.link_shared_object(objects, str(fresh), **how)
            fresh.replace(target)
            note.write_text(now)
        return target

    def copy_python(self) -> set[Path]:
        """The package's own files, where they changed."""
        made = set()
        for path in PACKAGE.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so":
                target = self.lib / "retrograd" / path.relative_to(PACKAGE)
                made.add(target)
                if not target.exists() or target.read_bytes() != path.read_bytes():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(path, target)
        return made


if __name__ == "__main__":
    main()
