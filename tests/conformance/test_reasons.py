"""Does the family `reasons` notice a sentence that names somebody else? Each test plants one."""

from __future__ import annotations

import pytest

from applyviz.conformance import reasons
from applyviz.conformance.inputs import ApplyInput, Planned, plan_all, read_documents
from applyviz.engine.objects.structs import replace
from applyviz.engine.requests.options import ApplyMode
from applyviz.web.management.presenting import present

BEFORE = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {tier: a}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'web:1'}]}
"""
# The label goes, replicas fall back to their default, the image changes, a container comes with defaults of its own.
AFTER = (
    BEFORE.replace(", labels: {tier: a}}\nspec", "}\nspec")
    .replace("  replicas: 3\n", "")
    .replace("'web:1'}", "'web:2'}, {name: side, image: 'side:1'}")
)
SET, SERVER, GONE = "your manifest changes it", "server default", "Removed: no longer in the manifest"
NULL = "Removed: set to null in the manifest"


def plan(before: str, after: str, mode: ApplyMode, first: ApplyMode | None = None) -> Planned:
    given = ApplyInput("x", read_documents(after), before=((read_documents(before), first or mode),))
    return next(one for one in plan_all(given) if one.mode is mode)


@pytest.fixture(scope="module", params=ApplyMode)
def planned(request) -> Planned:
    return plan(BEFORE, AFTER, request.param)


def find_wrong(planned: Planned, end: str, why: str) -> str:
    """What the judge says when the row whose path ends so has another sentence."""
    shown = present(planned.change, planned.options)
    rows = [replace(r, why=why) if why and r.path[-1] == f"f:{end}" else r for r in (*shown.changes, *shown.defaults)]
    assert any(row.path[-1] == f"f:{end}" for row in rows)
    return reasons.judge(planned, replace(shown, changes=tuple(rows), defaults=())).reason


def test_sentences_that_are_right_agree(planned):
    for end in ("image", "replicas", "tier", "imagePullPolicy"):
        assert find_wrong(planned, end, "") == ""


@pytest.mark.parametrize(
    ("end", "why", "wrong"),
    [
        ("image", SERVER, "it is what the merge asks for"),
        ("image", GONE, "the manifest has it"),
        ("image", NULL, "the manifest has no null there"),
        ("image", "it changes", "it names nobody"),
        ("tier", SERVER, "it is what the merge asks for"),
        ("tier", SET, "the manifest does not have it"),
        ("tier", NULL, "the manifest has no null there"),
        ("replicas", SET, "the manifest does not have it"),
        ("replicas", SERVER, "the manifest removes the value of live"),
        ("imagePullPolicy", SET, "the merge does not ask for it"),
        ("imagePullPolicy", GONE, "the merge does not ask for it"),
    ],
)
def test_sentence_that_names_another_is_noticed(planned, end, why, wrong):
    assert wrong in find_wrong(planned, end, why)


def test_defaults_that_come_when_ownership_moves_back_are_told_apart():
    service = """
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  type: NodePort
  selector: {app: web}
  ports: [{name: web, port: 80}]
"""
    after = service.replace("  type: NodePort\n", "").replace("port: 80}", "port: 80}, {name: more, port: 81}")
    planned = plan(service, after, ApplyMode.CLIENT, ApplyMode.SERVER)
    shown = present(planned.change, planned.options)
    told = {(row.path[-1], row.why) for row in (*shown.changes, *shown.defaults)}

    assert reasons.judge(planned, shown).reason == ""
    assert ("f:type", "No longer in the manifest: the server sets its default") in told
    assert ("f:targetPort", "server default") in told
    assert ("f:externalTrafficPolicy", "the server removes it after the merge") in told


def test_map_that_keeps_a_key_of_others_is_not_replaced():
    spec = "{selector: {a: b}, ports: [{port: 80}]}"
    service = f"{{apiVersion: v1, kind: Service, metadata: {{name: s, namespace: shop}}, spec: {spec}}}"
    (live,) = (document.obj for document in read_documents(service.replace("a: b", "a: c, d: e")))
    given = ApplyInput("x", read_documents(service), (live,))
    changed = next(one for one in plan_all(given) if one.mode is ApplyMode.CLIENT)

    assert find_wrong(changed, "selector", "") == ""
    assert "a part of it stays" in find_wrong(changed, "selector", "Atomic field: replaced as a whole")


PORTS = """
apiVersion: v1
kind: Service
metadata: {name: s}
spec: {selector: {app: a}, ports: [{name: a, port: 53, protocol: TCP}]}
"""
MORE_PORTS = PORTS.replace("TCP}", "TCP}, {name: b, port: 54, protocol: TCP}")
OTHER_PORT = PORTS.replace("TCP", "UDP")
BY_ONE = "no live entry has the same `port`: this entry is new"
BY_BOTH = "`ports` merges by port and protocol: this entry is new"
WRONG = "entries are found by other keys, or there is one"


@pytest.mark.parametrize(
    ("mode", "after", "why", "is_so"),
    [
        (ApplyMode.CLIENT, MORE_PORTS, BY_ONE, True),
        (ApplyMode.CLIENT, MORE_PORTS, BY_BOTH, False),
        (ApplyMode.CLIENT, OTHER_PORT, BY_ONE, False),
        (ApplyMode.SERVER, MORE_PORTS, BY_BOTH, True),
        (ApplyMode.SERVER, OTHER_PORT, BY_BOTH, True),
        (ApplyMode.SERVER, MORE_PORTS, BY_ONE, False),
    ],
)
def test_new_entry_is_one_that_is_not_found_by_the_keys_of_its_sentence(mode, after, why, is_so):
    planned = plan(PORTS, after, mode)
    shown = present(planned.change, planned.options)
    row = next(row for row in shown.changes if row.path[-2][0] == "k" and row.operation == "set")
    found = reasons.judge(planned, replace(shown, changes=(replace(row, why=why),), defaults=())).reason

    assert (found == "") is is_so
    assert is_so or WRONG in found


def test_entry_in_a_new_entry_is_as_new_as_that():
    side = AFTER.replace("image: 'side:1'}", "image: 'side:1', ports: [{containerPort: 80}]}")
    planned = plan(BEFORE, side, ApplyMode.CLIENT)

    assert find_wrong(planned, "containerPort", "") == ""
    assert WRONG in find_wrong(
        planned, "containerPort", "no live entry has the same `containerPort`: this entry is new"
    )


def test_null_among_annotations_is_asked_for_as_an_empty_text():
    noted = BEFORE.replace("labels: {tier: a}", "labels: {tier: a}, annotations: {b: null}")
    planned = plan(BEFORE, noted, ApplyMode.CLIENT)

    assert reasons.judge(planned, present(planned.change, planned.options)).reason == ""
    assert find_wrong(planned, "b", "") == ""
