"""What is measured: the same programs for every library, by subject."""

from rows import branches, chains, demand, large, layers, small
from rows.row import Row, Section

SECTIONS = (
    *chains.SECTIONS,
    *small.SECTIONS,
    *demand.SECTIONS,
    *layers.SECTIONS,
    *large.SECTIONS,
    *branches.SECTIONS,
)

__all__ = ["SECTIONS", "Row", "Section"]
