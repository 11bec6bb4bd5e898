"""What `import torch` finds in a program run by `retrograd run`: it puts retrograd into its own place."""

from retrograd.alias.install import install_as_torch

install_as_torch()
