"""Engines for tests of the benchmark's workers and rounds: they compute nothing, or misbehave."""

import os
import sys
import time

import torch

from bench.engines.engine import Engine


class Answering(Engine):
    """Prints, as libraries do, and gives the numbers 0, 1, 2, ..."""

    name = "answering"

    def prepare(self, case, workload):
        print("preparing")
        os.write(1, b"a library prints\n")
        self.note = "does nothing"
        self.parts["nothing"] = 0.5

    def bind(self, inputs):
        return lambda: torch.arange(1000.0)


class Other(Answering):
    name = "other"

    def bind(self, inputs):
        return lambda: torch.arange(1000.0) * 1.5


class Failing(Answering):
    name = "failing"

    def prepare(self, case, workload):
        raise ValueError("it cannot be done\nfor reasons that nobody wants on the first line")


class Dying(Answering):
    """Loads, and is gone at the first run after that."""

    name = "dying"

    def measure(self, workload, first_run, runs):
        if first_run > 0:
            os.kill(os.getpid(), 9)
        return super().measure(workload, first_run, runs)


class Stuck(Answering):
    name = "stuck"

    def prepare(self, case, workload):
        time.sleep(3600)


class Missing(Answering):
    name = "missing"
    needs = ("sys", "no_such_module_anywhere")


class Leaving(Answering):
    name = "leaving"

    def prepare(self, case, workload):
        sys.stderr.flush()
        os._exit(3)
