"""What server-side apply costs: one Deployment of 4.6 kB, and how cost grows with the number of entries.

.venv/bin/python -m benchmarks.ownership [--repeat N]

Medians, schema warm. `again`: the same applied again; `change`: three fields set and one removed; `take over`:
another manager, forced; `update`: ownership after a plain update. Growth is shown per entry: it should stay flat.
"""

from __future__ import annotations

import argparse
import copy
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.ownership import serverside, updates
from applyviz.engine.schema.builtin import bundled

NOW = "2026-01-01T00:00:00Z"
DEPLOYMENT = bundled().find_kind(GroupVersionKind("apps", "v1", "Deployment"))
CONFIG_MAP = bundled().find_kind(GroupVersionKind("", "v1", "ConfigMap"))


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


def measure(work: Callable[[], object], repeat: int) -> float:
    """Median milliseconds of one call."""
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1000


def show_deployment(repeat: int) -> None:
    intent = make_deployment()
    live = serverside.apply(None, intent, kind=DEPLOYMENT, manager="alice", now=NOW).result
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
        "again": lambda: serverside.apply(live, intent, kind=DEPLOYMENT, manager="alice", now=NOW),
        "change": lambda: serverside.apply(live, changed, kind=DEPLOYMENT, manager="alice", now=NOW),
        "take over": lambda: serverside.apply(live, changed, kind=DEPLOYMENT, manager="bob", force=True, now=NOW),
        "update": lambda: updates.update(live, new, kind=DEPLOYMENT, manager="hpa", subresource="scale", now=NOW),
    }
    for name, work in cases.items():
        print(f"  {name:<10} {measure(work, repeat):8.3f} ms")


def make_config_map(count: int) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """A map of that many keys, and the same without one."""
    intent = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    intent["data"] = {f"key-{n}": "x" for n in range(count)}
    changed = copy.deepcopy(intent)
    del changed["data"]["key-1"]
    return CONFIG_MAP, intent, changed


def make_long_list(count: int) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """A list of that many entries, and the same without one."""
    intent = make_deployment(1)
    env = [{"name": f"SETTING_{n}", "value": "x"} for n in range(count)]
    intent["spec"]["template"]["spec"]["containers"][0]["env"] = env
    changed = copy.deepcopy(intent)
    del changed["spec"]["template"]["spec"]["containers"][0]["env"][1]
    return DEPLOYMENT, intent, changed


def measure_growth(kind: Any, intent: dict[str, Any], changed: dict[str, Any], repeat: int) -> float:
    """Milliseconds of an apply that gives one entry up."""
    live = serverside.apply(None, intent, kind=kind, manager="alice", now=NOW).result
    return measure(lambda: serverside.apply(live, changed, kind=kind, manager="alice", now=NOW), repeat)


def show_growth() -> None:
    print("entries      ConfigMap keys      env of a container        (ms; microseconds an entry)")
    for count in (10, 100, 1_000, 10_000):
        line = f"{count:>7}"
        for made in (make_config_map(count), make_long_list(count)):
            cost = measure_growth(*made, max(3, 300 // count))
            line += f"   {cost:9.2f} ({cost * 1000 / count:6.1f})"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=200)
    show_deployment(parser.parse_args().repeat)
    show_growth()


if __name__ == "__main__":
    main()
