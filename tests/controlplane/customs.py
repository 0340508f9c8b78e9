"""Random custom resources on a real API server: does the sandbox, over the same engine, answer each write alike?

    python -m tests.controlplane.customs --definitions 20 --writes 100 --seed 7

Each definition is created in earnest; then several writers apply, put and patch objects of it, also at its other
versions and at `status` and `scale`. The exchanges are told again to a sandbox as a recorded story is. And what the
engine makes of each apply must be the same by the definition and by the OpenAPI document that the server publishes.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from applyviz.conformance.cases import CaseResult
from applyviz.conformance.replay import judge_story, simplify
from applyviz.conformance.stories import read_story
from applyviz.engine.objects.errors import ConflictError, OwnershipError
from applyviz.engine.objects.exchange import APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import canonical_json
from applyviz.engine.ownership import server_side
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.model import KindSchema
from applyviz.engine.schema.openapi import OpenAPISource
from tests.controlplane.binaries import find_binaries
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.fixed_fields import NAMESPACE, Asker, JSONObject
from tests.controlplane.generated_objects import Inventor, make_definition

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_MANAGERS = ("alice", "bob", "hpa", "kubectl")
_WAIT_SECONDS = 30
_NOW = "2026-06-01T00:00:00Z"


class Custom:
    """One definition on the server, and all that was written about it."""

    def __init__(self, asker: Asker, rng: random.Random, number: int) -> None:
        self.asker = asker
        self.rng = rng
        self.definition = make_definition(rng, number)
        self.group: str = self.definition["spec"]["group"]
        self.versions = [v["name"] for v in self.definition["spec"]["versions"]]
        self.source = CRDSource([self.definition])
        self.exchanges: list[JSONObject] = []
        self.live: dict[str, JSONObject] = {}
        self.disagreements: list[str] = []
        self.compared = 0

    def create(self) -> bool:
        """Create it and wait until its objects can be written; whether the server took it."""
        if self._send("POST", _DEFINITIONS, {"fieldManager": "alice"}, JSON, self.definition)[0] != 201:
            return False
        deadline = time.monotonic() + _WAIT_SECONDS
        paths = [f"/openapi/v3/apis/{self.group}/{v}" for v in self.versions]
        while any(self.asker.ask("GET", path, None)[0] != 200 for path in (*map(self._path, self.versions), *paths)):
            assert time.monotonic() < deadline, f"{self.group} was not served in time"
            time.sleep(0.3)
        documents = {
            f"apis/{self.group}/{v}": self.asker.ask("GET", p, None)[1]
            for v, p in zip(self.versions, paths, strict=True)
        }
        self.published = OpenAPISource(documents)
        return True

    def delete(self) -> None:
        self.asker.ask("DELETE", f"{_DEFINITIONS}/{self.definition['metadata']['name']}", None)

    def _path(self, version: str, name: str = "", below: str = "") -> str:
        parts = (f"/apis/{self.group}/{version}/namespaces/{NAMESPACE}/things", name, below)
        return "/".join(part for part in parts if part)

    def _send(
        self, method: str, path: str, query: dict[str, str], content_type: str, body: Any
    ) -> tuple[int, JSONObject]:
        target = path + ("?" + "&".join(f"{k}={v}" for k, v in query.items()) if query else "")
        status, answer = self.asker.ask(method, target, body, content_type)
        told = {"method": method, "path": path, "query": query, "content_type": content_type, "body": body}
        self.exchanges.append({**told, "status": status, "response": answer})
        return status, answer

    def write(self) -> None:
        """One write of one of three objects."""
        rng, name = self.rng, self.rng.choice("xyz")
        version = rng.choice(self.versions)
        kind = self._find_kind(version)
        live = self.live.get(name)
        inventor = Inventor(rng, rng.choice((0.2, 0.5, 0.8)))
        head = {"apiVersion": f"{self.group}/{version}", "kind": "Thing"}
        turn = rng.random()
        if live is None or turn < 0.55:
            obj = self._invent(inventor, kind, live, head, name)
            self._apply(kind, version, name, obj)
        elif turn < 0.7:
            changed = inventor.change(kind.root, {k: v for k, v in live.items() if k != "metadata"}, 0.2)
            body = {
                **(changed if isinstance(changed, dict) else {}),
                **head,
                "metadata": copy.deepcopy(live["metadata"]),
            }
            self._put(version, name, body, "status" if rng.random() < 0.2 else "")
        elif turn < 0.9:
            body = inventor.pick(self._invent(inventor, kind, live, head, name), 0.5)
            body.pop("metadata", None)
            self._patch(version, name, MERGE_PATCH, {**body, **head})
        elif turn < 0.96:
            places = (
                [f"/spec/{n}" for n in (live.get("spec") or {"a": 1})]
                if isinstance(live.get("spec"), dict)
                else ["/spec"]
            )
            operation = {
                "op": rng.choice(("remove", "replace", "test")),
                "path": rng.choice(places),
                "value": rng.choice((None, {}, [], 1)),
            }
            self._patch(version, name, JSON_PATCH, [operation])
        else:
            self._send("DELETE", self._path(version, name), {}, JSON, None)
            self.live.pop(name, None)

    def _find_kind(self, version: str) -> KindSchema:
        kind = self.source.find_kind(GroupVersionKind(self.group, version, "Thing"))
        assert kind is not None
        return kind

    def _invent(
        self, inventor: Inventor, kind: KindSchema, live: JSONObject | None, head: JSONObject, name: str
    ) -> JSONObject:
        if live is not None and self.rng.random() < 0.7:
            made = inventor.change(
                kind.root, inventor.pick({k: v for k, v in live.items() if k != "metadata"}, 0.8), 0.2
            )
        else:
            made = inventor.make(kind.root, 6)
        metadata: JSONObject = {"name": name, "namespace": NAMESPACE}
        if self.rng.random() < 0.3:
            metadata["labels"] = {self.rng.choice("ab"): self.rng.choice("12")}
        return {**(made if isinstance(made, dict) else {}), **head, "metadata": metadata}

    def _apply(self, kind: KindSchema, version: str, name: str, obj: JSONObject) -> None:
        below = self.rng.choice(("status", "scale")) if self.rng.random() < 0.12 and name in self.live else ""
        if below == "scale":
            obj = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": obj["metadata"]}
            obj["spec"] = {"replicas": self.rng.randint(0, 3)}
        query = {"fieldManager": self.rng.choice(_MANAGERS), "fieldValidation": self.rng.choice(("Strict", "Warn"))}
        if self.rng.random() < 0.4:
            query["force"] = "true"
        found, live = self.asker.ask("GET", self._path(version, name), None)
        status, answer = self._send("PATCH", self._path(version, name, below), query, APPLY_PATCH, obj)
        if below != "scale":
            self._compare_owners(version, live if found == 200 else None, self.exchanges[-1], below)
        self._remember(name, status, answer)

    def _put(self, version: str, name: str, body: JSONObject, below: str) -> None:
        path = self._path(version, name, below)
        self._remember(name, *self._send("PUT", path, {"fieldManager": self.rng.choice(_MANAGERS)}, JSON, body))

    def _patch(self, version: str, name: str, content_type: str, body: Any) -> None:
        path = self._path(version, name)
        self._remember(
            name, *self._send("PATCH", path, {"fieldManager": self.rng.choice(_MANAGERS)}, content_type, body)
        )

    def _remember(self, name: str, status: int, answer: JSONObject) -> None:
        if status < 300 and answer.get("kind") == "Thing":
            self.live[name] = answer
        elif status < 300:
            self.live[name] = self.asker.ask("GET", self._path("v1", name), None)[1]

    def _compare_owners(self, version: str, live: JSONObject | None, exchange: JSONObject, below: str) -> None:
        """The definition and the published document lead to one result, and to the owners that the server names."""
        gvk, answers = GroupVersionKind(self.group, version, "Thing"), []
        for source in (self.source, self.published):
            kind = source.find_kind(gvk)
            assert kind is not None
            answers.append(_apply_by_engine(kind, copy.deepcopy(live), exchange, below))
        wanted = _read_owners(exchange["status"], exchange["response"])
        self.compared += 1
        if answers[0] != answers[1] or (wanted is not None and answers[0] != wanted):
            told = {"definition": self.definition, "live": live, "asked": exchange, "below": below}
            self.disagreements.append(f"{json.dumps(told)}\n  {wanted}\n  {answers[0]}\n  {answers[1]}")

    def judge(self) -> Iterator[CaseResult]:
        """Every write of it, told to a sandbox."""
        story = {"name": self.group, "namespace": NAMESPACE, "steps": [{"run": "", "requests": self.exchanges}]}
        yield from judge_story(read_story(story))


def _read_owners(status: int, answer: JSONObject) -> Any:
    """Owners after an apply, or who is in its way; None where it was refused for something else."""
    if status < 300:
        entries = simplify({"metadata": {"managedFields": answer["metadata"].get("managedFields") or []}})
        return sorted(entries["metadata"]["managedFields"], key=canonical_json)
    causes = (answer.get("details") or {}).get("causes") or ()
    found = sorted((c["message"].split('"')[1], c["field"]) for c in causes if c["reason"] == "FieldManagerConflict")
    return found or None


def _apply_by_engine(kind: KindSchema, live: Any, exchange: JSONObject, below: str) -> Any:
    query = exchange["query"]
    try:
        applied = server_side.apply(
            live,
            exchange["body"],
            kind=kind,
            manager=query["fieldManager"],
            force="force" in query,
            subresource=below,
            now=_NOW,
        )
    except ConflictError as error:
        return sorted((conflict.manager, conflict.field) for conflict in error.conflicts)
    except OwnershipError as error:
        return str(error)
    return _read_owners(200, applied.result)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--definitions", type=int, default=10)
    parser.add_argument("--writes", type=int, default=100, help="how many per definition")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=5, help="how many disagreements to write out")
    options = parser.parse_args()
    rng, count, shown = random.Random(options.seed), Counter[str](), 0
    with ControlPlane(find_binaries()) as plane:
        asker = Asker(plane)
        for number in range(options.definitions):
            custom = Custom(asker, rng, number)
            if custom.create():
                for _ in range(options.writes):
                    custom.write()
                custom.delete()
            else:
                count["definitions refused"] += 1
            for position, result in enumerate(custom.judge()):
                exchange = custom.exchanges[position]
                count["agree" if result.agrees else "disagree"] += 1
                count["refused"] += exchange["status"] >= 400
                if not result.agrees and shown < options.show:
                    shown += 1
                    sys.stdout.write(
                        f"\n{result.name} {result.reason[:1500]}\n  {json.dumps(exchange['body'])[:1500]}\n"
                    )
            for found in custom.disagreements[: options.show]:
                sys.stdout.write(f"\nowners: {found}\n")
            count["owners compared"] += custom.compared
            count["owners disagree"] += len(custom.disagreements)
    sys.stdout.write(f"{dict(sorted(count.items()))}\n")


if __name__ == "__main__":
    main()
