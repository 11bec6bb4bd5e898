"""Making tensors, converting them, and asking about them."""
