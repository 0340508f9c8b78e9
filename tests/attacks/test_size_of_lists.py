"""Hostile lists and maps: what many entries cost grows with their number, not with its square.

Each is large enough that a quadratic rule takes several times the limit on any machine that runs this.
"""

from __future__ import annotations

import pytest

from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.values import JSONObject, JSONValue, clone
from applyviz.engine.risks import admission, immutable, lists
from applyviz.engine.risks.model import RiskSubject
from applyviz.kubernetes.parity.decoding import decode
from applyviz.kubernetes.parity.go_types import go_types
from applyviz.kubernetes.parity.json_text import read_json
from tests.pace import measure

pytestmark = pytest.mark.attacks
SECONDS = 2.0
CUSTOM = {"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "a"}}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}


def read_subject(head: JSONObject, live: JSONValue, manifest: JSONValue, *, after: JSONValue = None) -> RiskSubject:
    """Return an object whose spec is applied; the server answers what was asked for, unless another answer is given."""
    had, wanted = {**head, "spec": live}, {**head, "spec": manifest}
    answer = wanted if after is None else {**head, "spec": after}
    return RiskSubject(ObjectRef.from_object(had), manifest=wanted, live=had, merged=wanted, after=answer)


@pytest.mark.parametrize("field", ['"data": {"a%d": ""}', '"metadata": {"labels": {"a%d": ""}}'])
def test_fields_that_are_sent_again_are_read_in_linear_time(field):
    config_map = go_types().find_kind(GroupVersionKind("", "v1", "ConfigMap"))
    count = 30_000
    sent = read_json(f"{{{', '.join(field % n for n in range(count))}}}".encode())

    read, seconds = measure(decode, sent, config_map)

    assert seconds < SECONDS
    assert len(read.obj.get("data") or read.obj["metadata"]["labels"]) == count


def test_large_entries_of_another_manager_are_compared_in_linear_time():
    """No entry is a part of another, which only its last field shows."""
    part = {f"a{n}": n for n in range(200)}
    live, manifest = ([{**part, "z": sign * n} for n in range(1, 401)] for sign in (1, -1))
    owned = {"manager": "other", "operation": "Update", "fieldsV1": {"f:spec": {"f:parts": {}}}}
    head = {**CUSTOM, "metadata": {"name": "a", "managedFields": [owned]}}

    (risk,), seconds = measure(
        lambda: list(lists.find_replaced(read_subject(head, {"parts": live}, {"parts": manifest})))
    )

    assert seconds < SECONDS
    assert risk.facts == {"list": "parts", "lost": "400", "owners": "other"}


def test_tolerations_are_compared_in_linear_time():
    """Admission adds each again, unless another one tolerates its taint."""
    added = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    others = [{"key": f"a{n}"} for n in range(4_000)]
    live, manifest = {"tolerations": [added] * 4_000}, {"tolerations": others}

    found, seconds = measure(lambda: list(immutable.find(read_subject(POD, live, manifest))))

    assert seconds < SECONDS
    assert found == []


def test_kept_entry_is_compared_once():
    """Of one entry, the server keeps each field that the manifest changes."""
    live, manifest = ({"parts": [{f"a{n}": word for n in range(6_000)}]} for word in ("live", "wanted"))
    subject = read_subject(CUSTOM, live, manifest, after=clone(live))
    subject.after["answered"] = True

    found, seconds = measure(lambda: list(admission.find(subject)))

    assert seconds < SECONDS
    assert [risk.facts["how"] for risk in found] == ["kept"] * 6_000
