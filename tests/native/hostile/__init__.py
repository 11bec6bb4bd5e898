"""Calls of the pack with arguments that nobody should pass: none may crash, or touch memory that is not its own."""
