"""What is left when the interpreter ends. Each test is a process of its own, since it must end."""

import subprocess
import sys

import pytest

COMPILE = """
import gc, sys, threading, torch, unfuse
from torch import nn
from unfuse import _unfuse

torch.set_grad_enabled(False)
x = torch.randn(3, 4)

def function(x):
    x = x * 2
    if sys.argv[2] == "break":  # What follows is kept by the globals until they are cleared.
        torch._dynamo.graph_break()
    return x + 1

options = {"use_aot": sys.argv[1] == "aot"}
layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()
compiled = [
    torch.compile(model, backend="unfuse", options=options)
    for model in (lambda x: x + 1, function, nn.Linear(4, 4), lambda x: layer(x[None]))
]

def run():
    for model in compiled:
        model(x)

run()
"""

ENDINGS = {
    # After threads, and with a program and its results kept.
    "exception": """
threads = [threading.Thread(target=torch.no_grad()(run)) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
torch.export.save(torch.export.export(nn.Linear(4, 4), (x,)), sys.argv[3] + "/m.pt2")
program = unfuse.load(sys.argv[3] + "/m.pt2")
kept = program(x), program(x.numpy())
raise ValueError("expected")
""",
    "exit": "sys.exit(3)",
}


def run(script, *arguments):
    return subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=600
    )


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_process_that_compiled_ends_in_silence(ending, tmp_path):
    ran = run(COMPILE + ENDINGS[ending], "aot", "break", str(tmp_path))
    lines = [line for line in ran.stderr.splitlines() if not line.startswith((" ", "Traceback"))]
    assert lines == (["ValueError: expected"] if ending == "exception" else [])
    assert ran.returncode == {"exception": 1, "exit": 3}[ending]


FORGET = """
_unfuse.set_leak_warnings(True)
torch._dynamo.reset()
del compiled, function, layer, x
gc.collect()
ours = [type(o).__name__ for o in gc.get_objects() if str(type(o).__module__).startswith("unfuse")]
print(sorted(set(ours) & {"CompiledGraph", "TargetStep", "TorchStep", "ParameterCache"}))
"""


@pytest.mark.parametrize("mode", ["aot", "direct"])
def test_everything_is_freed_once_dynamo_forgets(mode):
    """What is not freed at exit is held by dynamo's caches alone: no cycle of ours keeps it."""
    ran = run(COMPILE + FORGET, mode, "whole")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == "[]"
    assert "leaked" not in ran.stderr


DYNAMO_KEEPS = """
import gc, os, torch

class Compiled:
    def __init__(self, function):
        self.function = function
    def __call__(self, *arguments):
        return self.function(*arguments)
    def __del__(self):
        os.write(1, b"freed")

compiled = torch.compile(lambda x: x + 1, backend=lambda module, _: Compiled(module.forward))
compiled(torch.ones(3))
"""


def test_dynamo_frees_no_backends_code_at_exit():
    """Hence nanobind's warnings are off: this backend is none of ours."""
    assert run(DYNAMO_KEEPS).stdout == ""
    assert run(DYNAMO_KEEPS + "torch._dynamo.reset(); gc.collect()").stdout == "freed"
