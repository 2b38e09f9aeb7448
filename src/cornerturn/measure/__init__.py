"""Equipment that times `op` and its peers: what is compared, against whom, and the tuning of tiles."""

from cornerturn.measure import compare_views  # noqa: F401  says how a comparison shows itself
