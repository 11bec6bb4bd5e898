"""What storages have in common: copies of their elements as those of another dtype, by the dtypes' old names."""

from __future__ import annotations

from typing import Any

from retrograd.backends.dtypes import bfloat16
from retrograd.hints import Plain


class StorageConversions(Plain):
    """`storage.double()` and kin."""

    def _converted(self, dtype: Any) -> Any:
        raise NotImplementedError

    def double(self) -> Any:
        """The elements as float64."""
        return self._converted("float64")

    def float(self) -> Any:
        """The elements as float32."""
        return self._converted("float32")

    def half(self) -> Any:
        """The elements as float16."""
        return self._converted("float16")

    def bfloat16(self) -> Any:
        """The elements as bfloat16."""
        return self._converted(bfloat16)

    def long(self) -> Any:
        """The elements as int64."""
        return self._converted("int64")

    def int(self) -> Any:
        """The elements as int32."""
        return self._converted("int32")

    def short(self) -> Any:
        """The elements as int16."""
        return self._converted("int16")

    def char(self) -> Any:
        """The elements as int8."""
        return self._converted("int8")

    def byte(self) -> Any:
        """The elements as uint8."""
        return self._converted("uint8")

    def bool(self) -> Any:
        """The elements as truth values."""
        return self._converted("bool")

    def complex_double(self) -> Any:
        """The elements as complex128."""
        return self._converted("complex128")

    def complex_float(self) -> Any:
        """The elements as complex64."""
        return self._converted("complex64")
