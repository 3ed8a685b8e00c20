"""The process of one engine:

    python -m bench.worker MODULE:CLASS THREADS FOLDER

reads requests, a line of JSON each, from standard input, and answers each with a line of JSON on
standard output, until its input ends:

    {"do": "load", "case": NAME}   builds the model, prepares, runs it once
    {"do": "run", "runs": N}       runs it N times, each timed
    {"do": "release"}              forgets it

An answer is {"error": TEXT} when the request failed. What libraries print goes to standard error.
"""

from __future__ import annotations

import ctypes
import gc
import json
import math
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any, TextIO

import torch
from torch import Tensor

from bench import cases, engines
from bench.engines.engine import Engine

_SAMPLE = 256
#: Below this, one run that is not timed comes before those that are: the caches are another's.
_WARM_UP_BELOW_SECONDS = 0.05


class Server:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._workload: cases.Workload | None = None
        self._runs = 0
        self._shortest = math.inf

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            if request["do"] == "load":
                return self.load(cases.find(request["case"]))
            if request["do"] == "run":
                return self.run(request["runs"])
            if request["do"] == "release":
                return self.release()
        except Exception as error:
            traceback.print_exc()
            return {"error": _one_line(error)}
        return {"error": f"no request {request['do']!r}"}

    def load(self, case: cases.Case) -> dict[str, Any]:
        self.release()
        torch.manual_seed(0)
        workload = case.build()
        start = time.perf_counter()
        self._engine.prepare(case, workload)
        measured = self._engine.measure(workload, 0, 1)
        prepared = time.perf_counter() - start
        sample = _sample(self._engine.numbers(measured.result), workload.real_rows)
        del measured.result
        self._workload = workload
        self._runs = 1
        self._shortest = math.inf
        return {
            "prepare_seconds": prepared,
            "first_seconds": measured.seconds[0],
            "parts": self._engine.parts,
            "note": self._engine.note,
            "sample": sample,
        }

    def run(self, runs: int) -> dict[str, Any]:
        if self._workload is None:
            return {"error": "nothing is loaded"}
        if self._shortest < _WARM_UP_BELOW_SECONDS:
            self._engine.warm_up(self._workload)
        measured = self._engine.measure(self._workload, self._runs, runs)
        self._shortest = min([self._shortest, *measured.seconds])
        self._runs += runs
        return {"seconds": measured.seconds, "peak_bytes": measured.peak_bytes}

    def release(self) -> dict[str, Any]:
        self._engine.release()
        self._workload = None
        gc.collect()
        _return_free_memory()
        return {}


def _sample(numbers: Tensor, real_rows: Tensor | None) -> list[float]:
    """Some elements, evenly spread over what is meant to be compared."""
    if real_rows is not None and numbers.shape[: real_rows.dim()] == real_rows.shape:
        numbers = numbers[real_rows]
    flat = numbers.reshape(-1)
    chosen = torch.linspace(0, flat.numel() - 1, min(_SAMPLE, flat.numel())).long()
    return flat[chosen].tolist()


def _one_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _return_free_memory() -> None:
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):
        pass  # not glibc


def _die_first() -> None:
    """When memory runs out, the benchmark is what must go, not what else runs here."""
    try:
        Path("/proc/self/oom_score_adj").write_text("1000")
    except OSError:
        pass


def _answers() -> TextIO:
    """Standard output, kept from whoever prints."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def main(place: str, threads: str, folder: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's affair; it ends our input
    answers = _answers()
    _die_first()
    torch.set_num_threads(int(threads))
    torch.set_grad_enabled(False)
    server = Server(engines.load(place)(int(threads), Path(folder)))
    for line in sys.stdin:
        print(json.dumps(server.answer(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
