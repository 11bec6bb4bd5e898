"""Memory of tensors where PyTorch has it too, as `torch.storage`."""

from retrograd.ops.tensor.storage import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
