"""What a checkpoint keeps: policies that choose operations whose results are not computed again in backward."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from retrograd.core.selection import Selection, ask, switch_on, unlinked
from retrograd.ops.aten import OpOverload, overload_of, overload_of_node


class CheckpointPolicy(enum.Enum):
    """What becomes of the result of an operation. Here, "prefer" is "must": nothing decides otherwise."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4  # kept where it is
    PREFER_CPU_OFFLOAD = 5


_RECOMPUTED = (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE)

# Operations that policies are not asked about.
SAC_IGNORED_OPS = frozenset({overload_of("detach", "default")})


class SelectiveCheckpointContext:
    """What a policy is told besides the operation: whether it runs again, and what it has given."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


class _Kept:
    """The result of one operation, and the op as its forward has left it."""

    def __init__(self, op: Any, outs: Sequence[Any]) -> None:
        self.op = op
        self.arrays = [out.array for out in outs]
        self.counters = [out._version_counter() for out in outs]
        self.versions = [counter.version for counter in self.counters]

    def is_mutated(self) -> bool:
        return any(c.version != v for c, v in zip(self.counters, self.versions, strict=True))


class _Table:
    """What was kept, by operation; None for a result that is to be computed again, False for one that was taken."""

    def __init__(self, may_mutate: bool) -> None:
        self.rows: dict[OpOverload, list[_Kept | bool | None]] = {}
        self.may_mutate = may_mutate


class _Context(Selection, AbstractContextManager[None]):
    """A selection that is on inside of a block."""

    def __init__(self, table: _Table) -> None:
        self.table = table

    def __enter__(self) -> None:
        switch_on(self)

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        ask(self.outer)

    def result_of(self, op: Any, operands: Sequence[Any]) -> tuple[Any, Any]:
        """What a dispatch mode around the checkpoint says; checkpoints around it are not asked."""
        around = self.outer
        while isinstance(around, _Context):
            around = around.outer
        return (op, None) if around is None else around.result_of(op, operands)


class _First(_Context):
    """The first run: keeps what the policy says."""

    def __init__(self, table: _Table, policy: Callable[..., Any]) -> None:
        super().__init__(table)
        self.policy = policy

    def has_made(self, op: Any, operands: Sequence[Any], outs: Sequence[Any], constants: Any) -> None:
        name = overload_of_node(type(op).__name__)
        if name in SAC_IGNORED_OPS:
            return
        several = len(outs) > 1
        context = SelectiveCheckpointContext(
            is_recompute=False, op_output=tuple(outs) if several else outs[0]
        )
        chosen = self.policy(context, name, *operands)
        keeps = chosen if isinstance(chosen, bool) else chosen not in _RECOMPUTED
        # A view costs nothing to make again.
        kept = None if op.is_view or not keeps else _Kept(unlinked(op, constants), outs)
        self.table.rows.setdefault(name, []).append(kept)


class _Again(_Context):
    """A second run: takes what was kept."""

    def __enter__(self) -> None:
        super().__enter__()
        self.places: dict[OpOverload, int] = {}

    def result_of(self, op: Any, operands: Sequence[Any]) -> tuple[Any, Any]:
        name = overload_of_node(type(op).__name__)
        row, place = self.table.rows.get(name, ()), self.places.get(name, 0)
        self.places[name] = place + 1
        if place >= len(row) or row[place] is None:
            return super().result_of(op, operands)
        kept = row[place]
        if not isinstance(kept, _Kept):
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint: what it kept is used up."
            )
        if kept.is_mutated() and not self.table.may_mutate:
            raise RuntimeError(
                f"Tensor cached during selective activation checkpoint has been mutated: a result of {name}, which was "
                "kept, was written in place since. Write into a clone(), or pass allow_cache_entry_mutation=True."
            )
        self.table.rows[name][place] = False
        return kept.op, tuple(kept.arrays) if len(kept.arrays) > 1 else kept.arrays[0]


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """The contexts of a checkpoint that keeps some results: for `checkpoint(..., context_fn=...)`.

    Args:
        policy_fn_or_list: operations whose results are kept, as `torch.ops.aten.mm.default`; or a function of a
            SelectiveCheckpointContext, the operation and its operands that gives a CheckpointPolicy.
        allow_cache_entry_mutation: whether what was kept may have been written in place since.

    >>> import retrograd as rg
    >>> from functools import partial
    >>> from retrograd.ops import aten
    >>> from retrograd.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> keep_products = partial(create_selective_checkpoint_contexts, [aten.mm.default])
    >>> x = rg.eye(2, requires_grad=True)
    >>> y = checkpoint(lambda x: (x @ x).sin() @ x, x, use_reentrant=False, context_fn=keep_products)
    >>> y.sum().backward()
    """
    if isinstance(policy_fn_or_list, list):
        policy = _of_list(policy_fn_or_list)
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    table = _Table(allow_cache_entry_mutation)
    return _First(table, policy), _Again(table)


def _of_list(ops: list[Any]) -> Callable[..., CheckpointPolicy]:
    """The policy that keeps results of these operations."""
    for op in ops:
        if not isinstance(op, OpOverload):
            raise ValueError(
                f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. Please update the "
                "OpOverloadPacket to a specific OpOverload: `torch.ops.aten.mm.default` for `torch.ops.aten.mm`."
            )
    chosen = frozenset(ops)

    def policy(_: SelectiveCheckpointContext, op: OpOverload, *args: Any) -> CheckpointPolicy:
        return CheckpointPolicy.MUST_SAVE if op in chosen else CheckpointPolicy.PREFER_RECOMPUTE

    return policy
