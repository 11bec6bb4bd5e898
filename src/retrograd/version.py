"""The version of the package: here, and copied nowhere. `pyproject.toml` reads this line without running it."""

__version__ = "0.1.0"

# What else `torch.version` has.
cuda = hip = xpu = rocm = None
debug = False
git_version = "unknown"
