"""All figures that the engine promises, in one table and one run: what was measured, its limit, whether it holds.

    .venv/bin/python -m benchmarks [--repeat N]

Medians of processor time, schema warm. The sets come in a process of their own each. Real manifests are found by
`APPLYVIZ_MANIFESTS`, a folder that holds `kube-prometheus`; the Go libraries are those of `tests/controlplane`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from applyviz.engine.ownership import serverside
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from benchmarks import merging, ownership, plan_one, reading, reference, sets

_GVK = {"group": "apps", "version": "v1", "kind": "Deployment"}


class Figure(NamedTuple):
    """One line of the table; `limit` is None where nothing is promised."""

    name: str
    value: float
    unit: str
    limit: float | None
    note: str = ""


def measure_one(repeat: int) -> Iterator[Figure]:
    """One object of 150 lines, read already."""
    for mode in ApplyMode:
        lines, cost = plan_one.measure_one(ApplyOptions(mode=mode), 2, repeat)
        yield Figure(f"plan a Deployment, {mode}", cost * 150 / lines, "ms", 3, f"{cost:.2f} ms for {lines} lines")


def _make_cases() -> dict[str, reference.Case]:
    last, manifest, live = merging.make_case()
    case = {"gvk": _GVK, "original": last, "modified": manifest, "current": live, "patchAlone": True}
    found: dict[str, reference.Case] = {"three-way patch": {"op": "smp3", "input": case}}
    kind, now = ownership.DEPLOYMENT, reference.NOW
    owned = serverside.apply(None, last, kind=kind, manager="alice", now=now).result
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
            yield Figure(found.name, found.ours, "ms", None, f"beside Go: {found.reason}")
        else:
            note = f"{found.ours:.2f} ms, Go {found.go:.2f} ms, {'the same' if found.is_same else 'ANOTHER'} answer"
            yield Figure(found.name, found.ours / found.go, "times Go", limit, note)


def measure_growth() -> Iterator[Figure]:
    """Cost of an entry among 10,000, in costs of an entry among 1,000; memory that fits no cache takes its part."""
    names = ("three-way patch", "its result", "its reasons")
    small, large = merging.measure_growth(1_000, 5), merging.measure_growth(10_000, 3)
    for name, few, many in zip(names, small, large, strict=True):
        yield Figure(f"growth, {name}", many / few / 10, "of linear", 2, f"{few:.1f} ms, {many:.1f} ms")
    for name, make in (("map", ownership.make_config_map), ("list", ownership.make_long_list)):
        few, many = ownership.measure_growth(*make(1_000), 5), ownership.measure_growth(*make(10_000), 3)
        yield Figure(f"growth, apply of a {name}", many / few / 10, "of linear", 2, f"{few:.1f} ms, {many:.1f} ms")


def measure_sets() -> Iterator[Figure]:
    """Whole sets, from bytes to plan."""
    sources = [("1,000 objects", "thousand", 300.0)]
    folders = sorted(Path(os.environ.get("APPLYVIZ_MANIFESTS", "")).glob("kube-prometheus/*/"))
    sources += [(f"kube-prometheus {folder.name}", str(folder), 400.0) for folder in folders]
    for name, source, most in sources:
        for mode in ApplyMode:
            for is_again in (False, True):
                found = sets.measure(source, mode, is_again=is_again)
                note = f"{found['objects']:.0f} objects, {found['megabytes_read']:.1f} MB, {found['failed']:.0f} failed"
                title = f"{name}, {mode}{', again' if is_again else ''}"
                yield Figure(title, found["seconds"], "s", 4, note)
                yield Figure(title, found["megabytes"], "MB", most)


def measure_reading() -> Iterator[Figure]:
    """1,000 documents beside PyYAML's own C loader."""
    loader, reader = reading.measure_both(3)
    yield Figure("read 1,000 documents", reader / loader, "of PyYAML", 1.5, f"{reader:.2f} s, PyYAML {loader:.2f} s")


def show(figures: Iterator[Figure]) -> None:
    for figure in figures:
        limit = "" if figure.limit is None else f"{figure.limit:g}"
        verdict = "" if figure.limit is None or figure.value <= figure.limit else "OVER"
        value = f"{figure.value:9.2f} {figure.unit:<9}"
        print(f"{figure.name:<46} {value} {limit:>4} {verdict:<4}  {figure.note}".rstrip(), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=100)
    repeat = parser.parse_args().repeat
    print(f"{'what':<46} {'figure':<19} {'most':>4}")
    for figures in (
        measure_one(repeat),
        measure_beside_go(repeat),
        measure_growth(),
        measure_reading(),
        measure_sets(),
    ):
        show(figures)


if __name__ == "__main__":
    main()
