"""Use it: any array in, its transposed copy out."""
