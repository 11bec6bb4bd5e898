"""Ranks that train by themselves for some steps, and then average their parameters."""
