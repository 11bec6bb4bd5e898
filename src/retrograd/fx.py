"""`torch.fx`: what files call in passing. Functions are not traced here."""

from __future__ import annotations

from typing import NoReturn, TypeVar

from retrograd.nn.module import Module

__all__ = ["GraphModule", "wrap"]

T = TypeVar("T")


def wrap(fn_or_name: T) -> T:
    """A function as it is: a tracer would leave it whole."""
    return fn_or_name


class GraphModule(Module):
    """PyTorch's class of traced modules: it can be derived from and asked for, nothing here is one."""

    def __init__(self, *args: object, **named: object) -> NoReturn:
        raise NotImplementedError(
            "torch.fx.GraphModule: functions are not traced or compiled here. Write a torch.nn.Module with a forward."
        )
