"""The contract of an API server, told as stories of requests: sandbox and live cluster keep it alike.

A story is one file of `tests/cases/sandbox`: requests with the answers of kube-apiserver v1.36.3. In it `$namespace`
is a namespace of its own, `$uid`, `$version` and `$stale` (an older version) are those of the object of the request,
`$uid of NAME` that of another; answers compare without what a server makes up.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from applyviz.conformance.replay import compare, simplify
from applyviz.engine.objects.exchange import (
    APPLY_PATCH,
    JSON,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    Answer,
    Request,
)
from tests.yaml_files import read_yaml

_ALL_CASES = Path(__file__).parent.parent / "cases"
CASES = _ALL_CASES / "sandbox"
CONTROLLED = _ALL_CASES / "controllers"
"""Stories in which controllers act: what they do is told by what a `gone` waits for, or after a `settle`."""
TYPES = {"apply": APPLY_PATCH, "json": JSON_PATCH, "merge": MERGE_PATCH, "strategic": STRATEGIC_MERGE_PATCH}
MOMENTS = frozenset({"lastTransitionTime"})
Send = Callable[[Request], Answer]
Settle = Callable[[], None]
"""Waits until policies that were just written are heeded; a sandbox heeds them at once."""


def at_once() -> None:
    """Nothing to wait for."""


def list_stories(folder: Path = CASES) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.yaml"))


def load_story(name: str, folder: Path = CASES) -> dict[str, Any]:
    return read_yaml(folder / f"{name}.yaml")


class Teller:
    """Sends the steps of one story and remembers the objects it met."""

    def __init__(self, story: dict[str, Any], send: Send, namespace: str, settle: Settle) -> None:
        self.story, self.send, self.namespace, self.settle = story, send, namespace, settle
        self.uids: dict[str, str] = {}
        self.versions: dict[str, list[str]] = {}

    def tell(self) -> Iterator[tuple[dict[str, Any], Answer]]:
        """Every step with its answer."""
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}
        self.send(Request("POST", "/api/v1/namespaces", {}, JSON, body))
        for step in self.story["steps"]:
            if "settle" in step:
                self.settle()
                continue
            if "await" in step:
                self._await(self._fill(step["await"], ""))
                continue
            if "gone" in step:
                self._await(self._fill(step["gone"], ""), is_gone=True)
                continue
            answer = self.send(self._make_request(step))
            self._remember(self._place(step), answer)
            yield step, answer

    def _make_request(self, step: dict[str, Any]) -> Request:
        method, path = step["send"].split(" ", 1)
        place = self._place(step)
        query = {k: str(v) for k, v in step.get("query", {}).items()}
        query.setdefault("fieldManager", "contract") if method in ("POST", "PUT", "PATCH") else None
        content_type = TYPES.get(step.get("type", ""), step.get("type", JSON))
        return Request(method, self._fill(path, place), query, content_type, self._fill(step.get("body"), place))

    def _place(self, step: dict[str, Any]) -> str:
        method, path = step["send"].split(" ", 1)
        name = (step.get("body") or {}).get("metadata", {}).get("name", "") if method == "POST" else ""
        return "/".join([path, name]).rstrip("/").removesuffix("/status").removesuffix("/scale")

    def _fill(self, value: Any, place: str) -> Any:
        if isinstance(value, dict):
            return {k: self._fill(v, place) for k, v in value.items()}
        if isinstance(value, list):
            return [self._fill(v, place) for v in value]
        if not isinstance(value, str):
            return value
        if value.startswith("$uid of "):
            return next(u for p, u in self.uids.items() if p.endswith("/" + value.removeprefix("$uid of ")))
        versions = self.versions.get(place, [])
        known = {"$uid": self.uids.get(place), "$version": versions[-1:], "$stale": versions[:1]}
        found = known.get(value, value.replace("$namespace", self.namespace))
        return found[0] if isinstance(found, list) else found

    def _remember(self, place: str, answer: Answer) -> None:
        meta = answer.body.get("metadata") if isinstance(answer.body, dict) else None
        if answer.is_ok and isinstance(meta, dict) and meta.get("uid") and meta.get("resourceVersion"):
            self.uids[place] = meta["uid"]
            self.versions.setdefault(place, []).append(meta["resourceVersion"])

    def _await(self, path: str, *, is_gone: bool = False) -> None:
        """Wait until a path is served, or gone; a sandbox does not let wait."""
        deadline = time.monotonic() + 60
        while (self.send(Request("GET", path)).status == 404) is not is_gone:
            assert time.monotonic() < deadline, f"{path} is {'still' if is_gone else 'not'} served"
            time.sleep(0.1)


def judge_story(story: dict[str, Any], send: Send, namespace: str, settle: Settle = at_once) -> list[str]:
    """Where the answers differ from the story's, one line each."""
    differences = []
    for number, (step, answer) in enumerate(Teller(story, send, namespace, settle).tell()):
        got = Answer(answer.status, unname(answer.body, namespace), tuple(unname(list(answer.warnings), namespace)))
        expected = Answer(step["status"], step.get("answer"), tuple(step.get("warnings", ())))
        reason = compare(expected, got)
        if not reason and expected.warnings != got.warnings:
            reason = f"expected warnings {expected.warnings}, got {got.warnings}"
        if reason:
            differences.append(f"{number} {step['send']} ({step.get('about', '')}): {reason}")
    return differences


def record_story(story: dict[str, Any], send: Send, namespace: str, settle: Settle = at_once) -> dict[str, Any]:
    """The story with the answers of the server that `send` reaches."""
    for step, answer in Teller(story, send, namespace, settle).tell():
        step["status"] = answer.status
        step["answer"] = simplify(unname(answer.body, namespace))
        if answer.warnings:
            step["warnings"] = unname(list(answer.warnings), namespace)
    return story


def unname(value: Any, namespace: str) -> Any:
    """The same value with the namespace's own name taken out, and entries of managedFields in one order."""
    if isinstance(value, dict):
        plain = {k: unname(v, namespace) for k, v in value.items() if k not in MOMENTS}
        if isinstance(plain.get("managedFields"), list):
            plain["managedFields"] = sorted(plain["managedFields"], key=_identify)
        return plain
    if isinstance(value, list):
        return [unname(v, namespace) for v in value]
    return value.replace(namespace, "$namespace") if isinstance(value, str) else value


def _identify(entry: dict[str, Any]) -> tuple[str, ...]:
    entry.pop("time", None)
    return tuple(entry.get(k, "") for k in ("operation", "manager", "apiVersion", "subresource"))


def save_story(name: str, story: dict[str, Any], folder: Path = CASES) -> None:
    text = yaml.safe_dump(story, sort_keys=False, allow_unicode=True, width=118)
    (folder / f"{name}.yaml").write_text(text)
