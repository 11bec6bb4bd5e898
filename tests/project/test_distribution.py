"""What is packed: the sdist has every file of the checkout, a wheel made of it the package and a page for an index."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

import retrograd

from .sources import ROOT

pytest.importorskip("setuptools", minversion="77", reason="only a build needs setuptools")

from tools.readme import absolute, for_an_index

LINK = re.compile(r"\]\(([^)]+)\)")


def hook(folder: Path, call: str) -> None:
    """Call the build backend as pip does, without compiling."""
    program = f"import setuptools.build_meta as backend; backend.{call}"
    subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**os.environ, "RETROGRAD_PURE": "1"},
        capture_output=True,
        check=True,
    )


@pytest.fixture(scope="module")
def tracked() -> set[str]:
    """The files of the checkout, and new ones that git would not ignore."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this is no checkout: git cannot say what belongs to it")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {name for name in listed.split("\0") if name and (ROOT / name).is_file()}


@pytest.fixture(scope="module")
def unpacked(tracked: set[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An sdist of a fresh checkout, unpacked."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in tracked:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    hook(folder, "build_sdist('dist')")
    (archive,) = (folder / "dist").glob("*.tar.gz")
    assert archive.name == f"retrograd-{retrograd.__version__}.tar.gz"
    with tarfile.open(archive) as packed:
        packed.extractall(folder / "dist", filter="data")
    return folder / "dist" / archive.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def wheel(unpacked: Path) -> Path:
    """The pure wheel that the unpacked sdist gives."""
    hook(unpacked, "build_wheel('wheels')")
    (path,) = (unpacked / "wheels").glob("*.whl")
    return path


def test_the_sdist_has_every_file(tracked, unpacked):
    packed = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    added = {name for name in packed - tracked if not name.startswith(("build/", "wheels/"))}
    assert tracked - packed == set()
    assert {name for name in added if ".egg-info/" not in name} == {"PKG-INFO", "setup.cfg"}


def test_the_wheel_has_the_package(tracked, wheel):
    assert wheel.name == f"retrograd-{retrograd.__version__}-py3-none-any.whl"
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == {name.removeprefix("src/") for name in tracked if name.startswith("src/")}


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(packed.read(name).decode())


def test_the_metadata_say_what_an_index_shows(wheel):
    said = metadata(wheel)
    assert said["Version"] == retrograd.__version__
    assert said["Description-Content-Type"] == "text/markdown"
    assert said.get_payload().strip() == for_an_index().strip()
    urls = dict(line.split(", ") for line in said.get_all("Project-URL"))
    assert {"Homepage", "Documentation", "Changelog", "Issues"} <= set(urls)


def test_the_page_of_an_index_links_to_files_of_this_release():
    readme = LINK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    links = LINK.findall(for_an_index())
    assert len(links) == len(readme) > 20
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    assert any(f"/blob/v{retrograd.__version__}/docs/guide/getting-started.md" in link for link in links)


@pytest.mark.parametrize(
    ("link", "becomes"),
    [
        ("docs/ops.md", "u/docs/ops.md"),
        ("docs/ops.md#sums", "u/docs/ops.md#sums"),
        ("#state", "#state"),
        ("https://a.b/c", "https://a.b/c"),
        ("mailto:a@b.c", "mailto:a@b.c"),
    ],
)
def test_relative_links_become_absolute(link, becomes):
    assert absolute(f"a [word]({link}) b", "u") == f"a [word]({becomes}) b"


def test_all_lists_of_pythons_are_the_same():
    with (ROOT / "pyproject.toml").open("rb") as file:
        settings = tomllib.load(file)
    classified = re.findall(r":: (3\.\d+)", " ".join(settings["project"]["classifiers"]))
    built = [f"{name[2]}.{name[3:-2]}" for name in settings["tool"]["cibuildwheel"]["build"]]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    tested = re.search(r"^VERSIONS +:= (.*)$", makefile, re.MULTILINE)[1].split()
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    pushed = re.findall(r'"(.*?)"', re.search(r"python: \[(.*)\]", workflow)[1])
    assert classified == built == tested == pushed
    assert settings["project"]["requires-python"] == f">={classified[0]}"
