"""What client-side apply costs: patch, result and reasons of one Deployment, and growth with the number of entries.

.venv/bin/python -m benchmarks.merging [--repeat N]

Medians, schema warm. Growth is shown per entry: it should stay flat. `python -m benchmarks` asks the Go libraries too.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from applyviz.engine.explain.fields import explain
from applyviz.engine.merge import last_applied, patches
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.schema.builtin import bundled
from benchmarks.ownership import make_deployment, measure

DEPLOYMENT = bundled().find_kind(GroupVersionKind("apps", "v1", "Deployment"))


def make_case(containers: int = 3) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Last applied, manifest and live of an everyday upgrade."""
    last = make_deployment(containers)
    manifest = copy.deepcopy(last)
    first = manifest["spec"]["template"]["spec"]["containers"][0]
    first["image"] += "1"
    del first["env"][5]
    manifest["spec"]["replicas"] = 5
    live = copy.deepcopy(last)
    live["metadata"] |= {"uid": "1", "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z"}
    live["spec"] |= {"revisionHistoryLimit": 10, "progressDeadlineSeconds": 600}
    for container in live["spec"]["template"]["spec"]["containers"]:
        container |= {"imagePullPolicy": "IfNotPresent", "terminationMessagePath": "/dev/termination-log"}
    return last, manifest, live


def show_deployment(repeat: int) -> None:
    last, manifest, live = make_case()
    print(f"Deployment, live object {len(json.dumps(live, separators=(',', ':')))} bytes")
    patch = patches.compute(last, manifest, live, kind=DEPLOYMENT)
    merged = patches.apply(live, patch.body, patch.content_type, kind=DEPLOYMENT)
    versions = SimpleNamespace(last_applied=last, manifest=manifest, live=live, merged=merged, after=merged)
    steps: dict[str, Callable[[], object]] = {
        "patch": lambda: patches.compute(last, manifest, live, kind=DEPLOYMENT),
        "result": lambda: patches.apply(live, patch.body, patch.content_type, kind=DEPLOYMENT),
        "reasons": lambda: explain(versions=versions, mode="client", manager="kubectl", kind=DEPLOYMENT),
        "annotation": lambda: last_applied.render(manifest),
    }
    for name, work in steps.items():
        print(f"  {name:<10} {measure(work, repeat):8.3f} ms")


def show_growth() -> None:
    print("entries      patch      result     reasons        (ms; microseconds an entry)")
    for count in (10, 100, 1_000, 10_000):
        costs = measure_growth(count, max(3, 300 // count))
        print(f"{count:>7}" + "".join(f"   {cost:9.2f} ({cost * 1000 / count:6.1f})" for cost in costs))


def measure_growth(count: int, repeat: int) -> tuple[float, ...]:
    """Milliseconds of patch, result and reasons with that many entries."""
    last, manifest, live = make_case(1)
    for obj, value in ((last, "x"), (manifest, "y"), (live, "x")):
        env = [{"name": f"SETTING_{n}", "value": value} for n in range(count)]
        obj["spec"]["template"]["spec"]["containers"][0]["env"] = env
    patch = patches.compute(last, manifest, live, kind=DEPLOYMENT)
    merged = patches.apply(live, patch.body, patch.content_type, kind=DEPLOYMENT)
    versions = SimpleNamespace(last_applied=last, manifest=manifest, live=live, merged=merged, after=merged)
    return (
        measure(lambda: patches.compute(last, manifest, live, kind=DEPLOYMENT), repeat),
        measure(lambda: patches.apply(live, patch.body, patch.content_type, kind=DEPLOYMENT), repeat),
        measure(lambda: explain(versions=versions, mode="client", manager="kubectl", kind=DEPLOYMENT), repeat),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=200)
    options = parser.parse_args()
    show_deployment(options.repeat)
    show_growth()


if __name__ == "__main__":
    main()
