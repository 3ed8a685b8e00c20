"""Writes op_types.jsonl: calls of every op with a result-type rule, and the types PyTorch gives.

    python tests/data/make_op_types.py [samples an op] [file]

The C++ test of the rules (tests/cpp/ops/result_types_test.cc) reads it, so that it checks against
torch without having it; tests/python/test_result_types.py draws fresh calls.
"""

import json
import pathlib
import random
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "python"))

import op_samples  # noqa: E402


def samples_of(row, count):
    found = []
    for attempt in range(40 * count):
        sample = op_samples.draw(row, random.Random(f"{row.name}/{attempt}"))
        if sample is not None:
            found.append(sample)
        if len(found) == count:
            break
    assert found, f"PyTorch took no call of {row.name}"
    return found


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    path = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else FOLDER / "op_types.jsonl"
    lines = []
    for row in op_samples.catalogue_rows():
        if row.rule is None or not row.name.startswith("aten."):
            continue
        for sample in samples_of(row, count):
            lines.append(json.dumps(vars(sample), separators=(",", ":")))
    path.write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} calls in {path}")


if __name__ == "__main__":
    main()
