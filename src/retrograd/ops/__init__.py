"""The op library. Importing it plugs the operators in and gives Tensor the method forms of functions."""

from retrograd.ops.operators import plug_in

plug_in()
