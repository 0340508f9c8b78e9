"""Does cost grow with the size of an object and no faster? Every step over objects of 10 to 10,000 entries.

    .venv/bin/python -m benchmarks.slope [--step NAME] [--largest N] [--no-collector]

Medians of processor time, schema warm, in microseconds an entry. The slope is the power by which cost grows from the
last size but one to the last: 1.00 is linear, 2.00 quadratic. Memory that fits no cache and the garbage collector
add up to a quarter to what is linear; `--no-collector` shows how much of it is the collector's.
"""

from __future__ import annotations

import argparse
import copy
import gc
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import yaml

from applyviz.engine.diff.masking import mask
from applyviz.engine.diff.structural import diff_objects
from applyviz.engine.diff.text import diff_lines
from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.merge import last_applied, patches
from applyviz.engine.ownership import server_side, updates
from applyviz.engine.planning.digest.fingerprint import digest_effect
from applyviz.engine.planning.digest.serialize import change_from_json, change_to_json
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.engine.risks.model import RiskSubject
from applyviz.engine.risks.rules import find_risks
from applyviz.engine.schema.model import KindSchema
from benchmarks import plan_one
from benchmarks.measuring import find_kind, median_ms
from benchmarks.ownership import make_deployment

SIZES = (10, 100, 1_000, 10_000)
MOST = 1.25
OLD, NEW = "before", "after"
NOW = "2026-01-01T00:00:00Z"
Obj = dict[str, Any]


@dataclass(frozen=True)
class Shape:
    """A kind of object that holds many entries, and how it is made with some of them changed."""

    name: str
    kind: KindSchema
    make: Callable[[int, str], Obj]


def _make_list(count: int, value: str) -> Obj:
    """One entry in ten has the value; one is there in the first version alone."""
    entries = [{"name": f"SETTING_{n}", "value": value if n % 10 == 0 else OLD} for n in range(count)]
    made = make_deployment(1)
    made["spec"]["template"]["spec"]["containers"][0]["env"] = entries if value == OLD else entries[1:]
    return made


def _make_map(count: int, value: str) -> Obj:
    data = {f"key-{n}": value if n % 10 == 0 else OLD for n in range(count)}
    if value != OLD:
        del data["key-0"]
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop"}, "data": data}


SHAPES = (
    Shape("list", find_kind("apps", "Deployment"), _make_list),
    Shape("map", find_kind("", "ConfigMap"), _make_map),
)


class Cost(NamedTuple):
    """Milliseconds of one step by the number of entries."""

    step: str
    shape: str
    by_size: dict[int, float]

    @property
    def slope(self) -> float:
        """The power by which cost grows between the two largest sizes; 1.0 is linear."""
        *_, (few, cheap), (many, dear) = sorted(self.by_size.items())
        return math.log(dear / cheap) / math.log(many / few)


def _read(obj: Obj) -> ManifestDocument:
    (document,) = parse_manifests(yaml.safe_dump(obj, sort_keys=False).encode(), "app.yaml").documents
    return document


def _plan(document: ManifestDocument, live: Obj, mode: ApplyMode) -> PlannedObject:
    (change,) = plan_one.plan((document,), ApplyOptions(mode=mode), {live["metadata"]["name"]: live})
    if change.operation is not Operation.UPDATE:
        raise RuntimeError(f"nothing is measured: {change.operation}: {change.error}")
    return change


def _make_subject(change: PlannedObject, document: ManifestDocument, kind: KindSchema) -> RiskSubject:
    versions = change.versions
    return RiskSubject(
        change.ref,
        manifest=versions.manifest,
        live=versions.live,
        merged=versions.merged,
        after=copy.deepcopy(versions.after),
        kind=kind,
        document=document,
    )


def _with_uid(obj: Obj) -> Obj:
    return {**obj, "metadata": {**obj["metadata"], "uid": "u", "resourceVersion": "7"}}


def list_steps(shape: Shape, count: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """Every step of planning an object of that many entries, ready to be called."""
    kind, old, new = shape.kind, shape.make(count, OLD), shape.make(count, NEW)
    text = yaml.safe_dump(new, sort_keys=False).encode()
    yield "read", lambda: parse_manifests(text, "app.yaml")
    live = _with_uid(last_applied.attach(old))
    wanted = last_applied.attach(new)
    patch = patches.compute(old, wanted, live, kind=kind)
    yield "three-way patch", lambda: patches.compute(old, wanted, live, kind=kind)
    yield "its result", lambda: patches.apply(live, patch.body, patch.content_type, kind=kind)
    owned = _with_uid(server_side.apply(None, old, kind=kind, manager="applyviz", now=NOW).result)
    yield "server-side apply", lambda: server_side.apply(owned, new, kind=kind, manager="applyviz", now=NOW)
    written = {**new, "metadata": owned["metadata"]}
    yield "owners after an update", lambda: updates.update(owned, written, kind=kind, manager="hpa", now=NOW)
    document = _read(new)
    yield "plan, client-side", lambda: _plan(document, live, ApplyMode.CLIENT)
    yield "plan, server-side", lambda: _plan(document, owned, ApplyMode.SERVER)
    change = _plan(document, owned, ApplyMode.SERVER)
    yield "risks", lambda: find_risks(_make_subject(change, document, kind))
    before, after = change.versions.live, change.versions.after
    yield "difference", lambda: diff_objects(before, after, root=kind.root)
    yield "lines side by side", lambda: diff_lines(before, after, root=kind.root)
    yield "masking", lambda: mask(owned, gvk=kind.gvk, tag_key=b"k" * 32)
    yield "digest of the effect", lambda: digest_effect(change, key=b"k" * 32)
    yield "stored and read", lambda: change_from_json(change_to_json(change))


def measure(sizes: tuple[int, ...] = SIZES, *, only: str = "") -> Iterator[Cost]:
    """The cost of each step of each shape."""
    for shape in SHAPES:
        costs: dict[str, dict[int, float]] = {}
        for count in sizes:
            for step, work in list_steps(shape, count):
                if not only or only in step:
                    work()
                    costs.setdefault(step, {})[count] = median_ms(work, max(5, min(50, 2_000 // count)))
        yield from (Cost(step, shape.name, by_size) for step, by_size in costs.items())


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.slope", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--step", default="", help="only steps whose name holds this text")
    parser.add_argument("--largest", type=int, default=SIZES[-1])
    parser.add_argument("--no-collector", action="store_true", help="pause Python's garbage collector")
    options = parser.parse_args()
    if options.no_collector:
        gc.disable()
    sizes = tuple(size for size in SIZES if size <= options.largest)
    print(f"{'step':<24} {'of a':<5}" + "".join(f"{size:>9,}" for size in sizes) + "   slope  (microseconds an entry)")
    for cost in measure(sizes, only=options.step):
        each = "".join(f"{cost.by_size[size] * 1000 / size:9.1f}" for size in sizes)
        print(
            f"{cost.step:<24} {cost.shape:<5}{each} {cost.slope:7.2f}  {'' if cost.slope <= MOST else 'OVER'}".rstrip()
        )


if __name__ == "__main__":
    main()
