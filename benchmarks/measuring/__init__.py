"""How things are measured, and how results are shown."""
