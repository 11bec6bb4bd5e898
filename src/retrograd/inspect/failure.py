"""on_failure: a backward that fails, or makes a NaN or an infinity, as a page and a file to run its node again.

The file is a NumPy archive without pickles: one JSON text that describes the node, and the arrays it had saved and was
given. `replay.py` runs it.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from retrograd.backends.base import is_array
from retrograd.core.observer import join, observe
from retrograd.core.op import Op
from retrograd.core.saved import SavedConstant
from retrograd.core.tensor import Tensor
from retrograd.engine.watch import flags
from retrograd.inspect.gather import Gathering, default_title
from retrograd.inspect.names import spot_of, tensors_in, variables
from retrograd.inspect.recorder import Recorder
from retrograd.inspect.recording import LIMIT, Recording

FORMAT = "retrograd-node/1"


class on_failure:  # noqa: N801 - a switch, as `detect_anomaly` is
    """From here on, the first backward that fails or makes a NaN or infinity is written to files.

    `page` is the inspector's page of everything since the last backward that went well; beside it, with the ending
    `.npz`, stands what is needed to run the failing node again alone: `retrograd replay crash.npz`. It is on until
    the end of its `with` block, or until `close()`.

    >>> import retrograd as rg, tempfile, os
    >>> page = os.path.join(tempfile.mkdtemp(), "crash.html")
    >>> x = rg.tensor([0.0, 1.0], requires_grad=True)
    >>> with rg.inspect.on_failure(page) as watch:
    ...     x.sqrt().sum().backward()
    >>> watch.reason
    'SqrtBackward0 made an infinity of finite gradients'
    >>> sorted(os.listdir(os.path.dirname(page)))
    ['crash.html', 'crash.npz']
    """

    reason: str

    def __init__(self, page: str | Path, *, names: dict[str, Any] | None = None) -> None:
        self.page: Path = Path(page).absolute()  # the program may change the folder
        if self.page.suffix != ".html":
            raise ValueError(f"on_failure(): the page's name must end in .html, but is {str(page)!r}")
        if not self.page.parent.is_dir():
            raise FileNotFoundError(f"on_failure(): there is no folder {self.page.parent} to write to")
        self.names = names
        self.reason = ""
        self.recording: Recording | None = None
        self._frame = sys._getframe(1)
        self._recorder = _Watching(self)
        self._before = join(self._recorder)

    @property
    def archive(self) -> Path:
        """The file for `retrograd replay`."""
        return self.page.with_suffix(".npz")

    def __enter__(self) -> on_failure:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends it."""
        if self._recorder.open:
            self._recorder.open = False
            observe(self._before)

    def write(self, recorder: Recorder, reason: str, snapshot: Any) -> None:
        """Writes both files; the watch is over then."""
        self.reason = reason
        self.close()
        recorder.close()
        named = tensors_in(variables(self._frame, self.names))
        document = Gathering(recorder, named, default_title()).document()
        document["failure"] = reason
        self.recording = Recording(document)
        try:
            self.recording.html(self.page)
            np.savez(self.archive, **snapshot)
        except OSError as error:  # the program's own error must come through
            warnings.warn(f"on_failure(): {reason}, and it could not be written: {error}", stacklevel=2)


class _Watching(Recorder):
    """A recorder that forgets what went well."""

    def __init__(self, watch: on_failure) -> None:
        super().__init__(LIMIT, everything=False)
        self.watch = watch
        self.snapshots: list[Any] = []

    def node_starts(self, task: Any, node: Any, given: Any) -> None:
        super().node_starts(task, node, given)
        if self.open:
            self.snapshots.append((node, _node_parts(node), [_copied(v) for v in given]))

    def node_ends(self, task: Any, node: Any, results: Any) -> None:
        super().node_ends(task, node, results)
        if not (self.open and self.snapshots):
            return
        _, parts, given = self.snapshots.pop()
        bad = 0
        for result in results or ():
            if result is not None:
                bad |= flags(_copied(result))
        if bad and not any(g is not None and flags(g) for g in given):
            what = "NaN" if bad & 1 else "an infinity"
            self._failed(f"{node.name()} made {what} of finite gradients", node, parts, given)

    def backward_ends(self, task: Any, error: BaseException | None) -> None:
        super().backward_ends(task, error)
        if not self.open:
            return
        if error is None and task.outer is None:
            self.begin()
            self.snapshots.clear()
        elif error is not None and self.snapshots:
            node, parts, given = self.snapshots.pop()
            self._failed(f"{node.name()} raised {type(error).__name__}: {error}", node, parts, given)

    def _failed(self, reason: str, node: Any, parts: dict[str, Any], given: list[Any]) -> None:
        self.snapshots.clear()
        self.watch.write(self, reason, archive_of(node, parts, given, reason))


def _copied(value: Any) -> Any:
    array = value.array if isinstance(value, Tensor) else value
    return array.copy() if is_array(array) else array


def _node_parts(node: Any) -> dict[str, Any]:
    """What a node needs to run: references only, since it is about to free them."""
    if isinstance(node, Op):
        slots = {slot: node.slot(slot).value for slot in node.slot_names()}
        return {
            "freed": node._freed,
            "slots": slots,
            "params": {name: getattr(node, name, None) for name in node.params},
        }
    saved = [None if s is None else s.array for s in getattr(node, "_saved", None) or ()]
    return {
        "freed": node._freed,
        "saved": saved,
        "fields": {k: v for k, v in vars(node).items() if not k.startswith("_")},
    }


def archive_of(node: Any, parts: dict[str, Any], given: list[Any], reason: str) -> dict[str, Any]:
    """A node as the entries of an archive."""
    arrays: dict[str, Any] = {}
    packer = _Packer(arrays)
    told: dict[str, Any] = {
        "format": FORMAT,
        "name": node.name(),
        "reason": reason,
        "module": type(node).__module__,
        "class": type(node).__qualname__,
        "node_name": type(node).__name__,
        "inputs": [[list(m.shape), str(m.dtype)] for m in node._input_metadata],
        "edges": [
            None if edge.function is None else _expects(edge.function, edge.input_nr)
            for edge in node.next_edges()
        ],
        "given": [packer.pack(g) for g in given],
        "parts": packer.pack(parts),
        "line": "" if node._made is None else _line(node._made),
    }
    if not isinstance(node, Op):
        function = getattr(node, "_forward_cls", None) or type(node)
        told["module"], told["function"] = function.__module__, function.__qualname__
    return {"node": np.array(json.dumps(told)), **arrays}


def _expects(node: Any, nr: int) -> list[Any]:
    return [list(node.input_shape(nr)), str(node.input_dtype(nr)), node.name()]


def _line(made: Any) -> str:
    spot = spot_of(*made)
    return f'File "{spot.file}", line {spot.line}, in {spot.function}: {spot.text.strip()}'


class _Packer:
    """Values as JSON with arrays beside it."""

    def __init__(self, arrays: dict[str, Any]) -> None:
        self.arrays = arrays

    def pack(self, value: Any) -> Any:
        """A value as JSON; one of a kind that a file cannot have becomes a note that says so."""
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, SavedConstant):
            return {"constant": self.pack(value.array)}
        if isinstance(value, Tensor):
            return {"tensor": self.pack(value.array)}
        if type(value) is np.ndarray:
            name = f"a{len(self.arrays)}"
            self.arrays[name] = value
            return {"array": name}
        if isinstance(value, tuple):
            return {"tuple": [self.pack(v) for v in value]}
        if isinstance(value, list):
            return [self.pack(v) for v in value]
        if isinstance(value, dict):
            return {"dict": {str(k): self.pack(v) for k, v in value.items()}}
        if isinstance(value, slice):
            return {"slice": [self.pack(v) for v in (value.start, value.stop, value.step)]}
        if isinstance(value, np.dtype):
            return {"dtype": str(value)}
        if isinstance(value, complex):
            return {"complex": [value.real, value.imag]}
        return {"missing": type(value).__name__}
