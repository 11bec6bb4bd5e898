"""What pickles of PyTorch's tensors call, as `torch._utils`."""

from retrograd.lazy import lazily as _lazily

__getattr__, __dir__ = _lazily(
    __name__,
    {
        "retrograd.serialization.rebuild": (
            "_rebuild_tensor=rebuild_tensor _rebuild_tensor_v2=rebuild_tensor_v2 _rebuild_tensor_v3=rebuild_tensor_v3 "
            "_rebuild_parameter=rebuild_parameter _rebuild_parameter_with_state=rebuild_parameter"
        ),
    },
)
