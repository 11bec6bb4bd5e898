"""Which GPUs there are, which of them is the current one, and what they are."""

from __future__ import annotations

from typing import Any

from retrograd.backends.base import BACKENDS, accelerator, check_device, open_device
from retrograd.backends.device import device as Device


def is_available() -> bool:
    """Whether tensors can live on a GPU: CuPy is installed, and finds one.

    >>> is_available() == (device_count() > 0)
    True
    """
    return accelerator() is not None


def device_count() -> int:
    """How many GPUs there are."""
    return len(BACKENDS.on(Device("cuda")).devices) if is_available() else 0


def is_initialized() -> bool:
    """Whether a GPU is in use."""
    return "cuda" in BACKENDS.by_device


def library() -> Any:
    """CuPy; an AssertionError, PyTorch's, says what is missing."""
    try:
        open_device("cuda")
    except RuntimeError as error:
        raise AssertionError(f"Torch not compiled with CUDA enabled: {error}") from error
    return BACKENDS.on(Device("cuda")).cupy


def init() -> None:
    """Loads CuPy, which otherwise happens when a GPU is first used."""
    library()


def index_of(device: Any) -> int:
    """The number of a GPU, given as a number, a text or a device; None is the current one."""
    cupy = library()
    if device is None:
        return int(cupy.cuda.runtime.getDevice())
    found = check_device(Device("cuda", device) if isinstance(device, int) else device)
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {found}")
    return found.index or 0


def current_device() -> int:
    """The number of the GPU on which this thread makes arrays unless it says where."""
    return index_of(None)


def set_device(device: Any) -> None:
    """Makes a GPU the current one of this thread; a negative number changes nothing."""
    if not (isinstance(device, int) and device < 0):
        library().cuda.Device(index_of(device)).use()


class device:  # noqa: N801 - torch's name
    """A block in which a GPU is the current one; None or a negative number changes nothing."""

    prev_idx: int

    def __init__(self, device: Any) -> None:
        self.idx: int = -1 if device is None or (isinstance(device, int) and device < 0) else index_of(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = current_device()
            set_device(self.idx)

    def __exit__(self, *error: object) -> None:
        if self.idx >= 0:
            set_device(self.prev_idx)


class device_of(device):  # noqa: N801 - torch's name
    """A block in which a tensor's GPU is the current one."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


class DeviceProperties:
    """What a GPU is: its name, memory, capability and number of processors."""

    def __init__(self, index: int) -> None:
        found = library().cuda.runtime.getDeviceProperties(index)
        self.name: str = found["name"].decode()
        self.total_memory: int = found["totalGlobalMem"]
        self.major: int = found["major"]
        self.minor: int = found["minor"]
        self.multi_processor_count: int = found["multiProcessorCount"]
        self.warp_size: int = found["warpSize"]
        self.L2_cache_size: int = found["l2CacheSize"]

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, multi_processor_count={self.multi_processor_count})"
        )


def get_device_properties(device: Any = None) -> DeviceProperties:
    """What a GPU is."""
    return DeviceProperties(index_of(device))


def get_device_name(device: Any = None) -> str:
    """The name of a GPU."""
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Which generation a GPU belongs to: (9, 0) is Hopper."""
    found = get_device_properties(device)
    return found.major, found.minor


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether one GPU can read another's memory."""
    return bool(library().cuda.runtime.deviceCanAccessPeer(index_of(device), index_of(peer_device)))


def synchronize(device: Any = None) -> None:
    """Waits until a GPU has done all its work."""
    library()
    BACKENDS.on(Device("cuda")).synchronize(Device("cuda", index_of(device)))


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a GPU computes in bfloat16."""
    return is_available() and (including_emulation or get_device_capability()[0] >= 8)


def is_tf32_supported() -> bool:
    """Whether a GPU computes in TF32."""
    return is_available() and get_device_capability()[0] >= 8


def cudart() -> Any:
    """CUDA's run-time library, by CuPy's names."""
    return library().cuda.runtime


def current_blas_handle() -> int:
    """The address by which cuBLAS knows this thread's work on the current GPU."""
    found: int = library().cuda.device.get_cublas_handle()
    return found


def get_gencode_flags() -> str:
    """What nvcc would be told to compile for the GPU at hand."""
    kinds = [kind.removeprefix("sm_") for kind in get_arch_list()]
    return " ".join(f"-gencode compute=compute_{kind},code=sm_{kind}" for kind in kinds)


def get_arch_list() -> list[str]:
    """The kinds of GPU that kernels are compiled for: the one at hand."""
    return ["sm_{}{}".format(*get_device_capability())] if is_available() else []
