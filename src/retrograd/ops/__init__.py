"""The op library. Importing it plugs the operators in and installs the method forms of functions on Tensor."""

from retrograd.ops.methods import install_methods
from retrograd.ops.operators import plug_in

plug_in()
install_methods()
