"""Indexing."""
from typing import Any
def getitem(x: Any, index: Any) -> Any: raise RuntimeError
def setitem(x: Any, index: Any, value: Any) -> None: raise RuntimeError
FUNCTIONS: tuple[Any, ...] = ()
