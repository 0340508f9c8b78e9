"""Measure reading: 1,000 documents of 3 MB with positions, against PyYAML's own C loader in the same run.

    .venv/bin/python -m benchmarks.reading [--repeat N]

Medians of processor time. `loader`: `yaml.load_all` with `CSafeLoader`; `reader`: `parse_manifests`, with
positions, retyped values and duplicate keys; `child`: the same in its disposable process, in wall time.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import yaml

from applyviz.engine.manifests.parse import parse_manifests
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.sources.sandboxed import read_files


def make_container(number: int) -> dict[str, Any]:
    return {
        "name": f"part-{number}",
        "image": f"registry.example.com/shop/part-{number}:1.2.{number}",
        "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
        "env": [{"name": f"SETTING_{n}", "value": f"value-{n}"} for n in range(10)],
        "resources": {"limits": {"cpu": "100m", "memory": "128Mi"}, "requests": {"cpu": "100m", "memory": "64Mi"}},
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "initialDelaySeconds": 10},
    }


def make_deployment(number: int) -> dict[str, Any]:
    labels = {"app": f"web-{number}", "tier": "front", "version": "v1"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": f"web-{number}", "labels": labels, "annotations": {"note": "some text: here"}},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [make_container(n) for n in range(3)]}},
        },
    }


def measure(work: Callable[[], object], clock: Callable[[], float], repeat: int) -> float:
    times = []
    for _ in range(repeat):
        started = clock()
        work()
        times.append(clock() - started)
    return statistics.median(times)


def write_thousand() -> str:
    """The documents as text."""
    dumper = type("Plain", (yaml.CSafeDumper,), {"ignore_aliases": lambda *_: True})
    text: str = yaml.dump_all([make_deployment(n) for n in range(1000)], Dumper=dumper, sort_keys=False)
    return text


def measure_both(repeat: int) -> tuple[float, float]:
    """Seconds of processor time: PyYAML's C loader, and the reader."""
    text = write_thousand()
    data = text.encode()
    loader = measure(lambda: list(yaml.load_all(text, Loader=yaml.CSafeLoader)), time.process_time, repeat)
    return loader, measure(lambda: parse_manifests(data, "whole.yaml"), time.process_time, repeat)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    data = write_thousand().encode()
    small = SourceBundle.of([BundledFile("small.yaml", data[: data.index(b"---")])])
    whole = SourceBundle.of([BundledFile("whole.yaml", data)])

    loader, reader = measure_both(repeat)
    child = measure(lambda: read_files(whole).files, time.perf_counter, repeat)
    start = measure(lambda: read_files(small).files, time.perf_counter, repeat)

    print(f"1,000 documents, {len(data):,} bytes")
    print(f"loader {loader:6.3f} s")
    print(f"reader {reader:6.3f} s   {reader / loader:.2f} times the loader")
    print(f"child  {child:6.3f} s   one document: {start:.3f} s")


if __name__ == "__main__":
    main()
