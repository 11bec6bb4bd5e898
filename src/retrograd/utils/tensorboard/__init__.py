"""Logs that TensorBoard shows, as `torch.utils.tensorboard` writes them."""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.utils.tensorboard.writer import SummaryWriter
else:
    __getattr__, __dir__ = _lazily(__name__, {"retrograd.utils.tensorboard.writer": "SummaryWriter"})

__all__ = ["SummaryWriter"]
