"""Memory of tensors where PyTorch has it too, as `torch.storage`."""

from retrograd.lazy import lazily as _lazily
from retrograd.ops.tensor.storage import TypedStorage, UntypedStorage

__getattr__, __dir__ = _lazily(__name__, {"retrograd.serialization.loading": "_load_from_bytes=load_storage"})

__all__ = ["TypedStorage", "UntypedStorage"]
