import os
import sys
from pathlib import Path

import pytest
import torch

# Graphs are verified after every pass.
os.environ.setdefault("UNFUSE_VERIFY", "1")
sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def fresh_start():
    """Each test compiles anew, with the same random numbers."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    with torch.no_grad():
        yield


@pytest.fixture(params=[True, False], ids=["aot", "direct"])
def use_aot(request):
    return request.param
