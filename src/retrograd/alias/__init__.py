"""retrograd under the name `torch`, for programs that are run as they are."""
