"""What pickles of PyTorch's tensors call, and packages ask, as `torch._utils`."""

from retrograd.lazy import lazily as _lazily

__getattr__, __dir__ = _lazily(
    __name__,
    {
        "retrograd.absent": "_is_privateuse1_backend_available=is_available",
        "retrograd.backends.dtypes": "_element_size=element_size",
        "retrograd.serialization.rebuild": (
            "_rebuild_tensor=rebuild_tensor _rebuild_tensor_v2=rebuild_tensor_v2 _rebuild_tensor_v3=rebuild_tensor_v3 "
            "_rebuild_parameter=rebuild_parameter _rebuild_parameter_with_state=rebuild_parameter "
            "_rebuild_meta_tensor_no_storage=rebuild_meta_tensor"
        ),
        "retrograd.utils.exceptions": "ExceptionWrapper KeyErrorMessage=_Text",
        "retrograd.utils.flat_tensors": (
            "_flatten_dense_tensors=flatten_dense_tensors _take_tensors=take_tensors "
            "_unflatten_dense_tensors=unflatten_dense_tensors"
        ),
    },
)
