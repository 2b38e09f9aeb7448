"""``python -m cornerturn``, the same as the ``cornerturn`` command."""

from cornerturn.cli import main

main()
