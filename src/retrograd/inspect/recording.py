"""record: notes what a program does, and Recording: the same in many forms."""

from __future__ import annotations

import functools
import inspect
import json
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from retrograd.core.observer import Observer, join, observe
from retrograd.core.tensor import Tensor
from retrograd.inspect.following import Follower
from retrograd.inspect.gather import SCHEMA, Gathering, default_title
from retrograd.inspect.names import tensors_in, variables
from retrograd.inspect.questions import counted
from retrograd.inspect.recorder import Recorder
from retrograd.inspect.text import printable

if TYPE_CHECKING:
    from retrograd.inspect.difference import Difference
    from retrograd.inspect.overlay import Numbers

F = TypeVar("F", bound=Callable[..., Any])

_LATER = (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction)

LIMIT = 200_000
"""Operations, steps and values that a recording keeps of each, if nobody says otherwise."""


class Recording:
    """What a program did: its operations, graphs and backwards. Every form of it is made from `document`.

    >>> import retrograd as rg
    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> with rg.inspect.record() as recording:
    ...     (w * w).sum().backward()
    >>> [step["name"] for step in recording.table()]
    ['SumBackward0', 'MulBackward0', 'AccumulateGrad']
    """

    def __init__(self, document: dict[str, Any] | None = None) -> None:
        self._document = document
        self._gathering: Gathering | None = None  # what the document is made from when it is first asked for

    @property
    def document(self) -> dict[str, Any]:
        """The recording as plain data: see docs/inside/recordings.md."""
        if self._document is None:
            if self._gathering is None:
                raise RuntimeError(
                    "This recording is still on: what it has seen is told when its `with` block is over. Ask after it."
                )
            self._document, self._gathering = self._gathering.document(), None
        return self._document

    @classmethod
    def load(cls, file: str | Path) -> Recording:
        """A recording that `json(file)` has written."""
        try:
            document = json.loads(Path(file).read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{file}: this is no JSON: {error}") from error
        found = document.get("schema") if isinstance(document, dict) else None
        if found != SCHEMA:
            raise ValueError(f"{file}: this is no recording of the kind {SCHEMA!r}, but {found!r}")
        return cls(document)

    def json(self, file: str | Path | None = None) -> str:
        """The document as JSON, written to `file` if one is given."""
        return _written(json.dumps(self.document, separators=(",", ":"), ensure_ascii=False), file)

    def text(self, rows: int = 40, color: bool | None = None) -> str:
        """The recording for a terminal: what was found, the order of each backward, memory. `rows` bounds tables."""
        from retrograd.inspect.report import report

        return report(self.document, rows, color)

    def table(self) -> list[dict[str, Any]]:
        """A row for each node that a backward ran, as `pandas.DataFrame` takes them."""
        from retrograd.inspect.table import table

        return table(self.document)

    def dot(self, file: str | Path | None = None) -> str:
        """The graph in Graphviz's language."""
        from retrograd.inspect.dot import dot

        return _written(dot(self.document), file)

    def svg(self, file: str | Path | None = None) -> str:
        """The graph as a picture; Graphviz's `dot` draws it and must be installed."""
        from retrograd.inspect.dot import dot, drawn

        return _written(drawn(dot(self.document)).decode(), file)

    def mermaid(self, file: str | Path | None = None) -> str:
        """The graph in Mermaid's language, which Markdown pages show."""
        from retrograd.inspect.mermaid import mermaid

        return _written(mermaid(self.document), file)

    def perfetto(self, file: str | Path | None = None) -> str:
        """What ran when, as a trace that ui.perfetto.dev and chrome://tracing show."""
        from retrograd.inspect.perfetto import perfetto

        return _written(perfetto(self.document), file)

    def html(self, file: str | Path | None = None) -> str:
        """One page with everything, which a browser opens from disk: it needs no network and no server."""
        from retrograd.inspect.page import page

        return _written(page(self.document), file)

    def overlay(self, title: str, numbers: Numbers, *, unit: str = "", ratio: bool = False) -> Recording:
        """The same recording with numbers that the page can colour its nodes by; there may be several.

        `numbers` maps nodes to numbers: by their number (`node` in `table()`), by a variable's name, or by a module's
        path; or it is a function of a node of the document that gives a number or None. With `ratio`, 1 is neutral and
        what is more and what is less have different colours.

        >>> import retrograd as rg
        >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
        >>> with rg.inspect.record() as recording:
        ...     (w * w).sum().backward()
        >>> page = recording.overlay("my score", {"w": 0.5}).html()
        """
        from retrograd.inspect.overlay import with_overlay

        return Recording(with_overlay(self.document, title, numbers, unit, ratio))

    def diff(self, other: Recording) -> Difference:
        """This recording against another, node by node: `print(after.diff(before))`, or `.html("diff.html")`."""
        from retrograd.inspect.difference import Difference

        return Difference(self.document, other.document)

    def _repr_html_(self) -> str:
        """What a notebook shows: the page, in a frame of its own."""
        from retrograd.inspect.notebook import framed

        return framed(self.html())

    def __repr__(self) -> str:
        if self._document is None and self._gathering is None:
            return "<Recording, still on>"
        d = self.document
        steps = sum(len(b["steps"]) for b in d["backwards"])
        done = [(len(d["ops"]), "operation"), (len(d["backwards"]), "backward"), (steps, "step")]
        return printable(f"<Recording of {d['title']}: {', '.join(counted(*entry) for entry in done)}>")


def _written(text: str, file: str | Path | None) -> str:
    if file is not None:
        # Names of files may have characters that UTF-8 has not; this writes JSON's escape of them.
        Path(file).write_text(text, encoding="utf-8", errors="backslashreplace")
    return text


class record:  # noqa: N801 - a context manager and decorator, as `no_grad` is
    """Records what a block does: each operation, each graph, each step of each backward. Costs nothing when off.

    Args:
        names: names for tensors and modules; variables of the block's function and of its file have theirs already.
        title: what the recording is called.
        values: "sample" looks at large arrays by a sample, "all" at every element.
        limit: how many operations, steps of a backward, and values are kept; what is left out is counted and said.

    It covers the thread that enters it, and threads that begin while it is on. As a decorator it records each call;
    the last recording is the function's attribute `recording`.

    >>> import retrograd as rg
    >>> x = rg.tensor(3.0, requires_grad=True)
    >>> with rg.inspect.record() as recording:
    ...     y = x**2
    ...     y.backward()
    >>> recording
    <Recording of ...: 1 operation, 1 backward, 2 steps>
    """

    recording: Recording

    def __init__(
        self,
        names: Mapping[str, Any] | None = None,
        *,
        title: str | None = None,
        values: str = "sample",
        limit: int = LIMIT,
    ) -> None:
        if values not in ("sample", "all"):
            raise ValueError(f"record(): values is {values!r}, but must be 'sample' or 'all'")
        if limit < 1:
            raise ValueError(f"record(): limit={limit} leaves nothing to record; it must be at least 1")
        if names is not None and not isinstance(names, Mapping):
            raise TypeError(f"record(): names maps names to tensors, but is of type {type(names).__name__}")
        self.names = names
        self.title = title
        self.everything: bool = values == "all"
        self.limit = limit
        self.recorder: Recorder | None = None
        self.recording = Recording()
        self._scope: FrameType | None = None
        self._before: Observer | None = None
        self._handles: list[Any] = []

    def __enter__(self) -> Recording:
        return self.begin(sys._getframe(1))

    def begin(self, frame: FrameType | None) -> Recording:
        """What entering the block does, for variables of this frame."""
        if self.recorder is not None:
            raise RuntimeError(
                "record(): this recording is on already. Make another record() for the inner block."
            )
        self.recording = Recording()
        self.recorder = recorder = Recorder(self.limit, self.everything)
        self._scope = frame
        self._handles = Follower(recorder, self._variables).handles()
        self._before = join(recorder)
        return self.recording

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        recorder, self.recorder = self.recorder, None
        assert recorder is not None
        observe(self._before)
        for handle in self._handles:
            handle.remove()
        recorder.open = False
        named = tensors_in(self._variables())
        self._scope = None
        self._finish(recorder, named)

    def _variables(self) -> dict[str, Any]:
        return variables(self._scope, self.names)

    def _finish(self, recorder: Recorder, named: Mapping[str, Tensor]) -> None:
        if not recorder.backwards:  # then the graph is what the variables hold
            for node in _nodes_behind(named):
                recorder.walk(node)
        recorder.close()
        self.recording._gathering = Gathering(recorder, named, self.title or default_title())

    def __call__(self, function: F) -> F:
        """The function, recorded whenever it is called."""
        name = getattr(function, "__qualname__", type(function).__qualname__)
        if any(kind(function) for kind in _LATER):
            raise TypeError(
                f"record(): the body of {name} runs after the call, when its result is asked for. "
                "Put `with record() as recording:` around what asks for it."
            )

        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            block = record(
                {**_enclosed(function), **(self.names or {})},
                title=self.title or name,
                values="all" if self.everything else "sample",
                limit=self.limit,
            )
            recorded.recording = block.begin(sys._getframe(1))  # type: ignore[attr-defined]
            try:
                return function(*args, **kwargs)
            finally:
                block.__exit__(None, None, None)

        return recorded  # type: ignore[return-value]


def _enclosed(function: Callable[..., Any]) -> dict[str, Any]:
    """The variables of a function that are those of the functions around it, but for what has no value yet."""
    function = inspect.unwrap(function)
    found: dict[str, Any] = {}
    if inspect.isfunction(function):
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            with suppress(ValueError):
                found[name] = cell.cell_contents
    return found


def _nodes_behind(named: Mapping[str, Tensor]) -> list[Any]:
    """All nodes of the graphs that tensors are the ends of."""
    todo = [tensor._node for tensor in named.values() if tensor._node is not None]
    seen = {id(node): node for node in todo}
    while todo:
        for succ in todo.pop().successors():
            if id(succ) not in seen:
                seen[id(succ)] = succ
                todo.append(succ)
    return list(seen.values())
