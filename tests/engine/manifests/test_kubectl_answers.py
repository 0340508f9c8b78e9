"""The reader against the answers of real kubectl (`tests/cases/reading/README.md`): zero differences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from applyviz.engine.manifests.documents import ParsedFile
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.values import is_same_json

CASES = Path(__file__).parents[2] / "cases" / "reading"


def read_integer(text: str) -> int | float:
    # kubectl prints floats without an exponent up to 1e21; beyond 64 bits nothing else is printed so.
    return int(text) if -(2**63) <= int(text) < 2**63 else float(text)


def load_cases(name: str) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads((CASES / name).read_text(), parse_int=read_integer)["cases"]
    return cases


SCALARS = load_cases("scalars.json")
DOCUMENTS = load_cases("documents.json")
HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: case\ndata:\n"
# kubectl label does not ask for these, kubectl apply does.
READ_ON_BY_LABEL = ("kind not set", "cannot unmarshal number into Go value of type float64")
ASKED_BY_APPLY = ("apiVersion not set", "resource name may not be empty")
# kubectl answers differently each time, so that the recorded answer is one of two.
READ_AT_RANDOM = ("{1: a, '1': b}",)
RANDOM = "kubectl takes one of them at random"


def read_scalar(place: str, text: str) -> ParsedFile:
    body = f"  field: {text}\n" if place == "value" else f"  {text}: field\n"
    return parse_manifests((HEAD + body).encode("utf-8", "surrogatepass"), "case.yaml")


def difference(place: str, case: dict[str, Any]) -> str:
    expected, parsed = case[place], read_scalar(place, case["text"])
    if "error" in expected:
        return "" if parsed.problems else f"kubectl refuses: {expected['error']}"
    if not parsed.documents and case["text"] in READ_AT_RANDOM:
        return "" if RANDOM in parsed.problems[0].reason else f"refused for another reason: {parsed.problems[0]}"
    if not parsed.documents:
        return f"kubectl reads it, we refuse: {parsed.problems[0]}"
    got = parsed.documents[0].obj.get("data")
    return "" if is_same_json(got, expected["data"]) else f"{got!r} instead of {expected['data']!r}"


@pytest.mark.parametrize("place", ["value", "key"])
def test_scalars_read_as_kubectl_reads_them(place: str) -> None:
    differences = {case["text"]: difference(place, case) for case in SCALARS}

    assert {text: found for text, found in differences.items() if found} == {}


def document_bytes(case: dict[str, Any]) -> bytes:
    if "hex" in case:
        return bytes.fromhex(case["hex"])
    text: str = case["text"]
    return text.encode("utf-8", "surrogatepass")


def named(objects: list[Any]) -> list[Any]:
    return [o for o in objects if o.get("apiVersion") and (o.get("metadata") or {}).get("name")]


def without_empty_labels(obj: Any) -> Any:
    # kubectl label writes the labels anew: an empty map and none are the same there.
    labels = obj["metadata"].get("labels")
    meta = {k: v for k, v in obj["metadata"].items() if k != "labels"}
    kept = {k: "" if v is None else v for k, v in (labels or {}).items()}
    return {**obj, "metadata": {**meta, "labels": kept} if kept else meta}


def document_difference(case: dict[str, Any]) -> str:
    parsed = parse_manifests(document_bytes(case), "case.yaml")
    own = [p for p in parsed.problems if "kind not set" in p.reason or not any(w in p.reason for w in ASKED_BY_APPLY)]
    # An object without a kind ends the file for kubectl apply, which validates; kubectl label goes on.
    is_cut = not any(words in p.reason for p in own for words in READ_ON_BY_LABEL)
    read = parsed.documents[: parsed.kubectl_stops_after if is_cut else None]
    got = [without_empty_labels(document.obj) for document in read]
    expected = [without_empty_labels(obj) for obj in named(case["objects"])]
    if bool(own) != bool(case["error"]):
        return f"kubectl says {case['error']!r}, we say {[str(p) for p in parsed.problems]}"
    return "" if is_same_json(got, expected) else f"{got!r} instead of {expected!r}"


@pytest.mark.parametrize("case", DOCUMENTS, ids=[case["about"] for case in DOCUMENTS])
def test_document_reads_as_kubectl_reads_it(case: dict[str, Any]) -> None:
    assert document_difference(case) == ""
