"""Running a graph backwards. See README.md here for the picture."""
