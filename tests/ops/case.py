"""What a row of the op table is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from tests.ops.samples import Array, Domain, Sample, nonzero

# What a row may be excused from, each time with a reason.
EXCUSES = {
    "numpy": "the forward pass is compared with NumPy",
    "numeric": "gradients are compared with central differences",
    "real": "real inputs are taken",
    "complex": "complex inputs are taken",
    "jvp": "one node is made, whose forward-mode formula is compared",
    "second_order": "second derivatives are compared with central differences",
    "name": "the last node is called what PyTorch calls it",
    "float32": "float32 stays float32, and complex64 complex64",
}


@dataclass(frozen=True)
class Case:
    """One public differentiable operation: how to call it, on what, and what NumPy says."""

    name: str  # the path of the function in retrograd
    samples: tuple[Sample, ...]
    numpy: Callable[..., Any] | None = None  # called like the op, with arrays
    domain: Domain | tuple[Domain, ...] = nonzero
    excuses: dict[str, str] = field(default_factory=dict)
    call: Callable[..., Any] | None = None  # where it is not plainly function(*inputs, *args, **kwargs)
    form: str = ""  # which form of the function this row is, where it has several

    def __str__(self) -> str:
        return f"{self.name}-{self.form}" if self.form else self.name

    @property
    def domains(self) -> tuple[Domain, ...]:
        return self.domain if isinstance(self.domain, tuple) else (self.domain,)

    def arrays(self, sample: Sample, dtype: str) -> list[Array]:
        return sample.arrays(self.domains, dtype)

    @property
    def dtypes(self) -> list[str]:
        """The dtypes it takes that are precise enough for central differences."""
        return [d for d, kind in (("float64", "real"), ("complex128", "complex")) if kind not in self.excuses]

    def run(self, sample: Sample, inputs: Any) -> Any:
        """The op on tensors."""
        function = find(self.name)
        args = [as_argument(a) for a in sample.args]
        kwargs = {k: as_argument(v) for k, v in sample.kwargs.items()}
        return (self.call or function)(*inputs, *args, **kwargs)

    def reference(self, sample: Sample, arrays: list[Array]) -> Any:
        """The op by NumPy."""
        assert self.numpy is not None
        return self.numpy(*arrays, *sample.args, **sample.kwargs)


def find(path: str) -> Any:
    """The public function at `path`; a row whose function is not there fails by name."""
    found: Any = rg
    for name in path.split("."):
        if not hasattr(found, name):
            pytest.fail(
                f"retrograd.{path} does not exist, but tests/ops/cases.py has a row for it", pytrace=False
            )
        found = getattr(found, name)
    return found


def as_argument(value: Any) -> Any:
    return rg.Tensor(value, share=True) if isinstance(value, np.ndarray) else value
