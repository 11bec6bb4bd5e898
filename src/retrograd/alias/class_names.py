"""PyTorch's names for classes: what `type(x)` shows in a program that runs under the alias, and what pickles say."""

from __future__ import annotations

import sys
from inspect import get_annotations
from typing import Any

# Where PyTorch has what ours has in another file; the name of a single class goes before that of its file.
_PLACES = {
    "autograd.modes": "autograd.grad_mode",
    "autograd.saved_hooks": "autograd.graph",
    "backends.device": "",
    "backends.dtype_class": "",
    "backends.layout_class": "",
    "backends.limits": "",
    "backends.memory_format": "",
    "core.hooks.RemovableHandle": "utils.hooks",
    "core.node.Node": "autograd.graph",
    "core.plain.Size": "",
    "core.tensor": "",
    "distributions.joint_transforms": "distributions.transforms",
    "distributions.number_transforms": "distributions.transforms",
    "distributions.transform": "distributions.transforms",
    "distributions.vector_transforms": "distributions.transforms",
    "errors.AcceleratorError": "",
    "errors.OutOfMemoryError": "",
    "nn.activation": "nn.modules.activation",
    "nn.adaptive_softmax": "nn.modules.adaptive",
    "nn.batchnorm": "nn.modules.batchnorm",
    "nn.containers": "nn.modules.container",
    "nn.conv": "nn.modules.conv",
    "nn.distance": "nn.modules.distance",
    "nn.dropout": "nn.modules.dropout",
    "nn.embedding": "nn.modules.sparse",
    "nn.instancenorm": "nn.modules.instancenorm",
    "nn.lazy_modules": "nn.modules.lazy",
    "nn.linear": "nn.modules.linear",
    "nn.losses": "nn.modules.loss",
    "nn.losses.LinearCrossEntropyOptions": "nn.modules.linear_cross_entropy_options",
    "nn.margin_losses": "nn.modules.loss",
    "nn.module": "nn.modules.module",
    "nn.multihead_attention": "nn.modules.activation",
    "nn.normalization": "nn.modules.normalization",
    "nn.padding": "nn.modules.padding",
    "nn.parameter_containers": "nn.modules.container",
    "nn.pooling": "nn.modules.pooling",
    "nn.recurrent": "nn.modules.rnn",
    "nn.recurrent_cells": "nn.modules.rnn",
    "nn.shapes": "nn.modules.upsampling",
    "nn.shapes.ChannelShuffle": "nn.modules.channelshuffle",
    "nn.shapes.Flatten": "nn.modules.flatten",
    "nn.shapes.Fold": "nn.modules.fold",
    "nn.shapes.PixelShuffle": "nn.modules.pixelshuffle",
    "nn.shapes.PixelUnshuffle": "nn.modules.pixelshuffle",
    "nn.shapes.Unflatten": "nn.modules.flatten",
    "nn.shapes.Unfold": "nn.modules.fold",
    "nn.sync_batchnorm": "nn.modules.batchnorm",
    "nn.transformer": "nn.modules.transformer",
    "ops.random.generator": "_C",
    "ops.tensor.typed_storage": "storage",
    "ops.tensor.untyped_storage": "storage",
    "optim.adafactor": "optim",
    "optim.muon": "optim",
    "serialization.choices": "serialization",
    "streams": "",
    "symbolic": "",
    "utils.checkpoint_frame": "utils.checkpoint",
    "utils.selective": "utils.checkpoint",
}
# Packages whose files are PyTorch's.
_ALIKE = (
    "amp.autocast_mode", "amp.grad_scaler", "autograd.anomaly_mode", "autograd.forward_ad", "autograd.function",
    "autograd.graph", "autograd.variable", "distributions.", "nn.parallel.", "nn.parameter", "nn.utils.", "optim.",
    "return_types", "utils.checkpoint", "utils.data.",
)  # fmt: skip


def give_name(thing: Any) -> None:
    """Gives a class of ours the name that PyTorch's has; others, and all that is no class, stay as they are."""
    if not isinstance(thing, type) or not thing.__module__.startswith("retrograd."):
        return
    path = thing.__module__.removeprefix("retrograd.")
    place = _PLACES.get(f"{path}.{thing.__name__}", _PLACES.get(path))
    if place is None and path.startswith(_ALIKE):
        place = "optim.lr_scheduler" if path.startswith("optim.lr_scheduler.") else path
    if place is not None:
        _resolve_annotations(thing)
        thing.__module__ = f"torch.{place}".rstrip(".")


def _resolve_annotations(thing: type) -> None:
    """Makes types of a class's annotations, whose texts are read in the module that it says it is from."""
    texts = get_annotations(thing)
    if texts:
        module = sys.modules.get(thing.__module__)  # None: nothing of it has been asked for yet
        names = {} if module is None else vars(module)
        thing.__annotations__ = {field: _evaluated(text, names, thing) for field, text in texts.items()}


def _evaluated(text: Any, names: dict[str, Any], thing: type) -> Any:
    """What an annotation says; Any for what only type checkers can read."""
    try:
        while isinstance(text, str):  # a name may stand for a text
            text = eval(text, names, dict(vars(thing)))  # noqa: S307 - it stands in a file of ours
    except (NameError, TypeError):
        return Any
    return text
