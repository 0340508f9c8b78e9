"""Measure server-side apply: one Deployment of 4.6 kB. How cost grows: `python -m benchmarks.slope`.

.venv/bin/python -m benchmarks.ownership [--repeat N]

Medians of processor time, schema warm. `again`: the same applied again; `change`: three fields set and one removed;
`take over`: another manager, forced; `update`: ownership after a plain update.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from applyviz.engine.ownership import server_side, updates
from benchmarks.measuring import find_kind, median_ms

NOW = "2026-01-01T00:00:00Z"
DEPLOYMENT = find_kind("apps", "Deployment")


def make_container(number: int) -> dict[str, Any]:
    return {
        "name": f"part-{number}",
        "image": f"registry.example.com/shop/part-{number}:1.4.{number}",
        "args": ["--listen=:8080", f"--shard={number}"],
        "ports": [{"containerPort": 8080 + n, "name": f"p{n}"} for n in range(3)],
        "env": [{"name": f"SETTING_{n}", "value": f"value number {n}"} for n in range(14)],
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10},
        "volumeMounts": [{"name": f"v{n}", "mountPath": f"/srv/{n}"} for n in range(3)],
    }


def make_deployment(containers: int = 3) -> dict[str, Any]:
    labels = {"app": "shop", "app.kubernetes.io/part-of": "shop", "tier": "backend"}
    pod = {
        "containers": [make_container(n) for n in range(containers)],
        "volumes": [{"name": f"v{n}", "configMap": {"name": f"settings-{n}"}} for n in range(3)],
        "tolerations": [{"key": "dedicated", "operator": "Exists"}],
    }
    spec = {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "shop"}},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
        "template": {"metadata": {"labels": labels, "annotations": {"note": "a" * 40}}, "spec": pod},
    }
    metadata = {"name": "shop", "namespace": "shop", "labels": labels}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def show_deployment(repeat: int) -> None:
    intent = make_deployment()
    live = server_side.apply(None, intent, kind=DEPLOYMENT, manager="alice", now=NOW).result
    live = {**live, "metadata": {**live["metadata"], "uid": "1"}}
    changed = copy.deepcopy(intent)
    first = changed["spec"]["template"]["spec"]["containers"][0]
    first["image"] += "1"
    first["env"][3]["value"] = "another"
    changed["spec"]["replicas"] = 5
    del first["env"][5]
    new = copy.deepcopy(live)
    new["spec"]["replicas"] = 7
    size = len(json.dumps({k: v for k, v in live.items() if k != "metadata"}, separators=(",", ":")))
    print(f"Deployment, {size} bytes without metadata")
    cases: dict[str, Callable[[], object]] = {
        "again": lambda: server_side.apply(live, intent, kind=DEPLOYMENT, manager="alice", now=NOW),
        "change": lambda: server_side.apply(live, changed, kind=DEPLOYMENT, manager="alice", now=NOW),
        "take over": lambda: server_side.apply(live, changed, kind=DEPLOYMENT, manager="bob", force=True, now=NOW),
        "update": lambda: updates.update(live, new, kind=DEPLOYMENT, manager="hpa", subresource="scale", now=NOW),
    }
    for name, work in cases.items():
        print(f"  {name:<10} {median_ms(work, repeat):8.3f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=200)
    show_deployment(parser.parse_args().repeat)


if __name__ == "__main__":
    main()
