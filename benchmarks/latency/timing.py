"""Summarise times, and say what machine they were taken on."""

import os
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

REFERENCE_STEPS = 5_000_000


@dataclass(frozen=True, slots=True)
class Spread:
    """Hold the median and the 95th percentile of some times, in ms."""

    p50: float
    p95: float

    @classmethod
    def of(cls, milliseconds: Sequence[float]) -> "Spread":
        """Summarise times."""
        return cls(float(np.percentile(milliseconds, 50)), float(np.percentile(milliseconds, 95)))

    def __str__(self) -> str:
        """Write both."""
        return f"{self.p50:6.1f} / {self.p95:6.1f}"


def describe_machine() -> str:
    """Name the processor, its cores, the memory and the load of this moment."""
    cpu = _first_value("/proc/cpuinfo", "model name") or platform.processor()
    memory_gb = int((_first_value("/proc/meminfo", "MemTotal") or "0 kB").split()[0]) / 1e6
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()
    return f"{cpu}, {cores} cores, {memory_gb:.0f} GB, load {load[0]:.1f} / {load[1]:.1f} / {load[2]:.1f}"


def reference_seconds() -> float:
    """Time a fixed loop, so that runs on different machines (or beside other work) can be told apart."""
    start = time.perf_counter()
    total = 0
    for step in range(REFERENCE_STEPS):
        total += step & 7
    assert total
    return time.perf_counter() - start


def resident_mb(process_id: int) -> float:
    """Read how much memory a process has in use."""
    return int((_first_value(f"/proc/{process_id}/status", "VmRSS") or "0 kB").split()[0]) / 1000


def peak_mb(process_id: int) -> float:
    """Read how much memory a process had in use at most."""
    return int((_first_value(f"/proc/{process_id}/status", "VmHWM") or "0 kB").split()[0]) / 1000


def _first_value(file: str, name: str) -> str | None:
    for line in Path(file).read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return None
