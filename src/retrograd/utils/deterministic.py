"""Whether new memory is filled, as `torch.utils.deterministic`."""

# While algorithms are to be deterministic: with NaN, or the largest integer.
fill_uninitialized_memory: bool = True
