"""The C++ command, as built."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).parents[2]
COMMAND = pathlib.Path(os.environ.get("UNFUSE_COMMAND", ROOT / "build/release/bin/unfuse"))


def unfuse(*arguments):
    assert COMMAND.exists(), f"{COMMAND} is not built: ./dev build"
    return subprocess.run(
        [COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=120
    )
