import os
import random
import shutil
import signal
import subprocess
import sys
import time
from math import prod
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cornerturn.errors import UsageError
from cornerturn.files import read_npy_header
from cornerturn.op import file as file_module
from cornerturn.op.file import HONOURED_MEMORY, MIN_MEMORY, box_shape, transpose_file
from cornerturn.op.problem import canonical


def saved(path, array):
    np.save(path, array)
    return path


def numbered(shape, dtype="u4", order="C"):
    """An array in which every element's bytes are its own number, repeated or cut to size."""
    size = np.dtype(dtype).itemsize
    numbers = np.arange(prod(shape), dtype="<u8")[:, None].view(np.uint8)
    content = np.tile(numbers, -(-size // 8))[:, :size].tobytes()
    return np.array(np.frombuffer(content, dtype).reshape(shape), order=order)


class TestFiles:
    @pytest.mark.filterwarnings("ignore:Stored array in format 3.0")
    @pytest.mark.parametrize("order", ["C", "F"])
    @pytest.mark.parametrize("memory", [MIN_MEMORY, 1 << 30])
    @pytest.mark.parametrize(
        ("shape", "axes", "dtype"),
        [
            ((), None, "<f8"),
            ((5,), None, ">i2"),
            ((1, 5, 1), None, "u1"),
            ((0, 3), None, "<f4"),
            ((3, 4, 5), (-1, 0, 1), "S3"),
            ((1000, 1003), None, ">u4"),
            ((700, 3, 501), (0, 2, 1), "u1"),
            ((3, 300001), None, "<u8"),
            ((300001, 3), None, "S12"),
            ((17, 9, 11, 13, 40), (3, 1, 4, 0, 2), "<c16"),
            ((300, 40, 40), (1, 0, 2), [("a", "<f4"), ("b", ">i2")]),
            ((30, 40), None, [("\u8cea\u91cf", "<f4"), ("b", ">i2")]),
        ],
    )
    def test_every_element_arrives(self, tmp_path, shape, axes, dtype, order, memory):
        x = numbered(shape, dtype, order)
        source, target = saved(tmp_path / "x.npy", x), tmp_path / "y.npy"
        header = transpose_file(source, target, axes, memory=memory)
        y = np.load(target)
        assert header == read_npy_header(target)
        assert (y.shape, y.dtype) == (x.transpose(axes).shape, x.dtype)
        assert not header.fortran_order
        assert y.tobytes() == x.transpose(axes).tobytes()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["x.npy", "y.npy"]

    def test_a_terminated_process_tidies_up_and_says_how_it_ended(self, tmp_path):
        source = tmp_path / "x.npy"
        with source.open("wb") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (9000, 9000)})
            file.truncate(file.tell() + 8 * 9000 * 9000)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "NUMBA_NUM_THREADS": "4"}
        command = [sys.executable, "-m", "cornerturn", "transpose", "--memory", "64MiB", source, tmp_path / "y.npy"]
        for number, status in [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGTERM, 143)]:
            with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) as process:
                while len(list(tmp_path.iterdir())) < 2 and process.poll() is None:
                    time.sleep(0.01)
                time.sleep(0.2 * random.random())
                process.send_signal(number)
                process.communicate(timeout=60)
            assert process.returncode == status
            assert list(tmp_path.iterdir()) == [source]

    def test_a_file_may_take_its_own_place(self, tmp_path):
        path = saved(tmp_path / "x.npy", numbered((30, 40)))
        transpose_file(path, path, force=True)
        assert np.array_equal(np.load(path), numbered((30, 40)).T)

    def test_reads_and_writes_that_do_less_than_asked_are_continued(self, tmp_path, monkeypatch):
        monkeypatch.setattr(file_module, "_CALL_BYTES", 7)
        source, target = saved(tmp_path / "x.npy", numbered((30, 40))), tmp_path / "y.npy"
        transpose_file(source, target)
        assert np.array_equal(np.load(target), numbered((30, 40)).T)

    def test_progress_rises_to_all(self, tmp_path):
        shares = []
        transpose_file(
            saved(tmp_path / "x.npy", numbered((900, 900))), tmp_path / "y.npy", memory=MIN_MEMORY, step=shares.append
        )
        assert len(shares) > 100
        assert shares == sorted(shares)
        assert shares[-1] == 1

    def test_buffers_stay_within_the_memory(self, tmp_path, monkeypatch):
        sizes = []
        allocate = file_module.empty_c_order
        monkeypatch.setattr(
            file_module, "empty_c_order", lambda shape, dtype: sizes.append(prod(shape)) or allocate(shape, dtype)
        )
        transpose_file(saved(tmp_path / "x.npy", numbered((2000, 2000))), tmp_path / "y.npy", memory=MIN_MEMORY)
        assert MIN_MEMORY / 4 < sum(sizes) <= MIN_MEMORY


@pytest.mark.parametrize("memory", [HONOURED_MEMORY, 512 << 20])
def test_a_process_stays_within_its_memory(tmp_path, memory):
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("peak memory is read from Linux's /proc")
    source = tmp_path / "x.npy"
    with source.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (8192, 8192)})
        file.truncate(file.tell() + 4 * 8192 * 8192)
    code = (
        "import sys; from pathlib import Path; from cornerturn.op.file import transpose_file;"
        "transpose_file(Path(sys.argv[1]), Path(sys.argv[2]), memory=int(sys.argv[3]));"
        "print(Path('/proc/self/status').read_text())"
    )
    command = [sys.executable, "-c", code, source, tmp_path / "y.npy", str(memory)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (peak,) = (int(line.split()[1]) << 10 for line in done.stdout.splitlines() if line.startswith("VmHWM:"))
    assert peak < memory


class TestRefusals:
    @pytest.mark.parametrize("force", [False, True])
    def test_a_file_that_exists_is_kept_unless_forced(self, tmp_path, force):
        source, target = saved(tmp_path / "x.npy", numbered((3, 4))), tmp_path / "y.npy"
        target.write_text("old")
        if force:
            transpose_file(source, target, force=True)
            assert np.load(target).shape == (4, 3)
        else:
            with pytest.raises(UsageError, match=r"y\.npy: the file exists: .* --force"):
                transpose_file(source, target)
            assert target.read_text() == "old"

    def test_a_full_disk_is_noticed_before_the_work(self, tmp_path, monkeypatch):
        monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=47))
        with pytest.raises(UsageError, match=r"y\.npy: the output takes 48 bytes and its disk has 47 bytes free"):
            transpose_file(saved(tmp_path / "x.npy", numbered((3, 4))), tmp_path / "y.npy")
        assert not (tmp_path / "y.npy").exists()

    def test_a_full_disk_is_told_in_readable_units(self, tmp_path, monkeypatch):
        monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=999))
        with pytest.raises(UsageError, match=r"takes 1\.5 MB and its disk has 999 bytes free"):
            transpose_file(saved(tmp_path / "x.npy", np.zeros((500, 3000), "u1")), tmp_path / "y.npy")

    def test_a_circle_of_links_is_no_place_to_write_to(self, tmp_path):
        (tmp_path / "y.npy").symlink_to("y.npy")
        with pytest.raises(UsageError, match="cannot be written: Too many levels of symbolic links"):
            transpose_file(saved(tmp_path / "x.npy", numbered((3, 4))), tmp_path / "y.npy")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"axes": (0, 0)}, "axes must name each of the 2 axes"),
            ({"memory": MIN_MEMORY - 1}, "memory must be at least 1048576 bytes: got 1048575"),
        ],
    )
    def test_bad_options(self, tmp_path, options, message):
        with pytest.raises(UsageError, match=message):
            transpose_file(saved(tmp_path / "x.npy", numbered((3, 4))), tmp_path / "y.npy", **options)

    @pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError])
    def test_a_run_that_ends_early_leaves_what_was_there(self, tmp_path, failure):
        source, target = saved(tmp_path / "x.npy", numbered((3, 4))), tmp_path / "y.npy"
        target.write_text("old")

        def step(share):
            raise failure

        with pytest.raises(failure):
            transpose_file(source, target, force=True, step=step)
        assert target.read_text() == "old"
        assert len(list(tmp_path.iterdir())) == 2

    def test_an_input_that_shrinks_meanwhile(self, tmp_path):
        source = saved(tmp_path / "x.npy", numbered((900, 900)))
        with pytest.raises(UsageError, match="the input became shorter while it was read"):
            transpose_file(source, tmp_path / "y.npy", memory=MIN_MEMORY, step=lambda share: os.truncate(source, 1000))
        assert not (tmp_path / "y.npy").exists()

    def test_an_input_that_is_changed_meanwhile(self, tmp_path):
        source, target = saved(tmp_path / "x.npy", numbered((900, 900))), tmp_path / "y.npy"

        def change(share):
            with source.open("r+b") as file:
                file.seek(4000)
                file.write(b"other")

        with pytest.raises(UsageError, match=r"x\.npy: the input was changed while it was read: leave it alone"):
            transpose_file(source, target, memory=MIN_MEMORY, step=change)
        assert list(tmp_path.iterdir()) == [source]

    @pytest.mark.parametrize("force", [False, True])
    def test_a_file_that_appears_meanwhile_is_kept_unless_forced(self, tmp_path, force):
        source, target = saved(tmp_path / "x.npy", numbered((3, 4))), tmp_path / "y.npy"
        step = lambda share: target.write_text("other")  # noqa: E731
        if force:
            transpose_file(source, target, force=True, step=step)
            assert np.load(target).shape == (4, 3)
        else:
            with pytest.raises(UsageError, match=r"y\.npy: a file has appeared there meanwhile: .* --force"):
                transpose_file(source, target, step=step)
            assert target.read_text() == "other"
        assert sorted(tmp_path.iterdir()) == [source, target]


class TestBoxes:
    @given(data=st.data(), ndim=st.integers(0, 5), nbytes=st.integers(1, 1 << 16))
    def test_fit_and_cannot_grow(self, data, ndim, nbytes):
        shape = data.draw(st.lists(st.integers(2, 50), min_size=ndim, max_size=ndim))
        axes = data.draw(st.permutations(range(ndim)))
        view = np.empty(shape, np.uint8).transpose(axes)
        problem = canonical(1, view.shape, view.strides, np.empty(view.shape, np.uint8).strides)
        box = box_shape(problem, nbytes)
        assert all(1 <= size <= extent for size, extent in zip(box, problem.shape, strict=True))
        volume = prod(box) * problem.itemsize
        assert volume <= max(nbytes, problem.itemsize)
        assert box == problem.shape or 2 * volume > nbytes

    @pytest.mark.parametrize(
        ("shape", "axes", "nbytes", "box"),
        [
            ((32768, 65536), (1, 0), 1 << 28, (8192, 8192)),
            ((1 << 28, 3), (1, 0), 1 << 20, (3, 65536)),
            ((3, 1 << 28), (1, 0), 1 << 20, (65536, 3)),
            ((64, 1000, 1000), (0, 2, 1), 1 << 22, (1, 1000, 1000)),
        ],
    )
    def test_runs_are_long_in_both_files(self, shape, axes, nbytes, box):
        view = np.lib.stride_tricks.as_strided(
            np.empty(0, np.uint32), shape, [4 * prod(shape[axis + 1 :]) for axis in range(len(shape))]
        ).transpose(axes)
        out = [4 * prod(view.shape[axis + 1 :]) for axis in range(len(shape))]
        assert box_shape(canonical(4, view.shape, view.strides, tuple(out)), nbytes) == box
