"""Every result-type rule against real PyTorch, on other calls than the C++ tests read.

The rules are C++: the calls go through a file to the program of the C++ tests, which also checks
the rules over symbolic sizes on them. UNFUSE_SEED draws others.
"""

import json
import os
import pathlib
import random
import subprocess

import op_samples
import pytest

ROWS = [
    row
    for row in op_samples.catalogue_rows()
    if row.rule is not None and row.name.startswith("aten.")
]
SEED = int(os.environ.get("UNFUSE_SEED", "2"))


def test_program() -> pathlib.Path:
    built = sorted((op_samples.REPOSITORY / "build").glob("*/bin/test_ops"))
    if not built:
        pytest.skip("build/*/bin/test_ops is not built")
    return max(built, key=lambda path: path.stat().st_mtime)


test_program.__test__ = False


def fresh_calls(count):
    """Up to `count` calls of every op that PyTorch takes."""
    for row in ROWS:
        drawn = (
            op_samples.draw(row, random.Random(f"{SEED}/{row.name}/{i}")) for i in range(2 * count)
        )
        taken = [call for call in drawn if call is not None]
        yield from taken[:count]


def test_every_rule_has_a_sampler():
    assert {row.rule for row in ROWS} <= set(op_samples.SAMPLERS)


def test_rules_agree_with_pytorch(tmp_path):
    path = tmp_path / "op_types.jsonl"
    lines = [json.dumps(vars(call)) for call in fresh_calls(8)]
    assert len(lines) > 6 * len(ROWS)
    path.write_text("\n".join(lines) + "\n")
    run = subprocess.run(
        [test_program(), "--gtest_filter=ResultTypes.*"],
        env={**os.environ, "UNFUSE_OP_TYPES": str(path)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, f"UNFUSE_SEED={SEED}\n{run.stdout[-6000:]}{run.stderr}"
