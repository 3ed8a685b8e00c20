"""The other end of a worker: starts the process, asks, waits, and notices when it is gone."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import bench

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


#: For a process whose input has ended, to end by itself.
_ENDING_SECONDS = 60


class WorkerError(Exception):
    """A request that failed, a process that ended, or one that took too long."""


class LineProcess:
    """A process that answers lines with lines of JSON."""

    def __init__(self, command: list[str], log: Path, environment: dict[str, str]) -> None:
        self._log = log.open("ab")
        self._process = subprocess.Popen(
            command,
            cwd=bench.ROOT,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        self._received = b""

    def send(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # receive() tells what became of it

    def receive(self, seconds: float) -> dict[str, Any]:
        """The next answer. Raises WorkerError when none comes in time, or the process has ended."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self._received:
            if not self._wait_readable(deadline - time.monotonic()):
                self.stop(wait=False)
                raise WorkerError(f"no answer within {seconds:.0f} s")
            assert self._process.stdout is not None
            part = os.read(self._process.stdout.fileno(), 1 << 16)
            if not part:
                raise WorkerError(self._how_it_ended())
            self._received += part
        line, _, self._received = self._received.partition(b"\n")
        return json.loads(line)

    @property
    def exit_code(self) -> int | None:
        """None while it is alive; below 0 when a signal ended it."""
        return self._process.poll()

    def stop(self, *, wait: bool = True) -> None:
        """Ends its input and waits a little for it to end by itself; `wait` False: ends it now."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self._process.wait(timeout=_ENDING_SECONDS if wait else 0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._log.close()

    def _wait_readable(self, seconds: float) -> bool:
        with selectors.DefaultSelector() as selector:
            assert self._process.stdout is not None
            selector.register(self._process.stdout, selectors.EVENT_READ)
            return bool(selector.select(max(0, seconds)))

    def _how_it_ended(self) -> str:
        code = self._process.wait()
        if code >= 0:
            return f"its process ended with exit code {code}"
        name = signal.Signals(-code).name
        return f"its process was ended by {name}" + (
            ", perhaps for want of memory" if name == "SIGKILL" else ""
        )


class Worker:
    """An engine in a process of its own."""

    def __init__(self, place: str, threads: int, folder: Path, log: Path) -> None:
        """`place`: "module:Class" of the engine. `folder` is made, for its files."""
        folder.mkdir(parents=True, exist_ok=True)
        self._process = LineProcess(
            [sys.executable, "-m", "bench.worker", place, str(threads), str(folder)],
            log,
            {name: str(threads) for name in _THREAD_VARIABLES},
        )

    def ask(self, **request: Any) -> None:
        self._process.send(json.dumps(request))

    def answer(self, seconds: float) -> dict[str, Any]:
        """To what was asked. Raises WorkerError."""
        answer = self._process.receive(seconds)
        if "error" in answer:
            raise WorkerError(answer["error"])
        return answer

    @property
    def is_alive(self) -> bool:
        return self.exit_code is None

    @property
    def exit_code(self) -> int | None:
        return self._process.exit_code

    def stop(self, *, wait: bool = True) -> None:
        self._process.stop(wait=wait)
