"""Hooks and files: handles of hooks, and what is said of hooks that a file does not hold."""

from retrograd.core.hooks import RemovableHandle, unserializable_hook, warn_if_has_hooks

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]
