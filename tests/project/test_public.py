"""What the package shows and ships."""

from __future__ import annotations

import importlib.resources
import tomllib
from types import ModuleType

import retrograd

from .sources import PACKAGE, ROOT


def test_all_lists_the_public_names():
    listed = {name for name in retrograd.__all__ if not isinstance(getattr(retrograd, name), ModuleType)}
    # Submodules appear in the namespace as soon as anything imports them; those meant for users are listed too.
    public = {
        name
        for name, value in vars(retrograd).items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and name != "annotations"
    }
    assert listed == public | {name for name in listed if name.startswith("__")}


def test_all_lists_each_name_once():
    assert len(set(retrograd.__all__)) == len(retrograd.__all__)


def test_the_version_is_that_of_the_package():
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    assert retrograd.__version__ == project["version"]


def test_type_information_and_data_are_shipped():
    with (ROOT / "pyproject.toml").open("rb") as file:
        package_data = tomllib.load(file)["tool"]["setuptools"]["package-data"]
    shipped = {
        path
        for package, patterns in package_data.items()
        for pattern in patterns
        for path in PACKAGE.joinpath(*package.split(".")[1:]).glob(pattern)
    }
    wanted = ["py.typed", "datasets/digits.npz", "datasets/README.md"]
    assert {PACKAGE / name for name in wanted} <= shipped
    assert importlib.resources.files("retrograd").joinpath("py.typed").is_file()


def test_every_folder_with_code_is_a_package():
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []
