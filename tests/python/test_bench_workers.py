"""The processes of the benchmark, with engines that compute nothing; its cases; its arguments."""

import dataclasses
import json
import os
import subprocess
import sys

import pytest
import torch

import bench
from bench import arguments, cases, engines, limits, plan
from bench.connection import LineProcess, Worker, WorkerError
from bench.limits import Limits
from bench.peak_memory import PeakMemory
from bench.session import Session

HERE = os.path.dirname(__file__)
CASE = "call/one-op"
NOT_BUILT = f"{limits.PROGRAM} is not built: ./dev build"


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Starts workers with engines of bench_engines.py, and ends them."""
    monkeypatch.setenv("PYTHONPATH", HERE)
    started = []

    def begin(name):
        log = tmp_path / "log"
        worker = Worker(f"bench_engines:{name}", 1, tmp_path / name, log)
        started.append(worker)
        return worker

    yield begin
    for worker in started:
        worker.stop()


def ask(worker, **request):
    worker.ask(**request)
    return worker.answer(60)


def test_a_worker_loads_once_runs_on_request_and_ends_with_its_input(start, tmp_path):
    worker = start("Answering")
    loaded = ask(worker, do="load", case=CASE)
    assert loaded["note"] == "does nothing"
    assert loaded["parts"] == {"nothing": 0.5}
    assert loaded["sample"][0] == 0 and loaded["sample"][-1] == 999
    assert 0 < loaded["first_seconds"] <= loaded["prepare_seconds"]
    ran = ask(worker, do="run", runs=5)
    assert len(ran["seconds"]) == 5
    assert ask(worker, do="release") == {}
    # What it printed is in the log, and not among the answers.
    assert "a library prints" in (tmp_path / "log").read_text()
    worker.stop()
    assert worker.exit_code == 0


def test_a_request_that_fails_says_why_in_a_line(start):
    worker = start("Failing")
    with pytest.raises(WorkerError, match="^ValueError: it cannot be done$"):
        ask(worker, do="load", case=CASE)
    with pytest.raises(WorkerError, match="nothing is loaded"):
        ask(worker, do="run", runs=1)
    with pytest.raises(WorkerError, match="no request 'dance'"):
        ask(worker, do="dance")
    assert worker.is_alive


def test_a_worker_that_dies_is_noticed(start):
    worker = start("Dying")
    ask(worker, do="load", case=CASE)
    with pytest.raises(WorkerError, match="ended by SIGKILL, perhaps for want of memory"):
        ask(worker, do="run", runs=1)
    assert not worker.is_alive
    left = start("Leaving")
    with pytest.raises(WorkerError, match="exit code 3"):
        ask(left, do="load", case=CASE)
    with pytest.raises(WorkerError, match="exit code 3"):
        ask(left, do="release")


def test_a_worker_that_takes_too_long_is_ended(start):
    worker = start("Stuck")
    worker.ask(do="load", case=CASE)
    with pytest.raises(WorkerError, match="no answer within 1 s"):
        worker.answer(1)
    assert not worker.is_alive


def test_answers_may_come_in_pieces(tmp_path):
    script = (
        "import time\nfor part in '{\"a\"', ': 1}\\n{\"a\": 2}\\n': "
        "print(part, end='', flush=True); time.sleep(0.1)"
    )
    process = LineProcess([sys.executable, "-c", script], tmp_path / "log", {})
    assert process.receive(30) == {"a": 1}
    assert process.receive(30) == {"a": 2}
    process.stop()


class ConstantMeter:
    def measure(self):
        return Limits(100e9, 10e9)


def session(tmp_path, *names, **options):
    places = {name: f"bench_engines:{engine}" for name, engine in names}
    return Session(places, 1, tmp_path, ConstantMeter(), effort=plan.QUICK, **options)


def one_op(**changes):
    return dataclasses.replace(cases.find(CASE), **changes)


@pytest.fixture
def from_here(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", HERE)
    monkeypatch.syspath_prepend(HERE)


def test_every_engine_has_a_turn_in_every_round(tmp_path, from_here, monkeypatch):
    # One of them would keep too much memory, and comes for its turns only.
    monkeypatch.setattr("bench_engines.Other.score_copies", 2)
    monkeypatch.setattr("bench_engines.Other.keeps_scores", True)
    monkeypatch.setattr("bench.session._KEPT_BYTES", 1)
    work = cases.Work(1, 1, score_bytes=1)
    names = [("eager", "Answering"), ("unfuse", "Answering"), ("inductor", "Other")]
    with session(tmp_path, *names, asked_rounds=3) as one:
        result = one.measure(one_op(work=work))
    assert result.usable() == ["eager", "unfuse"]
    for name in result.usable():
        engine = result.engines[name]
        assert len(engine.seconds) == len(engine.limits) == 3
        assert all(engine.seconds) and all(engine.limits)
        assert engine.difference == 0
    assert result.ratio("eager", "unfuse") > 0
    # Who computes something else does not count, and gets no further turns.
    visitor = result.engines["inductor"]
    assert visitor.failure == "its result differs from eager's by 5.0e-01"
    assert visitor.seconds == [None, None, None]


def test_failures_are_results(tmp_path, from_here):
    names = [("eager", "Answering"), ("inductor", "Failing"), ("dynamo-eager", "Dying")]
    with session(tmp_path, *names, asked_rounds=2) as one:
        result = one.measure(one_op())
        # The next case has processes of its own, and finds another worker for the one that died.
        again = one.measure(one_op(engines=("eager", "dynamo-eager"), fresh=True))
    assert result.usable() == again.usable() == ["eager"]
    assert result.engines["inductor"].failure == "cannot run it: ValueError: it cannot be done"
    assert "SIGKILL" in result.engines["dynamo-eager"].failure
    assert result.engines["dynamo-eager"].seconds == [None, None]
    assert "SIGKILL" in again.engines["dynamo-eager"].failure


def test_what_would_not_fit_into_memory_is_left_out(tmp_path, from_here, monkeypatch):
    work = cases.Work(1, 1, score_bytes=1e15)
    monkeypatch.setattr("bench_engines.Answering.score_copies", 2)
    with session(tmp_path, ("eager", "Answering"), asked_rounds=1) as one:
        result = one.measure(one_op(work=work))
    assert result.engines["eager"].failure.startswith("left out: it needs some 2000000 GB")


def test_engines_that_are_not_installed_say_so(from_here):
    missing = engines.load("bench_engines:Missing").missing()
    assert missing == "not installed (no_such_module_anywhere)"
    assert engines.load(engines.ENGINES["eager"]).missing() is None


def test_peaks_of_memory():
    with PeakMemory() as small:
        pass
    with PeakMemory() as large:
        torch.ones(64 << 20, dtype=torch.uint8)
    assert small.bytes > 0
    assert 60e6 < large.bytes - small.bytes < 90e6


def test_the_limits_are_measured(tmp_path):
    assert limits.PROGRAM.exists(), NOT_BUILT
    meter = limits.LimitsMeter(1, tmp_path / "log")
    first = meter.measure()
    assert first.flops_per_second > 1e8 and first.bytes_per_second > 1e7
    assert meter.measure() is first  # a moment ago
    meter.stop()


# --- Cases


def test_names_of_cases_are_unique_and_quick_ones_are_few():
    names = [case.name for case in cases.CASES]
    assert len(set(names)) == len(names)
    assert 3 <= len(cases.select([], quick=True)) <= 8
    assert len(cases.select([], quick=False)) == len(names)
    assert [case.name for case in cases.select(["call/*", "encoder/1x16/float32/none"], quick=True)]


SMALL = [c for c in cases.CASES if c.work.flops < 1e9 and c.length <= 128]


@pytest.mark.parametrize("case", SMALL, ids=[case.name for case in SMALL])
def test_cases_can_be_built_and_run(case):
    workload = case.build()
    result = engines.load(engines.ENGINES["eager"])(1, None)
    result.prepare(case, workload)
    numbers = result.numbers(result.bind(workload.inputs)())
    assert numbers.isfinite().all()
    if workload.length_dims:
        assert len(workload.length_dims) == len(workload.inputs)


def test_work_counts_what_cannot_be_left_out():
    whole, causal, padded = (
        cases.find(f"encoder/1x4096/float32/{mask}").work for mask in ("none", "causal", "padding")
    )
    linear = 6 * 2 * 4096 * (4 * 512**2 + 2 * 512 * 2048)
    assert whole.flops == linear + 6 * 4 * 4096**2 * 512
    assert causal.flops == linear + 6 * 4 * (4096 * 4097 // 2) * 512
    assert padded.flops == linear / 2 + 6 * 4 * 2048**2 * 512
    assert cases.find("vit_b_16/1x197/float32/none").work.flops == pytest.approx(35.1e9, rel=0.01)


def test_engines_take_part_where_they_compute_the_same():
    plain = cases.find("encoder/1x16/float32/none")
    padded = cases.find("encoder/1x16/float32/padding")
    taking_part = [name for name in engines.ENGINES if engines.take_part(name, plain)]
    assert "dynamo-eager" not in taking_part and "unfuse-zero-rows" not in taking_part
    assert engines.take_part("unfuse-zero-rows", padded)
    assert engines.take_part("dynamo-eager", cases.find(CASE))
    assert not engines.take_part("openvino", cases.find(CASE))


# --- The command line


def test_defaults():
    options = arguments.parse([])
    assert options.minutes == 40 and options.rounds is None
    assert options.engines == list(engines.ENGINES)
    quick = arguments.parse(["--quick"])
    assert quick.minutes == 3 and len(quick.cases) < len(options.cases)
    assert arguments.parse(["--cases", "vit*"]).minutes is None
    assert arguments.parse(["--cases", "vit*", "--minutes", "2"]).minutes == 2
    named = arguments.parse(["--engines", "unfuse", "eager", "--threads", "3"])
    assert named.engines == ["eager", "unfuse"] and named.threads == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--cases", "resnet*"], "no case matches 'resnet*'; --list shows them all"),
        (["--engines", "tvm"], "no engine tvm; there are eager,"),
        (["--rounds", "0"], "must be at least 1"),
        (["--threads", "x"], "invalid"),
        (["--minutes", "-1"], "must be more than 0"),
        (["--json", "no/such/folder/x.json"], "there is no folder no/such/folder"),
        (["--slow"], "unrecognized arguments: --slow"),
    ],
)
def test_wrong_arguments_are_errors_that_say_why(given, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        arguments.parse(given)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_the_program_measures_and_writes(tmp_path):
    assert limits.PROGRAM.exists(), NOT_BUILT
    path = tmp_path / "results.json"
    command = [sys.executable, "-m", "bench", "--cases", CASE, "--engines", "eager"]
    done = subprocess.run(
        [*command, "dynamo-eager", "--rounds", "1", "--json", str(path)],
        capture_output=True,
        text=True,
        cwd=bench.ROOT,
    )
    assert done.returncode == 0, done.stderr
    assert CASE in done.stdout and "dynamo-eager" in done.stdout
    (case,) = json.loads(path.read_text())["cases"]
    assert case["name"] == CASE and set(case["engines"]) == {"eager", "dynamo-eager"}
