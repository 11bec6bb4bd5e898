"""Everything that knows which array library is in use."""
