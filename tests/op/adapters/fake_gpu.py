"""A GPU of which only the facts are asked, for plans without one."""

from cornerturn.gpu import DeviceFacts
from cornerturn.kernels.production.h200 import H200
from cornerturn.op.gpu import engine
from cornerturn.op.gpu.plan import choose
from cornerturn.op.problem import canonical

FACTS = DeviceFacts(3, "Fake GPU", "sm_90", H200.rates.multiprocessors, 1 << 20, 1 << 30, False, "13.0")


def asked_ordinals(monkeypatch):
    """Have the planner meet the fake GPU whatever it asks for; return the list of ordinals that it asks for."""
    asked = []
    monkeypatch.setattr(engine, "facts_of", lambda ordinal: asked.append(ordinal) or FACTS)
    return asked


def choice_for(x, axes=None):
    """What the planner chooses for a NumPy array at the same place in memory as the one on the fake GPU."""
    y = x.transpose(axes)
    strides_out = [y.itemsize]
    for extent in y.shape[:0:-1]:
        strides_out.insert(0, strides_out[0] * extent)
    problem = canonical(y.itemsize, y.shape, y.strides, tuple(strides_out))
    return choose(problem, (y.ctypes.data + problem.offset_in) % 32, 0)
