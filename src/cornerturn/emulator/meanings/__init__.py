"""What PTX instructions compute: one short function of NumPy arrays per instruction."""
