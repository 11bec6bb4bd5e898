"""What pickles of PyTorch's tensors call, as `torch._tensor`."""

from retrograd.lazy import lazily as _lazily

__getattr__, __dir__ = _lazily(
    __name__,
    {
        "retrograd.core.tensor": "Tensor",
        "retrograd.overrides.default": "_convert=converted",
        "retrograd.serialization.rebuild": "_rebuild_from_type_v2=rebuild_from_type",
    },
)
