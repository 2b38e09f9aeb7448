"""The user's own kernel and matrix: read from a ``.cu`` file with its launch, and checked for mistakes with a name."""
