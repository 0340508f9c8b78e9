"""What a whole set costs from bytes to plan, each in its own process: time, and the most memory it ever held.

    .venv/bin/python -m benchmarks.sets thousand|FOLDER [--live nothing|same|changed] [--mode client|server]

`thousand` is a made set of 1,000 Deployments of 3 MB. `same` plans a second time, on what the first left behind;
`changed` too, and every object there has other labels. Processor time of one core; nothing is asked of a server.
"""

from __future__ import annotations

import argparse
import copy
import gc
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml

from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.sets.planner import SetPlanner, drive
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.model import SchemaOrigin
from applyviz.engine.schema.sources import SourceChain
from applyviz.sources.collector import defer_full_gc
from benchmarks.ownership import make_deployment

NOW = "2026-01-01T00:00:00Z"
Objects = dict[str, dict[str, Any]]


class Live(StrEnum):
    """The live objects before the set is planned."""

    NOTHING = "nothing"
    SAME = "same"
    CHANGED = "changed"


def write_thousand() -> dict[str, bytes]:
    """1,000 Deployments with settings, 3 kB each."""
    objects = []
    for number in range(1000):
        obj = make_deployment(1)
        obj["metadata"]["name"] = f"shop-{number}"
        more = [{"name": f"MORE_{n}", "value": f"another value, number {n}"} for n in range(9)]
        obj["spec"]["template"]["spec"]["containers"][0]["env"] += more
        objects.append(obj)
    dumper = type("Plain", (yaml.CSafeDumper,), {"ignore_aliases": lambda *_: True})
    return {"thousand.yaml": yaml.dump_all(objects, Dumper=dumper, sort_keys=False).encode()}


def read_folder(folder: Path) -> dict[str, bytes]:
    """All manifests of a folder."""
    paths = sorted(path for ending in ("*.yaml", "*.yml", "*.json") for path in folder.rglob(ending))
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def plan(files: dict[str, bytes], mode: ApplyMode, live: Objects) -> tuple[Objects, int]:
    """Read and plan everything; what is live afterwards, and how many objects failed."""
    documents = [d for name, data in files.items() for d in parse_manifests(data, name).documents]
    crds = [d.obj for d in documents if d.obj.get("kind") == "CustomResourceDefinition"]
    catalog = SourceChain(bundled(), CRDSource(crds, origin=SchemaOrigin.SOURCE_CRD)) if crds else bundled()
    context = PlanningContext(catalog, NOW, can_dry_run=False)
    planner = SetPlanner(documents, options=ApplyOptions(mode=mode), context=context)
    after: Objects = {}
    failed = 0
    for change in drive(planner, _answer_with(live, catalog)):
        failed += change.operation is Operation.ERROR
        resource_of = catalog.find_resource(change.ref.gvk)
        if resource_of is not None and change.versions.after is not None:
            kept = {**change.versions.after}
            kept["metadata"] = {**kept["metadata"], "uid": "u", "resourceVersion": "7"}
            after[resource_of.path(change.ref.namespace, change.ref.name)] = kept
    return after, failed


def _answer_with(live: Objects, catalog: Any) -> Callable[[Sequence[Request]], list[Answer]]:
    def send_all(requests: Sequence[Request]) -> list[Answer]:
        found = [live.get(request.path) for request in requests]
        return [Answer(404, {"reason": "NotFound"}) if obj is None else Answer(200, obj) for obj in found]

    return send_all


def _read_peak() -> float:
    """Megabytes; `getrusage` would count what the starting process held at the fork."""
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def _change(obj: dict[str, Any]) -> None:
    """As if another field manager had written some of it since."""
    metadata = obj["metadata"]
    metadata["labels"] = {**(metadata.get("labels") or {}), "changed-by": "somebody", "app": "another"}


def measure_here(source: str, mode: ApplyMode, before: Live) -> dict[str, float]:
    """Seconds and megabytes of this process."""
    files = write_thousand() if source == "thousand" else read_folder(Path(source))
    live: Objects = {}
    if before is not Live.NOTHING:
        live, _ = plan(files, mode, {})
        live = copy.deepcopy(live)
        gc.collect()
    for obj in live.values() if before is Live.CHANGED else ():
        _change(obj)
    bundled().list_resources()
    begin = time.process_time()
    with defer_full_gc():  # as those who make plans do
        after, failed = plan(files, mode, live)
    seconds = time.process_time() - begin
    memory = _read_peak()
    size = sum(map(len, files.values())) / 1e6
    return {"objects": len(after), "failed": failed, "megabytes_read": size, "seconds": seconds, "megabytes": memory}


def measure(source: str, mode: ApplyMode, before: Live) -> dict[str, float]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.sets", source, "--mode", mode.value, "--live", before.value]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("source", help="`thousand`, or a folder of manifests")
    parser.add_argument("--live", choices=[live.value for live in Live], default=Live.NOTHING.value)
    parser.add_argument("--mode", choices=[mode.value for mode in ApplyMode], default=ApplyMode.SERVER.value)
    options = parser.parse_args()
    print(json.dumps(measure_here(options.source, ApplyMode(options.mode), Live(options.live))))


if __name__ == "__main__":
    main()
