"""Switches of PyTorch's kernels, as `torch.backends.cudnn`. They can be set; NumPy computes in one way only.

Each is a module whose flags are its attributes, so that `import torch.backends.cudnn as cudnn` works too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final

_FROZEN: list[bool] = [False]
# Those whose switches `disable_global_flags` freezes; PyTorch sets the others as ever.
_FREEZING = frozenset(f"retrograd.backends.{name}" for name in ("cudnn", "miopen", "mkldnn"))


def disable_global_flags() -> None:
    """From now on switches are only set for a while, by `flags()`: `torch.backends.disable_global_flags`."""
    _FROZEN[0] = True


def flags_frozen() -> bool:
    """Whether that was called."""
    return _FROZEN[0]


class Flags(ModuleType):
    """The switches of one library, and whether it is there."""

    _available: bool
    _names: tuple[str, ...]

    def __setattr__(self, name: str, value: Any) -> None:
        if _FROZEN[0] and name in self._names and self.__name__ in _FREEZING:
            raise RuntimeError(
                f"not allowed to set {self.__name__} flags after disable_global_flags; please use flags() context "
                "manager instead"
            )
        super().__setattr__(name, value)

    def __init__(self, name: str, available: bool, **flags: Any) -> None:
        super().__init__(f"retrograd.backends.{name}", f"What scripts ask about `torch.backends.{name}`.")
        vars(self).update(flags, _available=available, _names=tuple(flags))

    def is_available(self) -> bool:
        """Whether it computes here."""
        return self._available

    def is_built(self) -> bool:
        """Whether it could, on another machine."""
        return self._available

    def version(self) -> int | None:
        """Its version; None if it is not there."""
        return None

    def is_acceptable(self, tensor: Any) -> bool:
        """Whether it takes a tensor."""
        return False

    def set_flags(self, *values: Any, **flags: Any) -> tuple[Any, ...]:
        """Sets switches, by their order or by name, and gives the values from before."""
        flags = {
            **dict(zip(self._names, values, strict=False)),
            **{n.lstrip("_"): v for n, v in flags.items()},
        }
        before = tuple(vars(self)[name] for name in self._names)
        vars(self).update({name: value for name, value in flags.items() if value is not None})
        return before

    @contextmanager
    def flags(self, *values: Any, **flags: Any) -> Iterator[None]:
        """A context in which switches have other values."""
        before = self.set_flags(*values, **flags)
        try:
            yield
        finally:
            vars(self).update(zip(self._names, before, strict=True))


def _with_precisions(flags: Flags, precision: str, *kinds: str) -> Flags:
    """The switches, with those of how exactly each kind of operation computes in float32."""
    name = flags.__name__.removeprefix("retrograd.backends.")
    vars(flags).update({k: Flags(f"{name}.{k}", available=False, fp32_precision=precision) for k in kinds})
    return flags


class AttentionFlags(Flags):
    """Which kernels attention may use on a GPU, and how exact products of matrices are there."""

    def __init__(self) -> None:
        super().__init__("cuda", False)
        self.matmul: Flags = Flags(
            "cuda.matmul",
            available=False,
            allow_tf32=False,
            allow_fp16_reduced_precision_reduction=True,
            allow_bf16_reduced_precision_reduction=True,
            allow_fp16_accumulation=False,
            fp32_precision="none",
        )
        self.cufft_plan_cache: Flags = Flags("cuda.cufft_plan_cache", available=False, size=0, max_size=0)
        self._kernels = dict.fromkeys(("flash", "mem_efficient", "math", "cudnn"), True)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """`flash_sdp_enabled`, `enable_flash_sdp` and their like."""
        kernels = vars(self).get("_kernels", {})
        kernel = name.removeprefix("enable_").removesuffix("_enabled").removesuffix("_sdp")
        if kernel in kernels and name == f"{kernel}_sdp_enabled":
            return lambda: kernels[kernel]
        if kernel in kernels and name == f"enable_{kernel}_sdp":
            return lambda enabled: kernels.__setitem__(kernel, bool(enabled))
        raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")

    def preferred_linalg_library(self, backend: str | None = None) -> str:
        """What factors matrices: NumPy's LAPACK, whatever is preferred."""
        return "default"

    preferred_blas_library = preferred_linalg_library

    @contextmanager
    def sdp_kernel(
        self,
        enable_flash: bool = True,
        enable_math: bool = True,
        enable_mem_efficient: bool = True,
        enable_cudnn: bool = True,
    ) -> Iterator[None]:
        """A context in which attention may use these kernels."""
        before = dict(self._kernels)
        self._kernels.update(
            flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn
        )
        try:
            yield
        finally:
            self._kernels.update(before)


class MhaFlags(Flags):
    """Whether `TransformerEncoder` leaves padding out where no gradient is needed."""

    def get_fastpath_enabled(self) -> bool:
        """Whether it may."""
        return bool(vars(self)["fastpath"])

    def set_fastpath_enabled(self, value: bool) -> None:
        """Says whether it may."""
        vars(self)["fastpath"] = value


class Processor(Flags):
    """What the processor can do."""

    def get_cpu_capability(self) -> str:
        """The instructions that the native pack uses, by PyTorch's names."""
        from retrograd.backends.pack import PACK

        return "DEFAULT" if PACK is None else str(PACK.instruction_set()).upper()


cudnn: Final = _with_precisions(
    Flags(
        "cudnn",
        available=False,
        enabled=True,
        benchmark=False,
        benchmark_limit=None,
        deterministic=False,
        allow_tf32=True,
        fp32_precision="none",
    ),
    "tf32",
    "conv",
    "rnn",
)
miopen: Final = Flags("miopen", available=False, immediate=False)
mkl: Final = Flags("mkl", available=False)
mkldnn: Final = _with_precisions(
    Flags(
        "mkldnn", available=False, enabled=True, deterministic=False, allow_tf32=True, fp32_precision="none"
    ),
    "none",
    "conv",
    "matmul",
    "rnn",
)
mha: Final = MhaFlags("mha", available=True, fastpath=True)
mps: Final = Flags("mps", available=False)
openmp: Final = Flags("openmp", available=False)
nnpack: Final = Flags("nnpack", available=False, enabled=False)
opt_einsum: Final = Flags("opt_einsum", available=False, enabled=False, strategy=None)
python_native: Final = Flags("python_native", available=False, available_dsls=[], all_dsls=[])
quantized: Final = Flags("quantized", available=False, engine="none", supported_engines=["none"])
cusparselt: Final = Flags("cusparselt", available=False)
cuda: Final = AttentionFlags()
cpu: Final = Processor("cpu", available=True)
xnnpack: Final = Flags("xnnpack", available=False, enabled=False)
