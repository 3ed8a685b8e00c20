"""The most memory that this process had in RAM, for a while."""

from __future__ import annotations

from pathlib import Path

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"


def high_water_mark(status: Path = _STATUS) -> int:
    """Bytes; 0 where the system does not tell."""
    try:
        text = status.read_text()
    except OSError:
        return 0
    for line in text.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


class PeakMemory:
    """`with PeakMemory() as peak: ...`, then peak.bytes."""

    bytes = 0

    def __enter__(self) -> PeakMemory:
        try:
            _CLEAR.write_text(_RESET_PEAK)
            self._is_reset = True
        except OSError:
            self._is_reset = False
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_reset:
            self.bytes = high_water_mark()
