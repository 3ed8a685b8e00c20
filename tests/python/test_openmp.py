"""One process has one OpenMP runtime, whichever of torch and unfuse is imported first."""

import subprocess
import sys
import textwrap

import pytest

_RUN = """
    x = torch.randn(2, 64, 64)
    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).eval()
    with torch.no_grad():
        torch.compile(layer, backend=unfuse_backend)(x)
    torch.randn(300, 300) @ torch.randn(300, 300)
    with open("/proc/self/maps") as maps:
        lines = [line.split()[-1] for line in maps]
    for name in sorted({line for line in lines if "gomp" in line or "libomp" in line
                        or "libiomp" in line}):
        print(name)
    assert any("_unfuse" in line for line in lines)
"""

_IMPORTS = {
    "torch first": "import torch\nimport unfuse",
    "unfuse first": "import unfuse\nimport torch",
    "by entry point": "import torch",
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self/maps")
@pytest.mark.parametrize("order", _IMPORTS)
def test_one_openmp_runtime(order):
    backend = (
        'unfuse_backend = "unfuse"'
        if order == "by entry point"
        else "from unfuse.backend import unfuse as unfuse_backend"
    )
    script = f"{_IMPORTS[order]}\n{backend}\n{textwrap.dedent(_RUN)}"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    runtimes = result.stdout.split()
    assert len(runtimes) == 1, runtimes
    # torch's own copy where its wheel brings one, and then oneDNN and we run on it too.
    assert "torch" in runtimes[0] or runtimes[0].startswith(("/usr", "/lib"))
