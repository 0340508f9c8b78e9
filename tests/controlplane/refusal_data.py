"""Refusals of a real server as data, so that the sandbox can be held to them where there is no server.

`named.json` has the requests of `refusal-named.yaml` and `refusal-requests.yaml` with the server's answers,
`sample.jsonl.gz` random ones, one for every form of message that the server has. Both lie in `tests/sandbox/data`.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import parse_qsl, urlencode

from applyviz.engine.objects.exchange import APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from tests.controlplane.breaking import Wire
from tests.controlplane.refusal_sides import FOLDER, Reply, Side, list_places
from tests.yaml_files import read_yaml

DATA = FOLDER.parent / "sandbox" / "data"
NAMED, SAMPLE = DATA / "named.json", DATA / "sample.jsonl.gz"
_TYPES = {"apply": APPLY_PATCH, "json": JSON_PATCH, "merge": MERGE_PATCH, "strategic": STRATEGIC_MERGE_PATCH}
_QUERY = {"dryRun": "All", "fieldManager": "tester", "fieldValidation": "Strict"}
_WHAT_VARIES = re.compile(r'"(?:[^"\\]|\\.)*"|\d+|map\[.*\]|\{.*\}|[a-z]\w*(?:\.\w+|\[[^]]*\])+|\([^)]*\)', re.DOTALL)


def list_named() -> list[tuple[str, Wire]]:
    """The named requests."""
    files = [FOLDER / name for name in ("refusal-named.yaml", "refusal-requests.yaml")]
    entries = [entry for file in files for entry in read_yaml(file)]
    collections = {place.collection.rpartition("/")[2]: place.collection for place in list_places()}
    return [(entry["name"], _make_wire(entry, collections)) for entry in entries]


def _make_wire(entry: dict[str, str], collections: dict[str, str]) -> Wire:
    method, path = entry["send"].split(" ", 1)
    plural, _, name = path.partition("/")
    query = {
        **({} if entry.get("plain") else _QUERY),
        **dict(parse_qsl(entry.get("query", ""), keep_blank_values=True)),
    }
    content_type = entry.get("type", JSON)
    whole = path if path.startswith("/") else "/".join(filter(None, (collections[plural], name)))
    return Wire(method, whole, urlencode(query), _TYPES.get(content_type, content_type), entry.get("body", "").encode())


def to_json(name: str, wire: Wire, reply: Reply) -> dict[str, Any]:
    """A request and its answer as data; the body of an answer only where it is a refusal."""
    request = {"method": wire.method, "path": wire.path, "query": wire.query, "type": wire.content_type}
    text = wire.body.decode("utf-8", "surrogateescape")
    expected: dict[str, Any] = {"status": reply.status, "warnings": list(reply.warnings)}
    if reply.status >= 400:
        expected["body"] = reply.body
    return {"name": name, **request, "body": text, "expected": expected}


def read_case(data: dict[str, Any]) -> tuple[Wire, Reply]:
    """What `to_json` wrote."""
    body = data["body"].encode("utf-8", "surrogateescape")
    wire = Wire(data["method"], data["path"], data["query"], data["type"], body, data["name"])
    expected = data["expected"]
    return wire, Reply(expected["status"], expected.get("body"), tuple(expected["warnings"]))


def record_named(side: Side) -> None:
    """Ask for all named requests and keep the answers."""
    found = [to_json(name, wire, side.ask(wire)) for name, wire in list_named()]
    DATA.mkdir(exist_ok=True)
    NAMED.write_text("[\n" + ",\n".join(json.dumps(case, ensure_ascii=True) for case in found) + "\n]\n")


def load_named() -> list[dict[str, Any]]:
    """The named cases with the server's answers."""
    found: list[dict[str, Any]] = json.loads(NAMED.read_text(encoding="utf-8"))
    return found


def load_sample() -> Iterator[dict[str, Any]]:
    """The sampled cases with the server's answers."""
    return map(json.loads, gzip.decompress(SAMPLE.read_bytes()).decode().splitlines())


def find_form(wire: Wire, reply: Reply) -> str:
    """The form of an answer: its message without what varies, the method, the content type, and what was warned of."""
    message = reply.body.get("message", "") if isinstance(reply.body, dict) and reply.status >= 400 else ""
    warned = sorted({_WHAT_VARIES.sub("…", text) for text in reply.warnings})
    return f"{wire.content_type} {reply.status} {_WHAT_VARIES.sub('…', message)[:200]} {warned}"


def write_sample(cases: Iterable[dict[str, Any]]) -> None:
    """Keep sampled cases."""
    lines = "".join(f"{json.dumps(case)}\n" for case in cases)
    SAMPLE.write_bytes(gzip.compress(lines.encode(), 9, mtime=0))
