"""Steps of optimisers, one launch for each parameter: all its state is read and written once."""

from __future__ import annotations

from math import sqrt
from typing import Any, Final

ADAM: Final = """
T value = param, g = maximize ? -grad : grad;
if (decay != 0) { if (decoupled) value *= (T)(1 - lr * decay); else g += (T)decay * value; }
const T m = mean + (g - mean) * (T)(1 - beta1);
const T v = square * (T)beta2 + g * g * (T)(1 - beta2);
mean = m; square = v;
LARGEST
param = value - (T)rate * (m / (sqrt(v_used) / (T)root + (T)eps));
"""


class Steps:
    """The kernels, compiled when they are first needed."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.kernels: dict[bool, Any] = {}

    def adam(self, row: Any, rates: Any) -> bool:
        """Steps one parameter by Adam or AdamW, if it is of a kind that the kernel takes; says whether it has."""
        param, grad, mean, square, largest, step = row
        if param.dtype.char not in "fd" or grad.dtype is not param.dtype or mean.dtype is not param.dtype:
            return False
        lr, beta1, beta2, eps, decay, decoupled, maximize = rates
        numbers = (lr, lr / (1 - beta1**step), beta1, beta2, sqrt(1 - beta2**step), eps, decay)
        state = (param, mean, square) if largest is None else (param, mean, square, largest)
        self._kernel(largest is not None)(grad, *numbers, bool(decoupled), bool(maximize), *state)
        return True

    def _kernel(self, amsgrad: bool) -> Any:
        if amsgrad not in self.kernels:
            most = "largest = !(largest >= v) ? v : largest; const T v_used = largest;"
            numbers = ["lr", "rate", "beta1", "beta2", "root", "eps", "decay"]
            self.kernels[amsgrad] = self.cupy.ElementwiseKernel(
                f"T grad, {', '.join(f'float64 {n}' for n in numbers)}, bool decoupled, bool maximize",
                "T param, T mean, T square" + (", T largest" if amsgrad else ""),
                ADAM.replace("LARGEST", most if amsgrad else "const T v_used = v;"),
                "retrograd_adam",
            )
        return self.kernels[amsgrad]
