"""Elements and rows picked by index or mask, and put back."""
