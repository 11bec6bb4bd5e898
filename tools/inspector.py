"""Builds the inspector's page: the sources in inspector/ become the template that ships in the package.

    python tools/inspector.py            builds it, with Node.js and npm
    python tools/inspector.py --check    says whether template and sources agree; needs neither

The template carries a digest of the sources that it was built from. Where the packages of npm are installed, --check
builds the page again as well, and compares every byte.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "inspector"
TEMPLATE = ROOT / "src" / "retrograd" / "inspect" / "page.html"
NAMES = ("index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.js")
SLOT = '<meta name="inspector-sources" content="{}">'


def sources() -> list[Path]:
    """What the page is built from."""
    return [SOURCES / name for name in NAMES] + sorted((SOURCES / "src").rglob("*.*"))


def digest() -> str:
    """One number for all sources, whatever line ends a checkout has."""
    total = hashlib.sha256()
    for path in sources():
        total.update(path.relative_to(SOURCES).as_posix().encode() + b"\0")
        total.update(path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return total.hexdigest()


def build() -> str:
    """The template."""
    if shutil.which("npm") is None:
        sys.exit("The page is built with Node.js and npm, and npm is not on the path. Nothing was changed.")
    if not (SOURCES / "node_modules").exists():
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=SOURCES, check=True)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npx", "tsc", "--noEmit"], cwd=SOURCES, check=True)
        command = ["npx", "vite", "build", "--logLevel", "warn", "--outDir", folder, "--emptyOutDir"]
        subprocess.run(command, cwd=SOURCES, check=True)
        page = (Path(folder) / "index.html").read_text(encoding="utf-8")
    return page.replace(SLOT.format(""), SLOT.format(digest()))


def check() -> str:
    """What is wrong with the template; empty if nothing is."""
    if SLOT.format(digest()) not in TEMPLATE.read_text(encoding="utf-8"):
        return f"{TEMPLATE.relative_to(ROOT)} was built from other sources than those in inspector/: `make inspector`"
    return ""


def main() -> None:
    """Builds or checks."""
    if "--check" not in sys.argv[1:]:
        TEMPLATE.write_text(build(), encoding="utf-8")
        print(f"{TEMPLATE.relative_to(ROOT)}: {TEMPLATE.stat().st_size:,} bytes")
        return
    problem = check()
    if problem:
        sys.exit(problem)
    if shutil.which("npm") is None or not (SOURCES / "node_modules").exists():
        print(
            "The template names the sources that are here. It was not built again: that needs npm's packages."
        )
    elif build() != TEMPLATE.read_text(encoding="utf-8"):
        sys.exit(f"{TEMPLATE.relative_to(ROOT)} is not what inspector/ builds to: `make inspector`")


if __name__ == "__main__":
    main()
