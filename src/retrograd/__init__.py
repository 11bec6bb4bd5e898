import retrograd.ops
from retrograd import autograd
from retrograd.core.tensor import Tensor
from retrograd.autograd import no_grad
