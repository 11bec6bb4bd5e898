"""How `Module.to` and its like change parameters, as `torch.__future__`.

As it is, a parameter stays and gets other memory. It may also change places with a new one, so that whoever holds it
keeps it, with another class if need be; or be left alone, so that the module has new parameters.
"""

from __future__ import annotations

_overwrite = False
_swap = False


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether new parameters take the place of the old ones."""
    return _overwrite


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Has `Module.to` and its like make new parameters; those that others hold stay as they are."""
    global _overwrite
    _overwrite = bool(value)


def get_swap_module_params_on_conversion() -> bool:
    """Whether parameters change places with new ones."""
    return _swap


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Has `Module.to` and `load_state_dict` make new tensors, which change places with the old ones."""
    global _swap
    _swap = bool(value)
