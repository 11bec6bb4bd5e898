"""What networks are made of: activations, losses, normalisation, convolution, pooling, attention."""
