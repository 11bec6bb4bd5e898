"""Neural networks: modules, their parameters, and the functions that they call.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.nn import functional, init
    from retrograd.nn.containers import Container, ModuleDict, ModuleList, Sequential
    from retrograd.nn.linear import Bilinear, Identity, LazyLinear, Linear
    from retrograd.nn.module import Module
    from retrograd.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
    from retrograd.nn.parameter_containers import ParameterDict, ParameterList
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.nn.functional": "functional=",
            "retrograd.nn.init": "init=",
            "retrograd.nn.containers": "Container ModuleDict ModuleList Sequential",
            "retrograd.nn.linear": "Bilinear Identity LazyLinear Linear",
            "retrograd.nn.module": "Module",
            "retrograd.nn.parameter": "parameter= Buffer Parameter UninitializedBuffer UninitializedParameter",
            "retrograd.nn.parameter_containers": "ParameterDict ParameterList",
        },
    )

__all__ = ["functional"]
