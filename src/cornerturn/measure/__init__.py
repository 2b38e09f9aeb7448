"""Equipment that times `op` and its peers: what is compared, against whom, and the tuning of tiles."""
