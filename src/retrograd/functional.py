"""Functions where PyTorch has them too, as `torch.functional`."""

from retrograd.lazy import lazily as _lazily

__getattr__, __dir__ = _lazily(
    __name__,
    {
        "retrograd": (
            "atleast_1d atleast_2d atleast_3d broadcast_shapes broadcast_tensors cartesian_prod block_diag cdist "
            "chain_matmul einsum istft lu norm meshgrid pca_lowrank split stft svd_lowrank tensordot unique "
            "unique_consecutive unravel_index"
        )
    },
)
