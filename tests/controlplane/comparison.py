"""What two applies of the same files left behind, made comparable.

Set aside: the namespace (and the API group of the shop's custom resources, renamed with it), uids, resource
versions, times, and addresses and ports that the server allots. Everything else must be equal, field owners too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.controlplane.controlplane import Server

JSONObject = dict[str, Any]
_ALLOTTED_BY_SERVICES = ("clusterIP", "clusterIPs", "healthCheckNodePort")


def read_objects(plane: Server, files: Mapping[str, str], namespace: str) -> dict[str, JSONObject]:
    """The live objects of these manifests, by kind and name."""
    text = "\n---\n".join(files.values())
    done = plane.kubectl(
        "get", "-f", "-", "-n", namespace, "-o", "json", "--show-managed-fields", "--ignore-not-found", stdin=text
    )
    found = json.loads(done.stdout)
    return {f"{each['kind']} {each['metadata']['name']}": each for each in found.get("items", [found])}


def make_comparable(objects: Mapping[str, JSONObject], renamed: Mapping[str, str]) -> dict[str, JSONObject]:
    """The same objects with names put back (`renamed` is new → old) and the server's own values set aside."""
    text = json.dumps(objects)
    for new, old in renamed.items():
        text = text.replace(new, old)
    put_back: dict[str, JSONObject] = json.loads(text)
    return {name: _set_aside(each) for name, each in put_back.items()}


def _set_aside(obj: JSONObject) -> JSONObject:
    metadata = obj["metadata"]
    for key in ("uid", "resourceVersion", "creationTimestamp"):
        metadata.pop(key, None)
    for entry in metadata.get("managedFields", []):
        entry.pop("time", None)
    metadata["managedFields"] = sorted(metadata.get("managedFields", []), key=lambda entry: json.dumps(entry))
    if obj["kind"] == "Service" and obj["spec"].get("clusterIP") != "None":
        for key in _ALLOTTED_BY_SERVICES:
            obj["spec"].pop(key, None)
        for port in obj["spec"].get("ports", []):
            port.pop("nodePort", None)
    for condition in obj.get("status", {}).get("conditions", []):
        condition.pop("lastTransitionTime", None)
    return obj


def _numbered(values: list[Any]) -> JSONObject:
    return {str(number): value for number, value in enumerate(values)}


def differences(ours: JSONObject, theirs: JSONObject, at: str = "") -> list[str]:
    """One line per field that differs, for people."""
    lines: list[str] = []
    for key in sorted({*ours, *theirs}):
        here, left, right = f"{at}.{key}", ours.get(key), theirs.get(key)
        if isinstance(left, dict) and isinstance(right, dict):
            lines += differences(left, right, here)
        elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
            lines += differences(_numbered(left), _numbered(right), here)
        elif json.dumps(left) != json.dumps(right):
            lines.append(f"{here}: product {json.dumps(left)}, kubectl {json.dumps(right)}")
    return lines


def compare(ours: Mapping[str, JSONObject], theirs: Mapping[str, JSONObject]) -> list[str]:
    """All differences between two sets of objects; empty when they are equal."""
    lines = []
    for name in sorted({*ours, *theirs}):
        if name not in ours or name not in theirs:
            lines.append(f"{name}: only {'kubectl' if name in theirs else 'the product'} made it")
        else:
            lines += [f"{name} {line}" for line in differences(ours[name], theirs[name])]
    return lines
