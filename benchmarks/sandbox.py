"""Measure requests to a sandbox cluster with an in-memory store and a warm schema.

.venv/bin/python -m benchmarks.sandbox [--repeat N]

Medians for one Deployment of 4.6 kB among 500 ConfigMaps: a create, a strategic patch, an apply (real and dry run),
a read, a list of 500.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from applyviz.engine.objects.exchange import APPLY_PATCH, JSON, STRATEGIC_MERGE_PATCH, Answer, Request
from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.storage.store import MemoryStore
from benchmarks.ownership import make_deployment

MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def make_sandbox() -> Sandbox:
    sandbox = Sandbox(MemoryStore(), lambda: datetime.now(UTC))
    for number in range(500):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{number}"}, "data": {"a": "1"}}
        sandbox.handle(Request("POST", MAPS, {}, JSON, body))
    return sandbox


def measure(action: Callable[[int], Answer], repeat: int) -> float:
    """The median in milliseconds; an action that fails is no measurement."""
    taken = []
    for number in range(repeat):
        start = time.perf_counter()
        answer = action(number)
        taken.append((time.perf_counter() - start) * 1000)
        if not answer.is_ok:
            raise SystemExit(answer.message)
    return statistics.median(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=50)
    repeat = parser.parse_args().repeat
    sandbox = make_sandbox()
    body = make_deployment()
    body["metadata"] = {"name": "shop", "namespace": "default", "labels": body["metadata"]["labels"]}
    path = f"{DEPLOYMENTS}/shop"
    forced = {"fieldManager": "bench", "force": "true"}

    def create(number: int) -> Answer:
        named = {**body, "metadata": {**body["metadata"], "name": f"shop-{number}"}}
        return sandbox.handle(Request("POST", DEPLOYMENTS, {}, JSON, named))

    def patch(number: int) -> Answer:
        change = {"spec": {"replicas": number + 1}}
        return sandbox.handle(Request("PATCH", path, {}, STRATEGIC_MERGE_PATCH, change))

    def apply(number: int, **more: str) -> Answer:
        intent = {**body, "spec": {**body["spec"], "replicas": number + 1}}
        return sandbox.handle(Request("PATCH", path, {**forced, **more}, APPLY_PATCH, intent))

    sandbox.handle(Request("POST", DEPLOYMENTS, {}, JSON, body))
    for name, action in (
        ("create", create),
        ("strategic patch", patch),
        ("apply", apply),
        ("apply, dry run", lambda n: apply(n, dryRun="All")),
        ("read", lambda n: sandbox.handle(Request("GET", path))),
        ("list of 500", lambda n: sandbox.handle(Request("GET", MAPS))),
    ):
        print(f"{name:16} {measure(action, repeat):8.2f} ms")


if __name__ == "__main__":
    main()
