"""DeviceMesh: ranks laid out as a grid, with a group for each of its rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd.core.tensor import Tensor
from retrograd.distributed.groups import default_group, get_process_group_ranks, get_rank, is_initialized
from retrograd.distributed.starting import init_process_group, new_subgroups_by_enumeration
from retrograd.ops.tensor.data import from_numpy

_WHICH = "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1."


class DeviceMesh:
    """Ranks of the world as a grid. All ranks of the world make it, with the same arguments.

    Args:
        device_type: "cpu" or "cuda".
        mesh: the ranks, nested as the grid is.
        mesh_dim_names: a name for each dimension.

    >>> import retrograd as rg
    >>> rg.distributed.init_process_group()
    >>> mesh = rg.distributed.init_device_mesh("cpu", (1, 1), mesh_dim_names=("data", "model"))
    >>> mesh
    DeviceMesh((data=1, model=1), 'cpu')
    >>> mesh["data"].size(), mesh.get_local_rank("model")
    (1, 0)
    >>> rg.distributed.destroy_process_group()
    """

    def __init__(
        self, device_type: str, mesh: Any, *, mesh_dim_names: Sequence[str] | None = None, _groups: Any = None
    ) -> None:
        self.device_type = device_type
        self._ranks = np.asarray(mesh.numpy() if isinstance(mesh, Tensor) else mesh, np.int32)
        self.mesh_dim_names: tuple[str, ...] | None = (
            None if mesh_dim_names is None else tuple(mesh_dim_names)
        )
        self._groups: list[Any] = self._made_groups() if _groups is None else _groups

    def _made_groups(self) -> list[Any]:
        """For each dimension, the group of the ranks that only differ in their place along it."""
        world = default_group()
        if self._ranks.size > world.size():
            raise RuntimeError(
                f"Mesh should not be bigger than default world size {world.size()}, but found {self._ranks.size} ranks!"
            )
        if self._ranks.ndim == 1 and self._ranks.tolist() == world.ranks:
            return [world]
        lines = [np.moveaxis(self._ranks, axis, -1) for axis in range(self._ranks.ndim)]
        return [new_subgroups_by_enumeration(each.reshape(-1, each.shape[-1]).tolist())[0] for each in lines]

    @property
    def mesh(self) -> Tensor:
        """The ranks, as a tensor."""
        return from_numpy(self._ranks.copy())

    @property
    def shape(self) -> tuple[int, ...]:
        """How long each dimension is."""
        return tuple(self._ranks.shape)

    @property
    def ndim(self) -> int:
        """How many dimensions there are."""
        return int(self._ranks.ndim)

    def size(self, mesh_dim: int | None = None) -> int:
        """How many ranks there are, in the whole or along one dimension."""
        return int(self._ranks.size if mesh_dim is None else self._ranks.shape[mesh_dim])

    def get_rank(self) -> int:
        """This process's rank in the world."""
        return get_rank()

    def get_coordinate(self) -> tuple[int, ...] | None:
        """Where this rank is in the grid; None if it is not."""
        found = np.argwhere(self._ranks == get_rank())
        return tuple(found[0].tolist()) if len(found) else None

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """This rank's place along a dimension."""
        found = self.get_coordinate()
        if found is None:
            raise RuntimeError(f"rank {get_rank()} is not in {self}")
        return found[self._dimension(mesh_dim)]

    def get_group(self, mesh_dim: int | str | None = None) -> Any:
        """The group of the ranks along a dimension that this one is in."""
        return self._groups[self._dimension(mesh_dim)]

    def get_all_groups(self) -> list[Any]:
        """The groups that this rank is in, one for each dimension."""
        return list(self._groups)

    def _dimension(self, given: int | str | None) -> int:
        if given is None:
            if self.ndim > 1:
                raise RuntimeError(f"Found the DeviceMesh have {self.ndim} dimensions", _WHICH)
            return 0
        if isinstance(given, int):
            return given
        if given not in (self.mesh_dim_names or ()):
            raise KeyError(
                f"Mesh dimension '{given}' does not exist.",
                f"Available mesh dimensions are: mesh_dim_names={self.mesh_dim_names}",
            )
        return (self.mesh_dim_names or ()).index(given)

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        """The part of the grid along some dimensions that this rank is in."""
        if not self.mesh_dim_names:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        wanted = (names,) if isinstance(names, str) else tuple(names)
        if not set(wanted) <= set(self.mesh_dim_names):
            raise KeyError(
                f"Invalid mesh_dim_names {wanted} specified. Valid mesh_dim_names are {list(self.mesh_dim_names)}."
            )
        axes = [self.mesh_dim_names.index(name) for name in wanted]
        place = self.get_coordinate() or (0,) * self.ndim
        others = tuple(slice(None) if axis in axes else at for axis, at in enumerate(place))
        kept = [axis for axis in range(self.ndim) if axis in axes]
        ranks = self._ranks[others].transpose([kept.index(axis) for axis in axes])
        groups = [self._groups[axis] for axis in axes]
        return DeviceMesh(self.device_type, ranks, mesh_dim_names=wanted, _groups=groups)

    @staticmethod
    def from_group(
        group: Any, device_type: str, mesh: Any = None, *, mesh_dim_names: Sequence[str] | None = None
    ) -> DeviceMesh:
        """A mesh of groups there are already: of one, or of one for each dimension of `mesh`."""
        groups = list(group) if isinstance(group, (list, tuple)) else [group]
        ranks = get_process_group_ranks(groups[0]) if mesh is None else mesh
        return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names, _groups=groups)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DeviceMesh)
            and self.device_type == other.device_type
            and self.mesh_dim_names == other.mesh_dim_names
            and np.array_equal(self._ranks, other._ranks)
        )

    def __hash__(self) -> int:
        return hash((self.device_type, self.mesh_dim_names, self._ranks.tobytes(), self.shape))

    def __repr__(self) -> str:
        names = self.mesh_dim_names
        sizes = [str(n) if names is None else f"{names[i]}={n}" for i, n in enumerate(self.shape)]
        inside = f"{sizes[0]}," if names is None and len(sizes) == 1 else ", ".join(sizes)
        return f"DeviceMesh(({inside}), '{self.device_type}')"


def init_device_mesh(
    device_type: str,
    mesh_shape: Sequence[int],
    *,
    mesh_dim_names: Sequence[str] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:
    """The ranks 0, 1, 2, … as a grid of a shape; starts the world if it is not there."""
    names = None if mesh_dim_names is None else tuple(mesh_dim_names)
    if names is not None and len(set(names)) != len(names):
        raise RuntimeError(
            f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names {names}"
        )
    if names is not None and len(names) != len(mesh_shape):
        raise RuntimeError(
            "mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names): "
            f"{len(names)} and len(mesh_shape):{len(mesh_shape)}."
        )
    if not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. ",
            "If you maintained a 'torch.device' object, it's recommended to pass in 'device.type'.",
        )
    if not is_initialized():
        init_process_group()
    count = int(np.prod(mesh_shape))
    return DeviceMesh(device_type, np.arange(count).reshape(mesh_shape), mesh_dim_names=names)
