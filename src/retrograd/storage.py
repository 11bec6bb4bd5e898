"""Memory of tensors where PyTorch has it too, as `torch.storage`."""

from retrograd.lazy import lazily as _lazily
from retrograd.ops.tensor.typed_storage import TypedStorage
from retrograd.ops.tensor.typed_storage import forget_the_warning as _reset_warn_typed_storage_removal
from retrograd.ops.tensor.typed_storage import warn_of_typed_storage as _warn_typed_storage_removal
from retrograd.ops.tensor.untyped_storage import UntypedStorage

_StorageBase = UntypedStorage  # what tools ask storages for

__getattr__, __dir__ = _lazily(
    __name__,
    {
        "retrograd.serialization.loading": "_load_from_bytes=load_storage",
        "retrograd.legacy_storages": "_LegacyStorage _dtype_to_storage_type_map",
    },
)

__all__ = [
    "TypedStorage",
    "UntypedStorage",
    "_reset_warn_typed_storage_removal",
    "_warn_typed_storage_removal",
]
