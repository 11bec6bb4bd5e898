"""What no argument, no file and no shortage may do: end the process, hang it, or leave it in another state."""
