"""CuPy's arrays: tensors on NVIDIA's GPUs."""
