"""One module per array library: how its arrays are viewed, made, checked and moved."""
