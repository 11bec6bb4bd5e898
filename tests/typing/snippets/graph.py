from typing import reveal_type

import retrograd as rg

y = rg.ones(3, requires_grad=True).exp()
node = y.grad_fn
reveal_type(node)  # reveals: Node | None
assert node is not None
reveal_type(node.name())  # reveals: str
reveal_type(node.next_functions)  # reveals: tuple[tuple[Node | None, int], ...]
reveal_type(node.register_hook(lambda inputs, outputs: None))  # reveals: RemovableHandle
