"""`torch._jit_internal`: words for types, and marks for functions, that programs import from there."""

from __future__ import annotations

from typing import Any, Dict, Final, List, Optional, Tuple, Union  # noqa: F401, UP035 - names that programs import

from retrograd.futures import Future as Future
from retrograd.jit import _overload as _overload
from retrograd.jit import _overload_method as _overload_method
from retrograd.jit import export as export
from retrograd.jit import ignore as ignore
from retrograd.jit import is_scripting as is_scripting
from retrograd.jit import unused as unused
from retrograd.nn.functional_names import boolean_dispatch as boolean_dispatch


class BroadcastingListCls:
    """A number, or as many as there are dimensions: `BroadcastingList2[int]` in an annotation."""

    def __getitem__(self, types: Any) -> None:
        return None


BroadcastingList1: Final = BroadcastingListCls()
BroadcastingList2 = BroadcastingList3 = BroadcastingList4 = BroadcastingList1
BroadcastingList5 = BroadcastingList6 = BroadcastingList1
