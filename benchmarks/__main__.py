"""All figures that the engine promises, in one table and one run: what was measured, its limit, whether it holds.

    .venv/bin/python -m benchmarks [--repeat N] [--quick]

Medians of processor time, schema warm. The sets come in a process of their own each. Real manifests are found by
`APPLYVIZ_MANIFESTS`, a folder that holds `kube-prometheus`; the Go libraries are those of `tests/controlplane`.
The exit status is 1 when a limit does not hold; what cannot be measured here is said and counts as not held.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from applyviz.engine.ownership import server_side
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from benchmarks import merging, ownership, plan_one, reading, reference, sets, slope

_GVK = {"group": "apps", "version": "v1", "kind": "Deployment"}
_SET_SECONDS, _THOUSAND_MEGABYTES, _REAL_MEGABYTES = 4.0, 300.0, 400.0


class Figure(NamedTuple):
    """One line of the table; `value` is None where it could not be measured, `note` says why."""

    name: str
    value: float | None
    unit: str
    limit: float
    note: str = ""

    @property
    def verdict(self) -> str:
        """Whether the limit holds."""
        if self.value is None:
            return "NOT MEASURED"
        return "holds" if self.value <= self.limit else "OVER"


def measure_one(repeat: int) -> Iterator[Figure]:
    """One object of 150 lines, read already."""
    for mode in ApplyMode:
        lines, cost = plan_one.measure_one(ApplyOptions(mode=mode), 2, repeat)
        yield Figure(f"plan 150 lines, {mode}", cost * 150 / lines, "ms", 3, f"{cost:.2f} ms for {lines} lines")


def _make_cases() -> dict[str, reference.Case]:
    last, manifest, live = merging.make_case()
    case = {"gvk": _GVK, "original": last, "modified": manifest, "current": live, "patchAlone": True}
    found: dict[str, reference.Case] = {"three-way patch": {"op": "smp3", "input": case}}
    kind, now = ownership.DEPLOYMENT, reference.NOW
    owned = server_side.apply(None, last, kind=kind, manager="alice", now=now).result
    owned = {**owned, "metadata": {**owned["metadata"], "uid": "1"}}
    for name, manager, applied in (("again", "alice", last), ("change", "alice", manifest), ("force", "bob", manifest)):
        given = {"gvk": _GVK, "live": owned, "applied": applied, "manager": manager, "force": True}
        found[f"server-side apply, {name}"] = {"op": "ssa", "input": given}
    return found


def measure_beside_go(repeat: int) -> Iterator[Figure]:
    """The engine and the Go libraries on the same cases."""
    for found in reference.compare(_make_cases(), repeat):
        limit = 5.0 if found.name == "three-way patch" else 2.0
        if found.go is None:
            yield Figure(found.name, None, "times Go", limit, f"{found.ours:.2f} ms; Go: {found.reason}")
        else:
            note = f"{found.ours:.2f} ms, Go {found.go:.2f} ms, {'the same' if found.is_same else 'ANOTHER'} answer"
            yield Figure(found.name, found.ours / found.go, "times Go", limit, note)


def measure_growth() -> Iterator[Figure]:
    """The power by which the cost of each step grows from 1,000 to 10,000 entries."""
    for cost in slope.measure():
        note = ", ".join(f"{ms * 1000 / size:.1f}" for size, ms in cost.by_size.items())
        yield Figure(f"slope, {cost.step}, {cost.shape}", cost.slope, "power", slope.MOST, f"{note} µs an entry")


def measure_sets() -> Iterator[Figure]:
    """Whole sets, from bytes to plan: all objects new, all live and unchanged, all live and changed."""
    yield from _measure_set("1,000 objects", "thousand", _THOUSAND_MEGABYTES)
    folders = sorted(Path(os.environ.get("APPLYVIZ_MANIFESTS", "")).glob("kube-prometheus/*/"))
    if not folders:
        yield Figure("kube-prometheus", None, "s", _SET_SECONDS, "APPLYVIZ_MANIFESTS names no folder with it")
    for folder in folders:
        yield from _measure_set(f"kube-prometheus {folder.name}", str(folder), _REAL_MEGABYTES)


def _measure_set(name: str, source: str, most: float) -> Iterator[Figure]:
    for mode in ApplyMode:
        for live in sets.Live:
            found = sets.measure(source, mode, live)
            note = f"{found['objects']:.0f} objects, {found['megabytes_read']:.1f} MB, {found['failed']:.0f} failed"
            title = f"{name}, {mode}, {live}"
            yield Figure(title, found["seconds"], "s", _SET_SECONDS, note)
            yield Figure(title, found["megabytes"], "MB", most)


def measure_reading() -> Iterator[Figure]:
    """1,000 documents beside PyYAML's own C loader."""
    loader, reader = reading.measure_both(3)
    yield Figure("read 1,000 documents", reader / loader, "of PyYAML", 1.5, f"{reader:.2f} s, PyYAML {loader:.2f} s")


def show(figures: Iterable[Figure]) -> int:
    """Print each figure when it is known; how many do not hold."""
    failed = 0
    for figure in figures:
        value = "        -" if figure.value is None else f"{figure.value:9.2f}"
        line = f"{figure.name:<48} {value} {figure.unit:<9} {figure.limit:>5g}  {figure.verdict:<12} {figure.note}"
        print(line.rstrip(), flush=True)
        failed += figure.verdict != "holds"
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="leave out slopes and sets")
    options = parser.parse_args()
    print(f"{'what':<48} {'figure':<19} {'most':>5}  verdict")
    parts = [measure_one(options.repeat), measure_beside_go(options.repeat), measure_reading()]
    if not options.quick:
        parts += [measure_growth(), measure_sets()]
    failed = sum(map(show, parts))
    print(f"{failed} do not hold" if failed else "everything holds")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
