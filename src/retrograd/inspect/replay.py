"""Runs one node again, alone, from the archive that `on_failure` has written.

An archive may come from a stranger. It is read as data: no pickles, no module but those of our own ops is imported
because it says so, nothing is unpacked that is larger than the file, and what is wrong with it is a NotReplayable.
"""

from __future__ import annotations

import importlib
import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from retrograd.backends.quiet import QUIET, hush, unhush
from retrograd.core.metadata import InputMetadata
from retrograd.core.node import Identity, Node, put_edge
from retrograd.core.op import Op, Variadic
from retrograd.core.saved import SavedConstant, SavedValue
from retrograd.core.tensor import Tensor
from retrograd.core.traits import name_class
from retrograd.core.version import VersionCounter
from retrograd.inspect.failure import FORMAT
from retrograd.inspect.text import printable


class NotReplayable(Exception):
    """An archive whose node cannot be run again, and why."""


class NodeReplay:
    """A node and the gradients it was given.

    >>> import retrograd as rg, tempfile, os
    >>> page = os.path.join(tempfile.mkdtemp(), "crash.html")
    >>> x = rg.tensor([0.0, 1.0], requires_grad=True)
    >>> with rg.inspect.on_failure(page) as watch:
    ...     x.sqrt().sum().backward()
    >>> NodeReplay(watch.archive).run()
    [array([inf, 0.5], dtype=float32)]
    """

    def __init__(self, file: str | Path, script: str | Path | None = None) -> None:
        self.script = script
        self._read(Path(file))
        cls = self._class()
        try:
            self.given: list[Any] = [self._unpacked(g) for g in self.told["given"]]
            self.node: Node = self._node(cls)
        except NotReplayable:
            raise
        except Exception as error:
            raise NotReplayable(
                f"{file} does not say what {self.told['name']} needs: {type(error).__name__}: {error}"
            ) from error

    def run(self) -> list[Any]:
        """The gradients that the node computes, arrays or None, one for each of its inputs."""
        custom = not isinstance(self.node, Op)
        given: list[Any] = [Tensor(g, share=True) if custom and g is not None else g for g in self.given]
        token = hush(QUIET)
        try:
            results = self.node.apply(given, custom, 0)
        finally:
            unhush(token)
        return [r.array if isinstance(r, Tensor) else r for r in results]

    def _read(self, file: Path) -> None:
        """The arrays of the archive, and what it tells of the node."""
        try:
            with zipfile.ZipFile(file) as members:
                unpacked = sum(member.file_size for member in members.infolist())
            if unpacked > file.stat().st_size:
                raise ValueError("members that are larger than the file")
            with np.load(file, allow_pickle=False) as archive:
                self.arrays: dict[Any, Any] = {name: archive[name] for name in archive.files}
            self.told: dict[str, Any] = json.loads(str(self.arrays.pop("node")))
            found = self.told.get("format")
            for name in ("name", "reason", "line", "module", "class", "node_name"):
                self.told[name] = printable(self.told.get(name, ""))
        except FileNotFoundError as error:
            raise NotReplayable(f"there is no file {file}") from error
        except Exception as error:
            raise NotReplayable(
                f"{file} is no archive of a failed node: inspect.on_failure('crash.html') writes one, crash.npz"
            ) from error
        if found != FORMAT:
            raise NotReplayable(f"{file} is of the format {found!r}; this version reads {FORMAT!r}")

    def _node(self, cls: type[Any]) -> Node:
        parts = self._unpacked(self.told["parts"])
        if parts.get("freed"):
            raise NotReplayable(
                f"{self.told['name']} ran after what it had saved was freed, so that nothing of it is in the file: "
                f"{self.told['reason'].splitlines()[0]}"
            )
        node = self._op(cls, parts) if issubclass(cls, Op) else self._custom(cls, parts)
        inputs = [InputMetadata(tuple(shape), np.dtype(dtype)) for shape, dtype in self.told["inputs"]]
        node._meta, node.more_inputs = inputs[0], inputs[1:] or None
        node.edge_count = 0
        for i, edge in enumerate(self.told["edges"]):
            receiver: Node | None = None
            if edge is not None:
                receiver = Identity()
                receiver._meta = InputMetadata(tuple(edge[0]), np.dtype(edge[1]))
            put_edge(node, i, receiver, 0)
            node.edge_count = i + 1
        return node

    def _class(self) -> type[Any]:
        """The node's class: an op of ours by its module and name, a custom Function's by the user's file."""
        name, wanted = self.told["module"], self.told["node_name"]
        if name.startswith("retrograd.ops."):
            for cls in _classes(_module_of_ops(name)):
                name_class(cls)
                if cls.__name__ == wanted and cls.__qualname__ == self.told["class"]:
                    return cls
            raise NotReplayable(f"this version of retrograd has no {wanted} in {name}")
        path = str(self.told.get("function")).removesuffix("Backward")
        found = self._users_module(name)
        for part in path.split("."):
            found = getattr(found, part, None)
            if found is None:
                raise NotReplayable(f"{path} is not in {self.script or name}")
        made: type[Any] | None = getattr(found, "_backward_cls", None)
        if made is None:
            raise NotReplayable(f"{path} is no autograd.Function")
        return made

    def _users_module(self, name: str) -> Any:
        if self.script is not None:
            import runpy

            return type("script", (), runpy.run_path(str(self.script), run_name="__replayed__"))
        found = sys.modules.get(name)
        if found is None or name == "__main__":
            raise NotReplayable(
                f"{self.told['name']} is a custom Function of {name}, and a file does not decide what is imported: "
                "give the script that defines it, as in `retrograd replay crash.npz --script train.py`, or import it "
                "before. The script's `if __name__ == '__main__'` part does not run."
            )
        return found

    def _op(self, cls: type[Any], parts: dict[str, Any]) -> Op:
        params = parts["params"]
        held = {**params, **parts["slots"]}
        missing = [name for name, value in held.items() if isinstance(value, Missing)]
        if missing:
            raise NotReplayable(
                f"{self.told['name']} was made with {', '.join(missing)}, which a file cannot hold"
            )
        op: Op = cls(*params.values())
        constants = {
            int(s.partition(":")[2]): v for s, v in parts["slots"].items() if s.startswith("constant:")
        }
        if constants and op.constants is None:
            op.constants = tuple(SavedConstant(constants[i]) for i in sorted(constants))
        slots = {s: v for s, v in parts["slots"].items() if not s.startswith("constant:")}
        if isinstance(op, Variadic):
            _fill(op, slots, len(self.told["edges"]))
        else:
            for slot, value in slots.items():
                op.set_slot(slot, value, VersionCounter(), 0)
        return op

    def _custom(self, cls: type[Any], parts: dict[str, Any]) -> Node:
        node = cls()
        for name, value in parts["fields"].items():
            if not isinstance(value, Missing):
                setattr(node, name, value)
        node._saved = tuple(
            None if s is None else SavedValue(Tensor(s, share=True), False, node) for s in parts["saved"]
        )
        made: Node = node
        return made

    def _unpacked(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._unpacked(v) for v in value]
        if not isinstance(value, dict):
            return value
        ((kind, inner),) = value.items()
        if kind == "array":
            return self.arrays[inner]
        if kind == "missing":
            return Missing(inner)
        if kind == "dtype":
            return np.dtype(inner)
        if kind == "dict":
            return {k: self._unpacked(v) for k, v in inner.items()}
        parts = self._unpacked(inner)
        if kind == "constant":
            return SavedConstant(parts)
        if kind == "tensor":
            return Tensor(parts, share=True)
        if kind == "tuple":
            return tuple(parts)
        return slice(*parts) if kind == "slice" else complex(*parts)


class Missing:
    """What a file could not hold."""

    def __init__(self, kind: str) -> None:
        self.kind = kind


def _module_of_ops(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise NotReplayable(f"this version of retrograd has no {name}") from error


def _classes(module: Any) -> Iterator[type[Any]]:
    """The op classes that a module has, variants included."""
    for value in list(vars(module).values()):
        if isinstance(value, type) and issubclass(value, Op):
            yield value


def _fill(op: Variadic, slots: dict[str, Any], operands: int) -> None:
    """Gives an op of many operands what it had saved."""
    xs: list[Any] = [None] * operands
    outs: list[Any] = []
    for slot, value in slots.items():
        kind, _, number = slot.partition(":")
        if kind == "x":
            xs[int(number)] = value
        else:
            outs.append(value)
    op.xs = xs
    op.x_counters = [None if x is None else VersionCounter() for x in xs]
    op.x_versions = [0] * operands
    if outs:
        op.outs = outs
        op.out_counters = [VersionCounter() for _ in outs]
        op.out_versions = [0] * len(outs)
