"""What PyTorch was built with and what its compilers do, as `torch._C` tells it; here nothing is compiled."""

from __future__ import annotations

from retrograd.backends import flags
from retrograd.backends.device import device
from retrograd.core.modes import current
from retrograd.ops.tensor.settings import get_default_device

has_lapack, has_spectral = True, True
_has_cuda = _has_mps = _has_xpu = _has_mkldnn = _has_cudnn = _has_magma = False


def _get_cpu_capability() -> str:
    """The instructions that kernels use."""
    return flags.cpu.get_cpu_capability()


def _get_privateuse1_backend_name() -> str:
    """What a device that extensions bring would be called."""
    return "privateuseone"


def _jit_set_profiling_executor(enabled: bool) -> bool:
    """Whether traced programs were watched before this call: there are none."""
    return False


def _jit_set_profiling_mode(enabled: bool) -> bool:
    """The same."""
    return False


def _get_graph_executor_optimize(enabled: bool | None = None) -> bool:
    """Whether traced programs are optimised: there are none."""
    return False


def _jit_set_num_profiled_runs(count: int) -> int:
    """How many runs were watched before this call: none."""
    return 0


def _get_tracing_state() -> None:
    """What is being traced: nothing ever is."""


def _are_functorch_transforms_active() -> bool:
    """Whether a function of `torch.func` is running."""
    return current().transforms > 0


def _get_accelerator() -> device:
    """The device that computes fastest, as far as programs that ask here are concerned."""
    return device("cpu")


def _get_default_device() -> str:
    """Where new tensors are made, as text."""
    return str(get_default_device())
