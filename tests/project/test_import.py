"""What `import retrograd` loads, and that nobody notices that it does not load the rest: Note [Loaded on demand]."""

from __future__ import annotations

import ast
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import retrograd as rg
from retrograd.core.plain import MethodForm, TensorMethods
from retrograd.lazy import Loaded

from . import layers
from .sources import PACKAGE, python_files, relative, tree

# The op modules that Python's operators need, and what those import. Every further one makes `import retrograd` slower.
OPERATORS = {
    "common", "elementwise", "elementwise.arithmetic", "elementwise.choose", "elementwise.compare",
    "elementwise.exponential", "elementwise.power", "elementwise.rounding", "elementwise.sign", "index",
    "index.getitem", "inplace", "inplace.fill", "inplace.write", "linalg", "linalg.matmul",
    "linalg.product_arguments", "operators", "reduce", "reduce.running_sums", "reduce.sums", "register", "shape",
    "shape.join", "shape.reshape", "shape.split", "special", "special.real", "tensor", "tensor.convert",
    "tensor.create", "tensor.data",
}  # fmt: skip
# Parts of the package that are loaded when they are asked for.
LATER = tuple(
    f"retrograd.{name}"
    for name in (
        "__config__", "autograd.custom_gradient", "autograd.forward_ad", "autograd.function", "autograd.gradcheck",
        "cli", "cuda", "datasets", "distributions", "autograd.nan", "fft", "func", "inspect", "linalg", "memory", "nn",
        "optim", "random", "serialization", "special", "utils",
    )
)  # fmt: skip
# Libraries that cost from half a millisecond to a second, and are imported where they are needed.
HEAVY = {
    "argparse", "asyncio", "concurrent", "dataclasses", "hashlib", "inspect", "logging", "multiprocessing", "pathlib",
    "pickle", "random", "scipy", "secrets", "subprocess", "tempfile", "torch", "traceback", "unittest", "urllib",
}  # fmt: skip


def fresh(program: str, limit: int = 300) -> Any:
    """What a program prints as JSON in a process of its own, in which nothing is loaded yet."""
    command = [sys.executable, "-W", "error", "-c", f"import json, sys\n{program}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# ---- what is loaded -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """The modules that `import retrograd` loads beside NumPy's."""
    program = "import numpy; before = {*sys.modules}; import retrograd; print(json.dumps([*{*sys.modules} - before]))"
    return set(fresh(program))


def test_of_the_package_the_core_and_the_engine_are_loaded_and_nothing_above_them(loaded):
    assert {"retrograd.core.tensor", "retrograd.engine.engine", "retrograd.autograd.backward"} <= loaded
    assert {name for name in loaded if name.startswith(LATER)} == set()


def test_of_the_op_library_what_operators_need_is_loaded(loaded):
    modules = {name.removeprefix("retrograd.ops.") for name in loaded if name.startswith("retrograd.ops.")}
    assert modules <= OPERATORS


def test_of_other_libraries_no_heavy_one_is_loaded(loaded):
    assert {name.partition(".")[0] for name in loaded} & HEAVY == set()


def test_scipy_is_never_loaded_by_the_package():
    everything = "from retrograd import *; from retrograd.special import *; from retrograd.linalg import *"
    assert fresh(f"{everything}; print(json.dumps('scipy' in sys.modules))") is False


# ---- packages -----------------------------------------------------------------------------------------------------

PACKAGES = ["retrograd", "retrograd.nn.functional", "retrograd.linalg", "retrograd.fft", "retrograd.special"]
PACKAGES += ["retrograd.autograd", "retrograd.func", "retrograd.nn", "retrograd.utils", "retrograd.optim"]
PACKAGES += ["retrograd.optimize", "retrograd.inspect", "retrograd.datasets", "retrograd.serialization"]
PACKAGES += [
    "retrograd.optim.lr_scheduler",
    "retrograd.nn.utils",
    "retrograd.nn.modules",
    "retrograd.utils.data",
]


def seen_by_type_checkers(name: str) -> dict[str, Any]:
    """What the imports under `TYPE_CHECKING` in a package would bind; not what only annotations need."""
    module = importlib.import_module(name)
    path = Path(module.__file__ or "")
    blocks = [node.body for node in tree(path).body if isinstance(node, ast.If)]
    found: dict[str, Any] = {}
    for node in [node for body in blocks for node in body if isinstance(node, ast.ImportFrom)]:
        for alias in node.names:
            source = importlib.import_module(node.module or "")
            if alias.asname != f"_{alias.name}":
                found[alias.asname or alias.name] = getattr(source, alias.name)
    return found


@pytest.mark.parametrize("name", PACKAGES)
def test_every_public_name_is_there(name):
    package = importlib.import_module(name)
    assert [n for n in package.__all__ if not hasattr(package, n)] == []
    assert set(package.__all__) <= set(dir(package))
    assert len(dir(package)) == len(set(dir(package)))


@pytest.mark.parametrize("name", PACKAGES)
def test_type_checkers_see_what_is_loaded(name):
    package, seen = importlib.import_module(name), seen_by_type_checkers(name)
    assert seen.keys() & set(package.__all__)
    assert {n for n, value in seen.items() if getattr(package, n) is not value} == set()


@pytest.mark.parametrize("name", PACKAGES)
def test_a_star_import_loads_everything(name):
    package, namespace = importlib.import_module(name), {}
    exec(f"from {name} import *", namespace)
    assert set(package.__all__) <= namespace.keys()


def test_a_name_that_is_not_there_is_an_attribute_error_with_a_suggestion():
    with pytest.raises(AttributeError, match="module 'retrograd' has no attribute 'expp'") as caught:
        _ = rg.expp
    assert (caught.value.name, caught.value.obj) == ("expp", rg)
    assert not hasattr(rg.linalg, "expp")
    with pytest.raises(ImportError, match="cannot import name 'expp' from 'retrograd'"):
        exec("from retrograd import expp", {})


def test_a_name_is_looked_up_once(monkeypatch):
    assert rg.erfinv is vars(rg)["erfinv"]
    monkeypatch.setattr(rg, "erfinv", "another")
    assert rg.erfinv == "another"


def test_a_module_does_not_hide_the_function_of_its_name():
    program = """
import retrograd.autograd.gradcheck, retrograd.autograd.backward, retrograd.autograd.custom_gradient
from retrograd.autograd.gradcheck import GradcheckError
import retrograd as rg
print(json.dumps([callable(f) for f in (rg.autograd.gradcheck, rg.autograd.backward, rg.autograd.custom_gradient)]))
"""
    assert fresh(program) == [True] * 3


def test_functions_can_be_pickled_and_loaded_by_a_process_that_has_not_loaded_them():
    program = """
import pickle, retrograd as rg
data = pickle.dumps([rg.erfinv, rg.linalg.inv, rg.float32])
new = "import pickle, sys; f, g, d = pickle.loads(bytes.fromhex(sys.argv[1])); print(f.__name__, g.__name__, d)"
import subprocess
print(json.dumps(subprocess.check_output([sys.executable, "-c", new, data.hex()], text=True)))
"""
    assert fresh(program) == "erfinv inv torch.float32\n"


def test_a_table_of_names_is_a_mapping():
    table = Loaded({"math": "pi tau=pi math="}, more={"math": "e"})
    assert list(table) == ["pi", "tau", "math", "more.e"]
    assert len(table) == 4
    assert table["tau"] == table["pi"]
    assert table["math"].e == table["more.e"]
    assert table.get("none") is None


# ---- methods ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "use",
    [
        "t.erfinv()",
        "rg.Tensor.erfinv(t)",
        "hasattr(t, 'erfinv') and t.erfinv()",
        "Mine(t.array).erfinv()",
        "t.clone().erfinv_()",
        "rg.erfinv(t)",
        "rg.special.erfinv(t)",
    ],
)
def test_a_method_is_loaded_by_its_first_use(use):
    program = f"""
import retrograd as rg
class Mine(rg.Tensor):
    def erfinv(self): return super().erfinv()
assert "retrograd.ops.special.normal" not in sys.modules
assert "erfinv" in dir(rg.Tensor)
t = rg.tensor([0.5])
print(json.dumps([round(float({use}), 4), "retrograd.ops.special.normal" in sys.modules]))
"""
    assert fresh(program) == [0.4769, True]


def test_a_property_can_be_assigned_to_before_it_is_loaded():
    program = """
import retrograd as rg
z = rg.tensor([1 + 2j, 3 + 4j])
assert "retrograd.ops.elementwise.complex_numbers" not in sys.modules
z.imag = rg.tensor([5.0, 6.0])
z.exp = 7
print(json.dumps([z.real.tolist(), z.imag.tolist(), z.exp, callable(rg.Tensor.exp)]))
"""
    assert fresh(program) == [[1, 3], [5, 6], 7, True]


def test_nodes_have_their_names_however_their_module_was_loaded():
    program = """
from retrograd.ops.special.bessel import I0
import retrograd as rg
x = rg.tensor([0.5], requires_grad=True)
made = [I0().on(x), x.erfinv(), rg.logit(x), rg.nn.functional.celu(x), x[:1].view(1)]
print(json.dumps([type(y.grad_fn).__name__ for y in made]))
"""
    names = ["I0Backward0", "ErfinvBackward0", "LogitBackward0", "CeluBackward0", "ViewBackward0"]
    assert fresh(program) == names


def test_every_method_form_can_be_loaded():
    program = """
import retrograd as rg
from retrograd.core.plain import MethodForm, TensorMethods
waiting = [name for name, form in vars(TensorMethods).items() if isinstance(form, MethodForm)]
for name in waiting: getattr(rg.Tensor, name)
left = [name for name, form in vars(TensorMethods).items() if isinstance(form, MethodForm)]
print(json.dumps([len(waiting) > 200, left]))
"""
    assert fresh(program) == [True, []]


def test_a_method_that_its_module_has_not_is_no_attribute(monkeypatch):
    monkeypatch.setattr(TensorMethods, "gone", MethodForm("gone", lambda: None), raising=False)
    assert not hasattr(rg.Tensor, "gone")
    with pytest.raises(AttributeError, match=r"no attribute 'gone'.*Run python tools/generate.py"):
        _ = rg.zeros(1).gone


# ---- threads ------------------------------------------------------------------------------------------------------


def test_threads_may_load_at_once():
    program = """
import random, threading
sys.setswitchinterval(1e-5)
start, found, failed = threading.Barrier(8), [], []
def load(seed):
    try:
        start.wait()
        import retrograd as rg
        names = [*rg.__all__, *(f"Tensor.{name}" for name in dir(rg.Tensor))]
        random.Random(seed).shuffle(names)
        mine = {}
        for name in names:
            value = rg
            for part in name.split("."): value = getattr(value, part)
            mine[name] = id(value) if "." not in name else value.__class__
        found.append(mine)
    except BaseException as error:
        failed.append(repr(error))
threads = [threading.Thread(target=load, args=(seed,)) for seed in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps([failed, len(found), all(mine == found[0] for mine in found)]))
"""
    assert fresh(program) == [[], 8, True]


# Ways to the same modules, of which some meet the package first and some what is in it.
WAYS = [
    "rg.func", "rg.vmap", "import retrograd.func.levels", "import retrograd.backends.batch.shape", "rg.nn",
    "import retrograd.nn.functional", "rg.nn.functional.gelu", "rg.nn.LSTM", "rg.nn.Linear",
    "import retrograd.nn.utils.rnn",
    "rg.utils.hooks", "import retrograd.utils.checkpoint",
    "rg.optim.SGD", "import retrograd.optim.adamw", "rg.inspect", "import retrograd.inspect.text",
    "rg.optimize.minimize", "import retrograd.optimize.objective", "rg.linalg.svd", "rg.fft.fft", "rg.special.erf",
    "rg.autograd.functional.jacobian", "rg.autograd.Function",
]  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_threads_may_load_in_any_order():
    """Children of a process in which little is loaded, because nothing can be loaded twice."""
    repeats = int(os.environ.get("RETROGRAD_REPEATS", "50"))
    program = f"""
import os, signal, threading, traceback, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of fork with threads, NumPy's among them
import retrograd as rg
ways = {WAYS}
def follow(way):
    try:
        exec(way, {{"rg": rg}})
    except KeyError as error:
        # importlib takes a package that it has just loaded out of sys.modules for a moment, to put it in again; a
        # thread that imports a module of it may look for the package then. No package can help that.
        if traceback.extract_tb(error.__traceback__)[-1].filename != "<frozen importlib._bootstrap>":
            raise
        exec(way, {{"rg": rg}})
sys.setswitchinterval(1e-6)
def load_at_once(number):
    start, failed = threading.Barrier(8), []
    def load(k):
        start.wait()
        for i in range(len(ways)):
            way = ways[(number * (k + 1) + i + k) % len(ways)]
            try:
                follow(way)
            except BaseException as error:
                failed.append(f"{{way}}: {{error!r}}")
    threads = [threading.Thread(target=load, args=(k,)) for k in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    return failed
failed = []
for number in range({repeats}):
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(100)
        os.write(writes, json.dumps(load_at_once(number)[:9]).encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as file:
        failed += json.loads(file.read() or '["no answer"]')
    os.waitpid(child, 0)
print(json.dumps(failed[:9]))
"""
    assert fresh(program, limit=300 + 20 * repeats) == []


def imported_with(path: Path, modules: set[str]) -> set[str]:
    """The modules of the package whose locks a thread may want while it imports that of `path`."""

    def statements(nodes: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
        for node in nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield node
            elif isinstance(node, ast.If):
                checked = "TYPE_CHECKING" in ast.unparse(node.test)
                yield from statements([*([] if checked else node.body), *node.orelse])
            elif isinstance(node, ast.Try):
                yield from statements(node.body)

    found = set()
    for node in statements(tree(path).body):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    return found & modules


def loaded_while_importing() -> list[tuple[str, str]]:
    """The modules that ask, while they are imported, for names of others loaded on demand; and those others."""
    program = """
import importlib, pkgutil, retrograd
from retrograd import lazy
imports, found = lazy.import_module, []
def watched(name):
    for module in [*sys.modules.values()]:
        spec = getattr(module, "__spec__", None)
        if getattr(spec, "_initializing", False): found.append([spec.name, name])
    return imports(name)
lazy.import_module = watched
for info in pkgutil.walk_packages(retrograd.__path__, "retrograd."):
    if not info.name.endswith("__main__"): importlib.import_module(info.name)
print(json.dumps(found))
"""
    return [tuple(pair) for pair in fresh(program)]


def test_modules_loaded_on_demand_import_each_other_in_no_circle(loaded):
    """Where there is none, threads that import at once cannot wait for each other. The command is one thread."""
    paths = {
        ".".join(("retrograd", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
            ".__init__"
        ): path
        for path in python_files()
    }
    later = {name for name in paths.keys() - loaded if not name.startswith("retrograd.cli")}
    wants = {name: imported_with(paths[name], later) for name in later}
    for name in later:
        wants[name] |= {name.rpartition(".")[0]} & later
    for name, other in loaded_while_importing():
        if name in later:
            wants[name] |= {other} & later
    while free := {name for name, others in wants.items() if not others}:
        wants = {name: others - free for name, others in wants.items() if name not in free}
    assert wants == {}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_fork_waits_until_nothing_is_being_loaded():
    program = """
import os, signal, threading, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of fork with threads: it is the subject here
import retrograd as rg
loading = threading.Event()
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "retrograd.ops.special.normal":
            loading.set()
            time.sleep(0.3)
sys.meta_path.insert(0, Slow())
thread = threading.Thread(target=lambda: rg.erfinv)
thread.start()
loading.wait()
child = os.fork()
if child == 0:
    signal.alarm(60)
    os._exit(0 if rg.zeros(1).erfinv().item() == 0 else 1)
thread.join()
print(json.dumps([os.waitpid(child, 0)[1], rg.ones(1).erfinv().item() > 1]))
"""
    assert fresh(program) == [0, True]


# ---- other systems ------------------------------------------------------------------------------------------------


def test_every_module_can_be_imported_where_there_is_no_posix():
    program = """
import numpy, importlib, os, pkgutil, subprocess, threading
for name in ("register_at_fork", "fork", "forkpty", "sched_getaffinity", "getuid", "sysconf", "uname", "wait", "kill"):
    delattr(os, name)
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None  # an import of it fails
import retrograd as rg
modules = [found.name for found in pkgutil.walk_packages(rg.__path__, "retrograd.")]
for module in modules:
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        assert error.name in ("cupy", "mpi4py", "safetensors", "rich"), module
x = rg.ones(3, requires_grad=True)
(x * x).sum().backward()
print(json.dumps([len(modules) > 100, x.grad.tolist()]))
"""
    assert fresh(program) == [True, [2.0, 2.0, 2.0]]


def top_level_imports(path: Path) -> set[str]:
    """The modules of the package that a module imports as it is loaded."""
    module = f"retrograd.{relative(path).removesuffix('.py').replace('/', '.')}".removesuffix(".__init__")
    outside = [node for node in tree(path).body if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {
        found.module for found in layers.imports(module, ast.Module(outside, []), path.name == "__init__.py")
    }
    return {
        name if is_module(name) else name.rpartition(".")[0]
        for name in names
        if name.startswith("retrograd.")
    }


def is_module(name: str) -> bool:
    place = PACKAGE.joinpath(*name.split(".")[1:])
    return place.with_suffix(".py").exists() or place.is_dir()


def test_modules_do_not_import_each_other():
    # In a circle, two threads that begin at different ends would each wait for the other's half.
    waiting = {
        f"retrograd.{relative(path).removesuffix('.py').replace('/', '.')}": top_level_imports(path)
        for path in python_files()
        if path.name != "__init__.py"
    }
    while waiting:
        free = {name for name, needed in waiting.items() if not needed & waiting.keys()}
        assert free, f"these import each other: {sorted(waiting)}"
        waiting = {name: needed for name, needed in waiting.items() if name not in free}
