from typing import reveal_type

import retrograd as rg

x = rg.ones(3, 4)
reveal_type(x.ndim)  # reveals: int
reveal_type(x.shape)  # reveals: Size
reveal_type(x.shape[0])  # reveals: int
reveal_type(x.shape[1:])  # reveals: Size
reveal_type(x.size())  # reveals: Size
reveal_type(x.size(0))  # reveals: int
reveal_type(x.stride())  # reveals: tuple[int, ...]
reveal_type(x.is_contiguous())  # reveals: bool
reveal_type(x.dtype)  # reveals: dtype
reveal_type(x.device)  # reveals: device
reveal_type(len(x))  # reveals: int
