"""Which part of retrograd may import which. The picture is in docs; this is what is enforced."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

# From the bottom up. A part imports from lower layers and from itself.
LAYERS = (
    (
        "errors",
        "values",
        "hints",
        "forms",
        "forks",
        "lazy",
        "public_names",
        "__future__",
        "version",
        "torch_version",
        "symbolic",
        "futures",
    ),
    ("absent", "_tensor", "_utils"),
    ("backends",),
    ("core",),
    ("engine", "ops"),
    ("autograd", "func"),
    ("overrides", "compiler"),
    (
        "nn",
        "linalg",
        "fft",
        "signal",
        "special",
        "optim",
        "optimize",
        "distributions",
        "utils",
        "datasets",
        "serialization",
        "_C",
        "foreach",
        "legacy_storages",
        "legacy_types",
        "amp",
        "cpu",
        "cuda",
        "memory",
        "random",
        "__config__",
        "_dynamo",
        "_logging",
        "_prims_common",
        "_inductor",
        "_logging",
        "_ops",
        "_prims_common",
        "_tensor_str",
        "_vmap_internals",
        "accelerator",
        "cpu",
        "functional",
        "fx",
        "jit",
        "library",
        "mps",
        "masked",
        "multiprocessing",
        "onnx",
        "profiler",
        "return_types",
        "sparse",
        "storage",
        "streams",
        "testing",
        "types",
        "xpu",
    ),
    ("distributed", "functorch", "hub", "quasirandom", "_jit_internal"),
    ("_functorch",),
    ("inspect", "alias"),
    ("cli",),
)
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}

# Parts of one layer that one of the two may import. `engine` and `ops` are not here, and are never to be.
NEIGHBOURS = {
    ("values", "errors"): "a value that does not fit is an error",
    ("lazy", "forks"): "a fork waits for what is being loaded",
    ("func", "autograd"): "the transforms are written with grad and forward-mode",
    ("cpu", "amp"): "old names of autocast and GradScaler",
    ("accelerator", "cuda"): "the devices there can be are GPUs",
    ("streams", "cuda"): "the devices that have queues are GPUs",
    ("cuda", "amp"): "old names of autocast and GradScaler",
    ("optim", "nn"): "an average of a model is a model",
    ("utils", "nn"): "which modules are running is told by their hooks",
    ("_functorch", "functorch"): "the transforms have private names in PyTorch, too",
    ("cuda", "legacy_types"): "the old types have names for GPUs too",
    ("jit", "nn"): "a scripted module is a module",
    ("fx", "nn"): "a traced module is a module",
}

# The package's own namespace, as users see it. Only what stands above everything may read it.
WHOLE = "retrograd"
READS_WHOLE = {"alias", "cli", "__main__", "__init__"}

_LEVELS = "levels of vmap are func's own, and are loaded when somebody maps over a batch"

_AS_PYTORCH = "PyTorch has what needs several processes there too; it is loaded when somebody asks for it"

# Upward imports that are meant: (importing module, imported module) and why.
ALLOWED: dict[tuple[str, str], str] = {
    ("nn.parallel.distributed", "distributed"): _AS_PYTORCH,
    ("nn.sync_batchnorm", "distributed"): _AS_PYTORCH,
    ("utils.data.distributed", "distributed"): _AS_PYTORCH,
    ("autograd.function_apply", "func.custom_function"): _LEVELS,
    ("autograd.backward", "func.levels"): _LEVELS,
    ("autograd.functional", "func.levels"): _LEVELS,
    ("autograd.gradcheck_manners", "func.mapping"): _LEVELS,
}

THREAD_STARTERS = {"Thread", "Timer", "ThreadPoolExecutor", "start_new_thread"}
STARTS_THREADS = {"engine.threads", "distributed.progress", "distributed.stores", "backends.long_calls"}


class Import(NamedTuple):
    line: int
    module: str
    """Absolute, as in `retrograd.core.node`; for `from a import b` it is `a.b`, whatever b is."""


def imports(module: str, tree: ast.Module, is_package: bool) -> Iterator[Import]:
    """Every import in a module, at its top, in functions and for type checkers alike."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Import(node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base(module, node, is_package)
            yield from (Import(node.lineno, f"{base}.{alias.name}") for alias in node.names)


def _base(module: str, node: ast.ImportFrom, is_package: bool) -> str:
    """What `from … import` imports from; dots are counted from the package that holds the module."""
    if not node.level:
        return node.module or ""
    up = node.level - (1 if is_package else 0)
    parts = module.split(".")
    parts = parts[: len(parts) - up]
    return ".".join([*parts, node.module] if node.module else parts)


def objection(module: str, imported: str) -> str | None:
    """Why `module` (such as `core.node`) must not import `imported` (such as `retrograd.engine.task`)."""
    top, _, inside = imported.partition(".")
    if top == "torch":
        return "PyTorch is an oracle of the tests, never a dependency"
    if top != WHOLE or module == "__init__":
        return None
    part, target = module.partition(".")[0], inside.partition(".")[0]
    if target not in LEVEL:
        return None if part in READS_WHOLE else "only the command line reads the package's public namespace"
    if part in ("__main__", target):
        return None
    if part not in LEVEL:
        return f"{part!r} has no layer yet; give it one in {__name__}"
    if LEVEL[target] < LEVEL[part] or (part, target) in NEIGHBOURS:
        return None
    return f"{part} (layer {LEVEL[part]}) stands no higher than {target} (layer {LEVEL[target]})"


def permitted(module: str, imported: str) -> tuple[str, str] | None:
    """The entry of ALLOWED that covers an import, if any."""
    inside = imported.removeprefix(WHOLE + ".")
    return next(
        (pair for pair in ALLOWED if module == pair[0] and f"{inside}.".startswith(pair[1] + ".")), None
    )


def thread_starts(tree: ast.Module) -> Iterator[int]:
    """The lines on which a thread is made."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", None)
            if name in THREAD_STARTERS:
                yield node.lineno
