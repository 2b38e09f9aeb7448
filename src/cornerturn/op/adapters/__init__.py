"""One module an array library: any array becomes strided views of its memory, and a result of its own kind."""
