"""Neighbours average often, all ranks seldom."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from retrograd.distributed.algorithms.model_averaging.averagers import (
    ModelAverager,
    checked_period,
    checked_warmup,
)
from retrograd.distributed.algorithms.model_averaging.utils import (
    Params,
    average_parameters_or_parameter_groups,
)
from retrograd.distributed.starting import new_subgroups


class HierarchicalModelAverager(ModelAverager):
    """Averages every so many steps within groups of so many neighbours.

    Args:
        period_group_size_dict: the size of the groups for each period; the longest has all ranks. Where several
            periods end in a step, the longest counts.
        warmup_steps: steps before the first average.
        process_group: the ranks; all if None.
    """

    def __init__(
        self, period_group_size_dict: Any = None, warmup_steps: int = 0, process_group: Any = None
    ) -> None:
        super().__init__(process_group)
        if not period_group_size_dict:
            raise ValueError("Arg ``period_group_size_dict`` must not be empty.")
        sizes = OrderedDict(sorted(period_group_size_dict.items()))
        self._periods = list(sizes)
        checked_period(self._periods[0])
        whole, longest = self.process_group.size(), sizes[self._periods[-1]]
        if longest != whole:
            raise ValueError(
                f"The last value in arg ``period_process_group_dict`` {longest} must be equal to the size of arg "
                f"``process_group`` {whole}."
            )
        self.period_process_group_dict: OrderedDict[int, Any] = OrderedDict(
            (period, self.process_group if size == whole else new_subgroups(size, self.process_group)[0])
            for period, size in sizes.items()
        )
        self.warmup_steps: int = checked_warmup(warmup_steps)

    def _find_process_group(self) -> Any:
        """The group that averages in this step, or None."""
        for period in reversed(self._periods):
            if self.step % period == 0:
                return self.period_process_group_dict[period]
        return None

    def average_parameters(self, params: Params) -> None:
        if self.step >= self.warmup_steps:
            group = self._find_process_group()
            if group is not None:
                average_parameters_or_parameter_groups(params, group)
        self.step += 1
