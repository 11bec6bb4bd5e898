"""`torch._jit_internal`: words for types, and marks for functions, that programs import from there."""

from __future__ import annotations

from typing import Any, Dict, Final, List, Optional, Tuple, Union  # noqa: UP035

# ruff: noqa: F401 - what is imported is what programs import from here
from retrograd.futures import Future
from retrograd.jit import _overload, _overload_method, export, ignore, is_scripting, unused
from retrograd.nn.functional_names import boolean_dispatch


class BroadcastingListCls:
    """A number, or as many as there are dimensions: `BroadcastingList2[int]` in an annotation."""

    def __getitem__(self, types: Any) -> None:
        return None


BroadcastingList1: Final = BroadcastingListCls()
BroadcastingList2 = BroadcastingList3 = BroadcastingList4 = BroadcastingList1
BroadcastingList5 = BroadcastingList6 = BroadcastingList1
