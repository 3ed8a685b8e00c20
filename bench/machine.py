"""The machine, by what it can do: names of processors say little, and less in virtual machines."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

_FEATURES = {
    "avx2": "AVX2",
    "avx512f": "AVX-512",
    "avx512_bf16": "AVX512-BF16",
    "avx512_fp16": "AVX512-FP16",
    "avx512_vnni": "AVX512-VNNI",
    "amx_tile": "AMX",
    "amx_bf16": "AMX-BF16",
    "asimd": "NEON",
    "sve": "SVE",
    "bf16": "BF16",
}


@dataclass(frozen=True)
class Machine:
    architecture: str
    cores: int
    features: tuple[str, ...]
    #: Bytes of the largest cache, and of all memory; 0: not known.
    cache_bytes: int
    memory_bytes: int

    @property
    def has_amx(self) -> bool:
        return "AMX" in self.features

    def __str__(self) -> str:
        parts = [f"{self.architecture}, {self.cores} cores", *self.features]
        if self.architecture == "x86_64" and not self.has_amx:
            parts.append("no AMX")
        if self.cache_bytes:
            parts.append(f"{self.cache_bytes >> 20} MB cache")
        if self.memory_bytes:
            parts.append(f"{self.memory_bytes >> 30} GB memory")
        return ", ".join(parts)


def describe() -> Machine:
    return Machine(
        architecture=platform.machine(),
        cores=len(os.sched_getaffinity(0)),
        features=features(_read("/proc/cpuinfo")),
        cache_bytes=max(map(_cache_bytes, _cache_sizes()), default=0),
        memory_bytes=memory("MemTotal"),
    )


def features(cpuinfo: str) -> tuple[str, ...]:
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            has = set(value.split())
            return tuple(name for flag, name in _FEATURES.items() if flag in has)
    return ()


def memory(field: str) -> int:
    """Bytes, of a line of /proc/meminfo: MemTotal, MemAvailable. 0: not known."""
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0


def _cache_sizes() -> list[str]:
    return [
        _read(str(path)) for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    ]


def _cache_bytes(text: str) -> int:
    text = text.strip()
    unit = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:], 0)
    return int(text[:-1]) * unit if unit else 0


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
