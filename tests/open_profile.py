"""A profile whose special kernels are candidates however small an array is: tests of them depend on no limit."""

from dataclasses import replace

from cornerturn.kernels.production.h200 import H200

OPEN = replace(H200, lone_ragged=(), tile_bytes=1, ragged_tile_bytes=1)
