"""The kernel pack by itself, beside links to the package's sources, which stay interpreted. Linux only.

    python tools/pack.py                            brings build/fast up to date
    python tools/pack.py sanitized                  build/sanitized: AddressSanitizer and UBSan stop it at a fault
    python tools/pack.py threads                    build/threads: ThreadSanitizer tells of threads that race
    python tools/pack.py portable                   build/portable: nothing that only some systems have
    PYTHONPATH=build/fast python …                  runs with it

Only what changed is compiled again.
"""

from __future__ import annotations

import argparse
import sys
import sysconfig
from pathlib import Path

from setuptools._distutils.ccompiler import new_compiler
from setuptools._distutils.sysconfig import customize_compiler

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools.compiling.flags import KINDS, link_flags  # noqa: E402
from tools.compiling.modules import PACKAGE  # noqa: E402
from tools.compiling.native import native_extension, native_objects  # noqa: E402
from tools.compiling.objects import Objects  # noqa: E402

STORE = ROOT / "build" / "objects"


def main() -> None:
    parser = argparse.ArgumentParser(description="Builds the kernel pack beside links to the sources.")
    parser.add_argument("kind", nargs="?", choices=KINDS, default="fast", help="how it is built")
    parser.add_argument("--into", type=Path, help="folder of the build; build/KIND by default")
    args = parser.parse_args()
    folder: Path = (args.into or ROOT / "build" / args.kind).resolve()
    link_sources(folder / "retrograd")
    build(args.kind, folder / "retrograd")
    print(f"now: export PYTHONPATH={folder}")


def link_sources(package: Path) -> None:
    """Links to everything in the package's folder, so that the pack can lie beside it."""
    package.mkdir(parents=True, exist_ok=True)
    for link in package.iterdir():
        if link.is_symlink():
            link.unlink()
    for path in PACKAGE.iterdir():
        if path.name != "__pycache__":
            (package / path.name).symlink_to(path)


def build(kind: str, package: Path) -> None:
    """The pack, into the folder of the package."""
    compiler = new_compiler()
    customize_compiler(compiler)
    compiler.add_include_dir(sysconfig.get_path("include"))
    pack = native_extension(compiler.compiler_type, kind)
    objects = native_objects(pack, Objects(compiler, STORE / kind))
    target = package / f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"
    fresh = target.with_suffix(".new")  # programs that run may hold the old file
    sanitizers = [flag for flag in pack.extra_compile_args if flag.startswith("-fsanitize")]
    flags = ["-pthread", *sanitizers] if sanitizers else link_flags(compiler)
    compiler.link_shared_object(objects, str(fresh), target_lang="c++", extra_postargs=flags)
    fresh.replace(target)


if __name__ == "__main__":
    main()
