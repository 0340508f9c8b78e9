"""(used by `live.py`, `memory.py`) Processor time and memory of processes and their children, as counted by Linux."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path


def _descend(pid: int) -> Iterator[int]:
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:
            continue
        for child in children:
            yield from _descend(int(child))


def read_cpu(pids: Sequence[int]) -> float:
    """Return the processor seconds of processes, their children, and those of children that ended."""
    ticks = 0
    for root in pids:
        for pid in _descend(root):
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def read_peaks(processes: dict[str, int]) -> dict[str, float]:
    """Return the highest resident memory of each process in MB."""
    found = {}
    for name, root in processes.items():
        for number, pid in enumerate(_descend(root)):
            try:
                lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            except OSError:
                continue
            peak = next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)
            found[f"{name} {number}" if number else name] = round(peak, 1)
    return found


def list_processes(root: int) -> list[int]:
    """Return a process and all its children."""
    return list(_descend(root))


def read_memory(pid: int) -> float:
    """Return the resident memory of a process in MB; 0 when it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)
