import ctypes
import threading
import time

import numpy as np
import pytest

from cornerturn.op.adapters.jax_gate import Gate

Function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


class Behind:
    """A gate before ``handler``; a call goes through it as from a foreign thread, with 64-bit words as its argument."""

    def __init__(self, handler):
        self.refused = []
        self.handler, self.refuse = Function(handler), Function(self.answer)
        self.table = np.array([7, 7, ctypes.cast(self.refuse, ctypes.c_void_p).value])
        self.frame = np.array([7, self.table.ctypes.data])
        self.gate = Gate(ctypes.cast(self.handler, ctypes.c_void_p).value, 8, 16, 0x5EF)
        self.entrance = Function(self.gate.address)

    def answer(self, argument):
        self.refused.append(argument)
        return 0xBAD

    def __call__(self):
        return self.entrance(self.frame.ctypes.data)


def test_an_open_gate_gives_the_handler_what_came_and_the_caller_what_it_returns():
    came = []
    behind = Behind(lambda argument: came.append(argument) or 0x600D)
    assert [behind(), behind()] == [0x600D, 0x600D]
    assert came == [behind.frame.ctypes.data] * 2
    assert not behind.refused


def test_a_closed_gate_answers_by_the_function_in_the_table():
    behind = Behind(lambda argument: pytest.fail("went through"))
    behind.gate.close()
    behind.gate.close()
    assert [behind(), behind()] == [0xBAD, 0xBAD]
    assert behind.refused == [0x5EF] * 2


def test_closing_waits_for_those_inside():
    arrived, leave, order = threading.Event(), threading.Event(), []

    def handler(argument):
        arrived.set()
        leave.wait()
        order.append("left")
        return 0

    behind = Behind(handler)
    inside = threading.Thread(target=behind)
    closing = threading.Thread(target=lambda: (behind.gate.close(), order.append("closed")))
    inside.start()
    arrived.wait()
    closing.start()
    while not behind.gate._closed[0]:
        time.sleep(0.001)
    assert behind() == 0xBAD
    closing.join(0.05)
    assert order == []
    leave.set()
    inside.join()
    closing.join()
    assert order == ["left", "closed"]
