"""The command with models beyond 2 GB: what they take of memory, the file beside an ONNX model, and
what an interrupt or a full disk leaves."""

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import onnx
import onnxruntime
import pytest
import torch
import unfuse
from command import COMMAND
from compiling import assert_close
from exported_models import DATA
from torch import nn
from torch.export import Dim

WIDTH, ROWS = 1024, 2**19 + 2**16
BYTES = 4 * WIDTH * ROWS
MEBIBYTE = 2**20
#: What is named besides the output itself.
EXPORT, DECOMPOSE = ("model.onnx", ("model.onnx.data",)), ("plain.pt2", ())
COMMANDS = pytest.mark.parametrize(
    "command,files", [("export", EXPORT), ("decompose", DECOMPOSE)], ids=["export", "decompose"]
)


class Large(nn.Module):
    """A fused layer over a table of 2.3 GB."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(ROWS, WIDTH, _weight=torch.zeros(ROWS, WIDTH))
        self.down = nn.Linear(WIDTH, 32)
        self.layer = nn.TransformerEncoderLayer(32, 2, 64, batch_first=True)

    def forward(self, ids):
        return self.layer(self.down(self.table(ids)))


@pytest.fixture(scope="module")
def folder():
    """One that is gone when the tests are: pytest keeps its own."""
    with tempfile.TemporaryDirectory(prefix="unfuse-large-") as name:
        if shutil.disk_usage(name).free < 3 * BYTES:
            pytest.skip(f"the folder of temporary files has no room for {3 * BYTES} bytes")
        yield Path(name)


@pytest.fixture(scope="module")
def large(folder):
    """(model, path of its archive)"""
    torch.manual_seed(0)
    with torch.no_grad():
        model = Large().eval().requires_grad_(False)
        for row in (0, 1, ROWS // 2, ROWS - 1):
            model.table.weight[row] = torch.randn(WIDTH)
        ids = torch.tensor([[0, 1, ROWS // 2], [ROWS - 1, 2, 0]])
        sizes = ({0: Dim.DYNAMIC, 1: Dim.DYNAMIC},)
        program = torch.export.export(model, (ids,), dynamic_shapes=sizes, strict=True)
    torch.export.save(program, folder / "model.pt2")
    return model, folder / "model.pt2"


@pytest.fixture
def place(folder):
    with tempfile.TemporaryDirectory(dir=folder) as name:
        yield Path(name)


def most_memory(*call):
    """What a process had in memory at most, pages of mapped files among it."""
    # A process counts as its own what the one that it was forked from held: a small one does it.
    script = """
import os, subprocess, sys
_, status, usage = os.wait4(subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL).pid, 0)
print(status, usage.ru_maxrss)
"""
    ran = subprocess.run(
        [sys.executable, "-S", "-c", script, *map(str, call)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    status, kibibytes = map(int, ran.stdout.split())
    assert status == 0, ran.stderr
    return kibibytes * 1024


def files_in(path):
    return sorted(file.name for file in path.iterdir())


# --- What they become


def test_onnx_has_its_weights_in_a_file_of_their_own(large, place):
    model, archive = large
    path = place / "model.onnx"
    most = most_memory(COMMAND, "export", archive, "-o", path)
    # The weights are read where the file is mapped; nothing of that size is held besides.
    assert most < BYTES + 300 * MEBIBYTE
    assert files_in(place) == ["model.onnx", "model.onnx.data"]
    assert path.stat().st_size < MEBIBYTE
    assert (place / "model.onnx.data").stat().st_size >= BYTES
    onnx.checker.check_model(str(path), full_check=True)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    for ids in ([[0, 1, ROWS // 2], [ROWS - 1, 2, 0]], [[ROWS - 1, 0, 1, 1]]):
        (result,) = session.run(None, {session.get_inputs()[0].name: torch.tensor(ids).numpy()})
        assert_close(torch.from_numpy(result), model(torch.tensor(ids)))


@pytest.mark.parametrize("to", ["sdpa", "core"])
def test_weights_are_copied_without_being_held(large, place, to):
    path = place / "plain.pt2"
    start = time.monotonic()
    most = most_memory(COMMAND, "decompose", large[1], "-o", path, "--to", to)
    assert time.monotonic() - start < 60
    assert most < 64 * MEBIBYTE
    assert path.stat().st_size >= BYTES


# --- What stops them


def put_old(place, files):
    output, beside = files
    for name in (output, *beside):
        (place / name).write_text(f"old {name}")
    return place / output


def assert_old(place, files):
    output, beside = files
    assert files_in(place) == sorted((output, *beside))
    for name in (output, *beside):
        assert (place / name).read_text() == f"old {name}"


def is_being_written(place, known, enough):
    """Whether a file that is none of the known ones has got that long."""
    with contextlib.suppress(FileNotFoundError):
        return any(
            file.name not in known and file.stat().st_size >= enough for file in place.iterdir()
        )
    return False


@COMMANDS
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("enough", [0, 64 * MEBIBYTE])
def test_a_signal_leaves_the_old_files(command, files, stop, enough, large, place):
    output = put_old(place, files)
    process = subprocess.Popen(
        [COMMAND, command, large[1], "-o", output],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Whoever runs the tests in the background may have it ignored.
        preexec_fn=lambda: signal.signal(stop, signal.SIG_DFL),
    )
    while not is_being_written(place, (files[0], *files[1]), enough):
        assert process.poll() is None, "it was done before it could be stopped"
    process.send_signal(stop)
    assert process.wait(timeout=60) == -stop
    assert_old(place, files)


def limited(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@COMMANDS
@pytest.mark.parametrize("size", [0, 100, 64 * MEBIBYTE])
def test_a_file_that_may_not_get_so_long(command, files, size, large, place):
    output = put_old(place, files)
    ran = subprocess.run(
        [COMMAND, command, large[1], "-o", output],
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=limited(size),
    )
    assert ran.returncode == 6
    assert "cannot write: File too large" in ran.stderr
    assert_old(place, files)


@contextlib.contextmanager
def small_disk(place, size):
    """A file system of `size` bytes."""
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "unfuse-test", place], capture_output=True
    )
    if made.returncode != 0:
        pytest.skip("file systems cannot be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", place], check=True)


@COMMANDS
def test_a_full_disk(command, files, large, place):
    with small_disk(place, 64 * MEBIBYTE):
        output = put_old(place, files)
        ran = subprocess.run(
            [COMMAND, command, large[1], "-o", output], capture_output=True, text=True, timeout=120
        )
        assert ran.returncode == 6
        assert "No space left on device" in ran.stderr
        assert_old(place, files)


def test_a_disk_that_has_room_for_the_weights_and_not_for_the_model(place):
    """The second of two files fails: neither old one is touched."""
    export = unfuse._unfuse.export_onnx
    longest = 25000  # the weights of this model do not fit
    source = os.fsencode(DATA / "vit.pt2")
    whole = place / "whole"
    whole.mkdir()
    export(source, "", os.fsencode(whole / "model.onnx"), 20, "op", longest)
    sizes = [(whole / name).stat().st_size for name in ("model.onnx", "model.onnx.data")]
    page = 4096
    pages = [-(-size // page) for size in sizes]
    assert pages[0] > 2
    disk = place / "disk"
    disk.mkdir()
    with small_disk(disk, (pages[1] + 2 + 2) * page):  # and the two old files
        output = put_old(disk, EXPORT)
        with pytest.raises(unfuse.Error, match="No space left on device"):
            export(source, "", os.fsencode(output), 20, "op", longest)
        assert_old(disk, EXPORT)
