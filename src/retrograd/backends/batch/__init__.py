"""Arrays of which there is one for every sample of a batch: what `vmap` computes with. See array.py."""
