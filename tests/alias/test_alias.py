"""`retrograd run` and `install_as_torch`: what `torch` means in a program, and what becomes of what is missing."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from retrograd.alias.missing import ADVICE, StandIn, sentence
from retrograd.torch_version import TorchVersion

HERE = Path(__file__).parent


def run(*arguments: object, **settings: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, **settings)


def test_what_is_missing_fails_at_its_use():
    done = run("-m", "retrograd", "run", HERE / "missing_names.py")
    assert done.stdout == "all as it should be\n", done.stderr


def test_names_beside_the_public_ones(torch):
    for before in ((), ("-m", "retrograd", "run")):
        done = run(*before, HERE / "private_names.py")
        assert done.stdout == "all names are there\n", done.stderr


def test_tests_with_pytorchs_own_helpers_run(torch):
    # Where CI is set, PyTorch's runner writes its report by a package of its own.
    settings = {**os.environ, "CI": ""}
    done = run(HERE / "pytorch_helpers.py", Path(torch.__file__).parent, env=settings)
    assert "Ran 30 tests" in done.stderr, done.stderr
    assert done.stderr.endswith("OK\n"), done.stderr


def test_classes_have_pytorchs_names(torch):
    theirs, ours = (run(*before, HERE / "class_names.py") for before in ((), ("-m", "retrograd", "run")))
    assert ours.stdout.splitlines() == theirs.stdout.splitlines(), ours.stderr
    assert len(ours.stdout.splitlines()) > 250


def test_pickles_processes_and_safetensors(torch, tmp_path):
    module = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    weights = {"w": torch.arange(3.0), "p": torch.nn.Parameter(torch.zeros(1))}
    others = (torch.Size([2]), torch.float32, torch.device("cpu"), torch.nn.functional.relu, torch.nn.Linear)
    dataset = torch.utils.data.TensorDataset(torch.ones(2))
    path = tmp_path / "torch.pickle"
    path.write_bytes(pickle.dumps((weights, module, *others, dataset)))
    done = run("-m", "retrograd", "run", HERE / "exchange.py", path)
    assert done.stdout == "all as it should be\n", done.stderr


def test_a_package_is_run_by_its_name(tmp_path):
    package = tmp_path / "mine"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(
        "import sys, torch\nprint(torch.__name__, torch.ones(1), sys.argv[1:])\n"
    )
    done = run("-m", "retrograd", "run", "-m", "mine", "a", "-m", cwd=tmp_path)
    assert done.stdout == "torch tensor([1.]) ['a', '-m']\n", done.stderr


FUNCTORCH = (
    "import functorch, torch, warnings; warnings.simplefilter('ignore'); "
    "from functorch.experimental import chunk_vmap; "
    "f, p, b = functorch.make_functional_with_buffers(torch.nn.BatchNorm1d(2)); "
    "g, q = functorch.make_functional(torch.nn.Linear(2, 1)); "
    "_, r, _ = functorch.combine_state_for_ensemble([torch.nn.Linear(2, 1)] * 3); "
    "print(f(p, b, torch.ones(3, 2)).shape, functorch.grad(lambda q: g(q, torch.ones(1, 2)).sum())(q)[1], "
    "r[0].shape, chunk_vmap(torch.cos)(torch.zeros(3)))"
)
PROGRAMS = {
    FUNCTORCH: "torch.Size([3, 2]) tensor([1.]) torch.Size([3, 1, 2]) tensor([1., 1., 1.])",
    "import torch, copy; q = torch.qscheme; q.name = 1; print(q is torch.qscheme, copy.deepcopy(q) is q)": "True True",
    "import torch; f = torch.library.custom_op('mine::twice', lambda x: 2 * x, mutates_args=(), schema='(Tensor x) -> "
    "Tensor'); print(torch.ops.mine.twice(torch.ones(1)))": "tensor([2.])",
    "retrograd.install_as_torch(); import torch.nn as nn; print(nn.Linear is retrograd.nn.Linear)": "True",
    "import torch; print([m for m in sys.modules if m.startswith('torch')])": "['torch']",
    "import importlib.util as u; print(u.find_spec('torch').name)": "torch",
    "import torch; torch.backends.cudnn.benchmark = True; import torch.backends.cudnn as cudnn; "
    "print(cudnn.benchmark, retrograd.backends.cudnn.benchmark)": "True True",
    "import torch; from torch import *; print(ones(1), torch.__version__ >= (2, 1))": "tensor([1.]) True",
    "import torch; print(hasattr(retrograd, 'qscheme'), repr(torch.qscheme), torch.qscheme)": (
        "False <torch.qscheme, which is not in retrograd> torch.qscheme"
    ),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_running_program_takes_the_alias(program):
    done = run("-c", f"import sys, retrograd; retrograd.install_as_torch(); {program}")
    assert done.stdout.strip() == PROGRAMS[program], done.stderr


def test_pytorch_itself_is_not_replaced(torch):
    program = "import torch, retrograd\ntry: retrograd.install_as_torch()\nexcept RuntimeError as e: print(e)"
    assert "PyTorch itself is imported already" in run("-c", program).stdout


def test_a_stand_in_says_what_to_do():
    assert sentence("torch.hub.load").startswith("torch.hub.load is not in retrograd. Nothing is fetched")
    assert all(advice.endswith(".") for advice in ADVICE.values())
    thing = StandIn("torch.x.y")
    assert repr(thing) == "<torch.x.y, which is not in retrograd>"
    assert not isinstance(3, thing)
    assert {thing: 1}[thing] == 1
    for use in (thing, lambda: thing[0], lambda: bool(thing), lambda: list(thing), lambda: thing.z()):
        with pytest.raises(NotImplementedError, match="is not in retrograd"):
            use()


@pytest.mark.parametrize("other", ["2.9", "2.13.0", "2.13.1", "3", (2, 13), (2, 4, 1), (3,)])
def test_versions_compare_by_their_numbers(other, torch):
    theirs, ours = torch.torch_version.TorchVersion("2.13.0"), TorchVersion("2.13.0")
    assert (ours < other, ours <= other, ours > other, ours >= other) == (
        theirs < other,
        theirs <= other,
        theirs > other,
        theirs >= other,
    )
