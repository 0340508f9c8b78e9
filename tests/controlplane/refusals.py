"""Broken objects, sent to a real API server and to a sandbox: do both refuse them for the same fields and causes?

    python -m tests.controlplane.refusals --cases 500 --seed 7

The objects are those of `fixed-fields.yaml`, each with one or two things wrong: an unknown field, another type, a
duplicate entry, a null, something that is missing. Each goes as a create and as an apply, as dry runs.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from applyviz.conformance.replay import compare
from applyviz.engine.objects.exchange import APPLY_PATCH, JSON, Answer, Request
from applyviz.sandbox.server import Sandbox
from applyviz.sandbox.store import MemoryStore
from tests.controlplane.binaries import find_binaries
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.fixed_fields import Asker, JSONObject, find_path
from tests.controlplane.mutations import list_containers

_OTHERS: tuple[Any, ...] = ("text", 5, 1.5, True, {}, {"a": 1}, [], ["a", "a"], [{"name": "a"}], None, -1, "")
_QUERY = {"dryRun": "All", "fieldValidation": "Strict", "fieldManager": "tester"}


def break_object(obj: JSONObject, rng: random.Random) -> JSONObject:
    """A copy with one or two things wrong."""
    broken = copy.deepcopy(obj)
    for _ in range(rng.choice((1, 1, 2))):
        path, container = rng.choice(list(list_containers(broken)))
        turn = rng.random()
        if isinstance(container, list):
            _break_list(container, rng)
        elif turn < 0.3:
            container[rng.choice(("unknown", "Name", "nmae", "spec"))] = copy.deepcopy(rng.choice(_OTHERS))
        elif turn < 0.75:
            names = _list_names(path, container)
            if names:
                container[rng.choice(names)] = copy.deepcopy(rng.choice(_OTHERS))
        else:
            names = _list_names(path, container)
            if names:
                del container[rng.choice(names)]
    return broken


def _list_names(path: tuple[Any, ...], container: JSONObject) -> list[str]:
    """The fields that may be broken: not those by which an object is addressed."""
    kept = {(): ("apiVersion", "kind", "metadata"), ("metadata",): ("name", "namespace")}.get(path, ())
    return [name for name in sorted(container) if name not in kept]


def _break_list(items: list[Any], rng: random.Random) -> None:
    turn = rng.random()
    if items and turn < 0.5:
        items.append(copy.deepcopy(rng.choice(items)))
    elif items and turn < 0.7:
        items[rng.randrange(len(items))] = copy.deepcopy(rng.choice(_OTHERS))
    else:
        items.append(copy.deepcopy(rng.choice(_OTHERS)))


def make_requests(obj: JSONObject) -> Iterator[Request]:
    """The create and the apply of one object."""
    path = find_path(obj)
    yield Request("POST", path, _QUERY, JSON, obj)
    yield Request("PATCH", f"{path}/{obj['metadata']['name']}", {**_QUERY, "force": "true"}, APPLY_PATCH, obj)


def ask_both(asker: Asker, request: Request) -> tuple[Answer, Answer]:
    """The answers of the API server and of a fresh sandbox."""
    query = "&".join(f"{key}={value}" for key, value in request.query.items())
    status, body = asker.ask(request.method, f"{request.path}?{query}", request.body, request.content_type)
    sandbox = Sandbox(MemoryStore(), lambda: datetime(2026, 1, 1, tzinfo=UTC), has_controllers=False)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    sandbox.handle(Request("POST", "/api/v1/namespaces", {}, JSON, namespace))
    return Answer(status, body), sandbox.handle(request, user="tester")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=5, help="how many disagreements to write out")
    options = parser.parse_args()
    entries = yaml.safe_load(Path(__file__).with_name("fixed-fields.yaml").read_text(encoding="utf-8"))
    rng, count, shown = random.Random(options.seed), Counter[str](), 0
    with ControlPlane(find_binaries()) as plane:
        asker = Asker(plane)
        while count["asked"] < options.cases:
            for request in make_requests(break_object(rng.choice(entries)["object"], rng)):
                theirs, ours = ask_both(asker, request)
                reason = compare(theirs, ours) if theirs.status >= 400 or ours.status >= 400 else ""
                count["asked"] += 1
                count["refused"] += theirs.status >= 400
                count["disagree"] += bool(reason)
                if reason and shown < options.show:
                    shown += 1
                    sys.stdout.write(f"\n{request.method} {json.dumps(request.body)}\n  {reason}\n")
    sys.stdout.write(f"{dict(count)}\n")


if __name__ == "__main__":
    main()
