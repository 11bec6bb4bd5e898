"""What the package shows and ships."""

from __future__ import annotations

import ast
import builtins
import importlib.resources
import inspect
import pydoc
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
    assert listed == public | {name for name in listed if name.startswith("_")}


def test_all_lists_each_name_once():
    assert len(set(retrograd.__all__)) == len(retrograd.__all__)


def test_the_version_is_that_of_the_package():
    """It stands in one file; test_distribution.py looks for it in what is built."""
    assert retrograd.__version__ == retrograd.version.__version__
    with (ROOT / "pyproject.toml").open("rb") as file:
        settings = tomllib.load(file)
    assert "version" in settings["project"]["dynamic"]
    assert settings["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "retrograd.version.__version__"}


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


def test_help_has_the_signature_and_the_description():
    for name in (
        "softmax",
        "Tensor.softmax",
        "Tensor.exp_",
        "linalg.svd",
        "autograd.grad",
        "func.vmap",
        "no_grad",
    ):
        text, thing = pydoc.plain(pydoc.render_doc(found(name))), found(name)
        assert inspect.getdoc(thing).splitlines()[0] in text, name
        assert inspect.isclass(thing) or all(p in text for p in inspect.signature(thing).parameters), name


def test_what_is_declared_is_what_is_found():
    _ = [found(name) for space in SPACES for name in names_in(space)]  # so that all of it is loaded
    assert len(DECLARED) > 1000
    for name, form in DECLARED.items():
        assert (
            found(name) is form or inspect.getattr_static(retrograd.Tensor, name.partition(".")[2]) is form
        ), name


def test_a_star_import_hides_no_builtins_but_those_that_pytorchs_hides():
    namespace = {}
    exec("from retrograd import *", namespace)
    hidden = {name for name in namespace if hasattr(builtins, name)}
    assert hidden == {
        *(
            "abs",
            "all",
            "any",
            "bool",
            "compile",
            "complex",
            "float",
            "int",
            "max",
            "min",
            "pow",
            "range",
            "round",
            "sum",
        ),
    }


# Modules that are found as attributes, though they are not what a program imports.
BESIDES = {
    *(
        "backends",
        "functional",
        "inspect",
        "return_types",
        "serialization",
        "sparse",
        "storage",
        "torch_version",
        "types",
        "version",
    ),
}


def test_completion_offers_public_names_only():
    private = {name for name in dir(retrograd) if name.startswith("_")}
    assert set(dir(retrograd)) - private == {*retrograd.__all__, *BESIDES} - private
    for space in ("nn.functional", "linalg", "fft", "special"):
        assert {name for name in dir(found(space)) if not name.startswith("__")} == set(found(space).__all__)


def test_the_methods_of_a_tensor_are_pytorchs():
    torch = pytest.importorskip("torch")
    public = [name for name in dir(retrograd.Tensor) if not name.startswith("_")]
    assert len(public) > 500
    assert {name for name in public if not hasattr(torch.Tensor, name)} <= {"array"}
    assert "array" in dir(retrograd.ones(1))  # the one that is ours


# ---- nodes --------------------------------------------------------------------------------------------------------


def results(rg):
    """A result of each of twenty operations and more."""
    x, m = rg.tensor([0.5, 2.0], requires_grad=True), rg.eye(2, requires_grad=True)
    f = rg.nn.functional
    yield from (x * x, x + x, x - 1, x / x, x**2, -x, x @ x, m @ m, x.exp(), x.log(), x.tanh(), x.sigmoid())
    yield from (x.sum(), x.mean(), x.std(), x.amax(), x.cumsum(0), x.softmax(0), x.clamp(0, 1), x.sqrt())
    yield from (
        m.transpose(0, 1),
        m.reshape(4),
        m.expand(3, 2, 2),
        m[0],
        m.det(),
        rg.stack([x, x]),
        rg.cat([x, x]),
    )
    yield from (rg.maximum(x, x), rg.cdist(m, m), rg.where(x > 1, x, x), f.prelu(m, x), f.linear(x, m, x))


# Formulas that need other values than PyTorch's, or have other names for them.
SAVES_OTHERS = {"DotBackward0", "LinalgDetBackward0", "MmBackward0", "WhereBackward0"}


def shown_of(result):
    """The names of a node, dunders and PyTorch's own internals left out."""
    names = {n for n in dir(result.grad_fn) if not n.startswith("__")} - {"_register_hook_dict"}
    return {n for n in names if "_saved_" not in n or result.grad_fn.name() not in SAVES_OTHERS}


def test_a_node_shows_the_names_that_pytorchs_does():
    torch = pytest.importorskip("torch")
    for ours, theirs in zip(results(retrograd), results(torch), strict=True):
        assert shown_of(ours) == shown_of(theirs), ours.grad_fn.name()


def test_what_a_node_shows_can_be_asked_for():
    for result in results(retrograd):
        for name in dir(result.grad_fn):
            getattr(result.grad_fn, name)


def test_the_context_of_a_function_shows_what_forward_has_put_there():
    class Double(retrograd.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.factor = 2
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor

    shown = dir(Double.apply(retrograd.ones(1, requires_grad=True)).grad_fn)
    assert {"factor", "saved_tensors", "needs_input_grad", "next_functions"} <= set(shown)
    assert {"topological_nr", "edge_count", "_meta"}.isdisjoint(shown)


def test_the_source_of_a_node_is_its_class():
    kinds = {type(result.grad_fn) for result in results(retrograd)}
    assert len(kinds) >= 20
    for kind in kinds:
        (node,) = ast.parse(inspect.getsource(kind)).body
        assert isinstance(node, ast.ClassDef), kind
        assert node.name == kind.__qualname__, kind


# ---- in-place forms -----------------------------------------------------------------------------------------------


def test_an_in_place_form_has_the_signature_of_its_function_without_where_the_result_goes():
    assert list(inspect.signature(retrograd.Tensor.exp_).parameters) == ["input"]
    assert list(inspect.signature(retrograd.zeros(1).round_).parameters) == ["decimals"]
    assert list(inspect.signature(retrograd.relu_).parameters) == ["input"]
    forms = [form for form in DECLARED.values() if isinstance(form, InPlaceForm)]
    assert len(forms) > 100
    for form in forms:
        parameters = inspect.signature(form).parameters
        assert next(iter(parameters)) == "input"
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
