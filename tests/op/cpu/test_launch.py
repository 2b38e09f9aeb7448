import numpy as np

from cornerturn.op.cpu.box import Box
from cornerturn.op.cpu.launch import job_of
from cornerturn.op.cpu.plan import plan_problem
from cornerturn.op.cpu.way import Candidate
from cornerturn.op.problem import Axis, Problem

PROBLEM = Problem(4, (2000, 1000), (4, 8000), (4000, 4), offset_in=40, offset_out=80)


def test_a_job_has_tables_where_its_numbers_say() -> None:
    job_module = __import__("cornerturn.op.cpu.job", fromlist=["job"])
    box = Box(4, (Axis(1000, 8000, 4), Axis(2000, 4, 4000)), (100, 50))
    job = job_of(Candidate("tiles_4", box, False, False, 0), PROBLEM)
    numbers = job.numbers
    grid_at = numbers[job_module.GRID_AT]
    assert numbers[job_module.BOXES] == 10 * 40
    assert numbers[job_module.GRID] == 2
    assert numbers[grid_at : grid_at + 10].tolist() == [10, 100, 900, 8000, 4, 40, 50, 1950, 4, 4000]
    assert numbers[job_module.OFFSET_IN] == 40
    assert numbers[job_module.OFFSET_OUT] == 80
    assert numbers[job_module.RUNS] == 0


def test_tickets_hold_all_boxes() -> None:
    for way in plan_problem(PROBLEM, PROBLEM.itemsize).candidates:
        if way.box:
            job = job_of(way, PROBLEM)
            assert job.numbers.dtype == np.int64
            assert (job.tickets - 1) * job.numbers[2] < job.numbers[1] <= job.tickets * job.numbers[2]
            assert job.scratch_bytes >= (way.box.nbytes if way.scratch else 0)
