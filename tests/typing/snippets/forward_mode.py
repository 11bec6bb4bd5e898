from typing import reveal_type

import retrograd as rg
from retrograd.autograd import forward_ad

with forward_ad.dual_level():
    dual = forward_ad.make_dual(rg.ones(2), rg.ones(2))
    reveal_type(dual)  # reveals: Tensor
    reveal_type(forward_ad.unpack_dual(dual).tangent)  # reveals: Tensor | None
