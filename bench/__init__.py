"""The benchmark of whole models: `./dev bench`, explained in docs/benchmarks.md."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

# The models that are measured are those of the demo and of the tests.
sys.path.append(str(ROOT / "examples"))
