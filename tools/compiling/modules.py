"""Which modules are compiled, and why the others are not."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from tools.compiling.interpreted import run_interpreted

SOURCE = Path(__file__).resolve().parents[2] / "src"
PACKAGE = SOURCE / "retrograd"

# What every operation passes through. Everything else (nn, inspect, cli …) is called once a step or less.
COMPILED_PACKAGES = ("core", "engine", "ops", "autograd", "backends")
# What loose parameters are converted by, what per-sample gradients are made of besides a backward, what every step of
# an optimiser does for each parameter, and what hears of every operation while a recording is on.
COMPILED_ALONE = (
    "arguments.py",
    "func/levels.py",
    "func/own.py",
    "inspect/notes.py",
    "inspect/recorder.py",
    "optim/memory.py",
)

_ON_REQUEST = "runs when somebody checks or looks for something; the operations it calls are compiled"
_INTERPRETED_SUBCLASSES = (
    "people derive classes from what is defined here, and their metaclass and attributes count"
)

# Modules of those packages that stay interpreted, with the reason. `__init__`s only re-export, so none is compiled.
INTERPRETED = {
    "backends/flags.py": "modules made of names, which a program sets",
    "backends/layout_class.py": "derives from a builtin string",
    "backends/memory.py": "called once in a while",
    "backends/pieces.py": "its loop hears of signals",
    "backends/shared_memory.py": "called once in a while",
    "backends/batch/methods.py": "derives from NumPy's mixin of operators",
    "backends/bfloat16.py": "derives from NumPy's array",
    "backends/meta.py": "derives from NumPy's array",
    "backends/mirror.py": "derives from NumPy's mixin of operators",
    "backends/names.py": "an ordinary base class",
    "backends/batch/random.py": "stands for the module numpy.random",
    "backends/batch/shape.py": "derives from a builtin tuple and exception",
    **{
        f"backends/gpu/{name}.py": "a call or two beside a launch"
        for name in (
            "attention",
            "cudnn",
            "faults",
            "indices",
            "nvidia",
            "library",
            "losses",
            "products",
            "random",
        )
    },
    "backends/gpu/ufuncs.py": "a call or two beside a launch",
    "backends/gpu/bfloat16.py": "makes a class of CuPy's array at run time",
    "core/plain.py": "the ordinary classes that compiled ones derive from to have weak references and attributes",
    "ops/aten.py": "a module with a __getattr__ of its own",
    "ops/refusals.py": "asked when a call has failed",
    "ops/namespaces.py": "a class whose attributes are what programs have defined",
    "ops/register.py": "changes classes after they are made, and makes functions whose signatures are read",
    "ops/numpy/functions.py": "functions made within functions, whose signatures are read",
    "ops/returns.py": "subclasses of named tuples",
    "ops/special/chebyshev_tables.py": "nested functions only, made once at import",
    "autograd/modes.py": "decorators that look at the function they decorate",
    "autograd/function.py": _INTERPRETED_SUBCLASSES,
    "autograd/_functions.py": "derives from what stays interpreted",
    "autograd/custom_gradient.py": "wraps functions in functions",
    "autograd/nested_io.py": _INTERPRETED_SUBCLASSES,
    "autograd/once.py": "wraps functions in functions",
    "autograd/variable.py": "a metaclass",
    "autograd/graph.py": "context managers that people derive from",
    "autograd/gradcheck_report.py": "derives from a builtin exception",
    **{
        f"autograd/{name}.py": _ON_REQUEST
        for name in (
            *(
                "gradcheck",
                "gradcheck_jacobians",
                "gradcheck_manners",
                "analytic_jacobian",
                "numeric_jacobian",
            ),
            *("nan/explain", "nan/finding", "nan/recompute", "nan/search", "nan/traps"),
        )
    },
}


# Where the modules that are loaded on demand are worth small code more than quick code.
ON_DEMAND = ("retrograd.ops.", "retrograd.engine.", "retrograd.backends.gpu.")


@cache
def loaded_at_once() -> frozenset[str]:
    """The modules that `import retrograd` loads: what every program runs."""
    program = "import json, retrograd; print(json.dumps([*sys.modules]))"
    return frozenset(json.loads(run_interpreted(program)))


def compiled_files() -> list[Path]:
    """The files that are compiled, in a fixed order."""
    found = [PACKAGE / name for name in COMPILED_ALONE]
    for package in COMPILED_PACKAGES:
        for path in sorted((PACKAGE / package).rglob("*.py")):
            if path.name != "__init__.py" and path.relative_to(PACKAGE).as_posix() not in INTERPRETED:
                found.append(path)
    return found
