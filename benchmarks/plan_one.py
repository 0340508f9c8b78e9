"""Measure one planned object: a 150-line Deployment, already read, with a warm schema and no server.

.venv/bin/python -m benchmarks.plan_one [--repeat N]

Medians of processor time: patch or apply, result, ownership, explanation of every field and all risks. Growth is
shown per container: it should stay flat. A set of 1,000 objects is planned at the end.
"""

from __future__ import annotations

import argparse
import copy
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.planning.digest.fingerprint import digest_effect
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.sets.planner import SetPlanner, drive
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.engine.schema.builtin import bundled
from benchmarks.measuring import median_ms
from benchmarks.ownership import make_deployment

CONTEXT = PlanningContext(bundled(), "2026-01-01T00:00:00Z", can_dry_run=False)


def answer_with(live: dict[str, dict[str, Any]]) -> Callable[[Sequence[Request]], list[Answer]]:
    def send_all(requests: Sequence[Request]) -> list[Answer]:
        found = [live.get(r.path.rpartition("/")[2]) for r in requests]
        return [Answer(404, {"reason": "NotFound"}) if obj is None else Answer(200, obj) for obj in found]

    return send_all


def plan(documents: Sequence[Any], options: ApplyOptions, live: dict[str, dict[str, Any]]) -> list[PlannedObject]:
    planner = SetPlanner(documents, options=options, context=CONTEXT)
    return list(drive(planner, answer_with(live)))


def read(*objects: dict[str, Any]) -> tuple[Any, ...]:
    return parse_manifests(yaml.safe_dump_all(objects).encode(), "app.yaml").documents


def make_live(objects: Sequence[dict[str, Any]], options: ApplyOptions) -> dict[str, dict[str, Any]]:
    """The objects as a first apply leaves them."""
    live = {}
    for change in plan(read(*objects), options, {}):
        after = copy.deepcopy(dict(change.versions.after or {}))
        after["metadata"] |= {"uid": "u", "resourceVersion": "7"}
        live[change.ref.name] = after
    return live


def change_image(objects: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    changed = copy.deepcopy(list(objects))
    for obj in changed:
        obj["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example.com/shop/part-0:2.0.0"
    return changed


def measure_one(options: ApplyOptions, containers: int, repeat: int) -> tuple[int, float]:
    objects = [make_deployment(containers)]
    live = make_live(objects, options)
    documents = read(*change_image(objects))
    return documents[0].end_line, median_ms(lambda: plan(documents, options, live), repeat)


def measure_set(options: ApplyOptions, size: int) -> float:
    objects = []
    for number in range(size):
        obj = make_deployment(1)
        obj["metadata"]["name"] = f"shop-{number}"
        objects.append(obj)
    live = make_live(objects, options)
    documents = read(*change_image(objects))
    return median_ms(lambda: plan(documents, options, live), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=50)
    repeat = parser.parse_args().repeat
    for mode in ApplyMode:
        options = ApplyOptions(mode=mode)
        for containers in (1, 3, 30, 100):
            lines, found = measure_one(options, containers, max(repeat // containers, 3))
            rate = found / lines * 150
            print(f"{mode:<7} {containers:>4} containers {lines:>6} lines {found:9.2f} ms {rate:7.2f} ms/150 lines")
        objects = [make_deployment(1)]
        (change,) = plan(read(*change_image(objects)), options, make_live(objects, options))
        digesting = median_ms(partial(digest_effect, change, key=b"k"), repeat)
        print(f"{mode:<7} digest of its effect      {digesting:9.2f} ms")
        print(f"{mode:<7} set of 1,000 objects      {measure_set(options, 1000):9.0f} ms")


if __name__ == "__main__":
    main()
