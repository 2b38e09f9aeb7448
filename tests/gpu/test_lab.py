"""The laboratory on a device: what `cornerturn bench` measures there."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from cornerturn.cli import main
from cornerturn.kernels.catalogue import find
from cornerturn.kernels.kernel import View
from cornerturn.lab import TimingPlan, distinct, run_emulated, run_on_gpu
from cornerturn.toolchain import unavailable_reason as not_installed


def test_device_and_emulator_leave_the_same_bits(device):
    x = distinct(100, 52)
    on_gpu, emulated = run_on_gpu(find("naive"), x, device), run_emulated(find("naive"), x)
    assert on_gpu.valid
    assert on_gpu.timing is None
    assert np.array_equal(on_gpu.output, emulated.output)


def test_a_wrong_output_is_found(device, monkeypatch):
    monkeypatch.setattr("cornerturn.lab.run.expected_output", lambda kernel, x: x.T ^ np.uint32(1))
    run = run_on_gpu(find("naive"), distinct(64, 64), device, TimingPlan(repeat=1, warmup=1))
    assert run.mismatch.wrong == 64 * 64
    assert run.mismatch.unwritten == 0
    assert run.timing.median > 0


@pytest.mark.parametrize("options", [[], ["--cold"]])
def test_bench_times_every_kernel_against_the_roof(device, tmp_path, options):
    path = tmp_path / "out.json"
    arguments = ["bench", "--device", "gpu", "--size", "512x512", "--repeat", "40", "--json", str(path), *options]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    report = json.loads(path.read_text())
    assert report["device"]["kind"] == "gpu"
    assert report["device"]["name"] == device.facts.name
    for row in report["results"]:
        kernel = find(row["kernel"])
        if isinstance(kernel, View) or kernel.refuses(512, 512) or not_installed(kernel.source, device.facts.arch):
            assert row["refused"]
            continue
        assert row["valid"], row
        assert row["gbps"] == pytest.approx(row["bytes"] / row["seconds"] / 1e9)
        assert row["roof_share"] > 0
        assert row["counters"] is row["instructions"] is None
    copy = next(row for row in report["results"] if row["kernel"] == "copy")
    assert copy["roof_share"] <= 1
