"""Measure client-side apply: patch, result and reasons of one Deployment. How it grows: `benchmarks.slope`.

.venv/bin/python -m benchmarks.merging [--repeat N]

Medians of processor time, schema warm. `python -m benchmarks` asks the Go libraries too.
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
from benchmarks.measuring import find_kind, median_ms
from benchmarks.ownership import make_deployment

DEPLOYMENT = find_kind("apps", "Deployment")


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
        print(f"  {name:<10} {median_ms(work, repeat):8.3f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=200)
    options = parser.parse_args()
    show_deployment(options.repeat)


if __name__ == "__main__":
    main()
