"""Whether new memory is filled, as `torch.utils.deterministic`. NumPy fills none: the switch is remembered only."""

fill_uninitialized_memory: bool = True
