from cornerturn.emulator import Access
from cornerturn.lab.counts import Counters, count


def access(space, kind, **counts):
    return Access(0, "k.cu:1", "", space, kind, width=4, lanes=32, **counts)


def test_counts_are_summed_by_space_and_kind():
    counters = count(
        [
            access("global", "load", requests=1, sectors=32, sectors_ideal=4),
            access("global", "load", requests=2, sectors=8, sectors_ideal=8),
            access("global", "store", requests=4, sectors=16, sectors_ideal=15),
            access("shared", "load", requests=8, wavefronts=256, wavefronts_ideal=8),
            access("shared", "store", requests=16, wavefronts=17, wavefronts_ideal=16),
            access("global", "atomic", requests=100, sectors=100, sectors_ideal=100),
            access("local", "load", requests=100),
        ]
    )
    assert counters == Counters(3, 40, 12, 4, 16, 15, 8, 256, 8, 16, 17, 16)
    assert [(traffic.place, traffic.requests, traffic.found, traffic.ideal) for traffic in counters.by_place()] == [
        ("global load", 3, 40, 12),
        ("global store", 4, 16, 15),
        ("shared load", 8, 256, 8),
        ("shared store", 16, 17, 16),
    ]
