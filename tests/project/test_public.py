"""What the package shows and ships."""

from __future__ import annotations

import importlib.resources
import inspect
import tomllib
from functools import reduce
from types import ModuleType

import pytest

import retrograd
from retrograd.ops.register import DECLARED, InPlaceForm

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


# ---- declarations -------------------------------------------------------------------------------------------------

SPACES = ("", "nn.functional", "linalg", "fft", "special", "autograd", "func", "Tensor")


def found(name):
    """What a public name stands for."""
    return reduce(getattr, name.split("."), retrograd)


def names_in(space):
    """The public names of a package or of Tensor, in full."""
    owner = found(space) if space else retrograd
    names = getattr(owner, "__all__", None) or [name for name in dir(owner) if not name.startswith("_")]
    return [f"{space}.{name}".lstrip(".") for name in names]


@pytest.mark.parametrize("space", SPACES)
def test_every_function_and_method_has_a_signature_and_a_description(space):
    names = names_in(space)
    calls = {
        name: found(name) for name in names if callable(found(name)) and not inspect.isclass(found(name))
    }
    assert calls
    for name, call in calls.items():
        assert inspect.signature(call), name
        assert inspect.getdoc(call), name
        assert call.__name__, name


def test_what_is_declared_is_what_is_found():
    _ = [found(name) for space in SPACES for name in names_in(space)]  # so that all of it is loaded
    assert len(DECLARED) > 1000
    for name, form in DECLARED.items():
        assert (
            found(name) is form or inspect.getattr_static(retrograd.Tensor, name.partition(".")[2]) is form
        ), name


def test_an_in_place_form_has_the_signature_of_its_function_without_where_the_result_goes():
    assert list(inspect.signature(retrograd.Tensor.exp_).parameters) == ["self"]
    assert list(inspect.signature(retrograd.zeros(1).round_).parameters) == ["decimals"]
    assert list(inspect.signature(retrograd.relu_).parameters) == ["self"]
    forms = [form for form in DECLARED.values() if isinstance(form, InPlaceForm)]
    assert len(forms) > 100
    for form in forms:
        parameters = inspect.signature(form).parameters
        assert next(iter(parameters)) == "self"
        assert {"out", "inplace", "args", "kwargs"}.isdisjoint(parameters)
    assert inspect.getdoc(retrograd.exp_) == "`exp`, in place."
    assert retrograd.exp_ is retrograd.Tensor.exp_


def test_a_declared_method_can_be_used_before_it_is_listed():
    from retrograd.core.plain import TensorMethods
    from retrograd.ops.register import public

    @public("Tensor.thrice_")
    def thrice(input):
        return input * 3

    try:
        assert retrograd.ones(1).thrice_().item() == 3
    finally:
        del DECLARED["Tensor.thrice_"], TensorMethods.thrice_
