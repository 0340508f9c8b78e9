"""The effects of a prune or a deletion on the objects of a cluster that was given as text."""

import pytest

from applyviz.guide import playground
from applyviz.guide.given import PlaygroundQueryError
from applyviz.guide.given_sets import SetQuery, SetTask
from applyviz.guide.whole_sets import explain_set
from tests.guide.set_cases import CASES, place

NOW = "2026-01-01T00:00:00Z"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_set_becomes_what_the_case_says(case):
    answer = explain_set(case.ask("shop"), now=NOW)

    found = {}
    for row in answer.rows:
        keeps = row.stays.value if row.stays is not None else ", ".join(row.finalizers)
        outcome = row.outcome.value
        found[f"{row.ref.gvk.kind}/{row.ref.name}"] = [outcome, keeps] if keeps else outcome
    assert found == {place(name, "shop"): outcome for name, outcome in case.expect.items()}


HELD = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: held
  namespace: shop
  uid: u1
  deletionTimestamp: "2025-12-31T00:00:00Z"
  deletionGracePeriodSeconds: 0
  finalizers: [example.com/backup]
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"metadata": {"finalizers": ["example.com/backup"]}}'
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: child
  namespace: shop
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: held, uid: u1}]
"""


@pytest.mark.parametrize("task", [SetTask.KEEP, SetTask.ALLOWLIST])
def test_apply_that_removes_the_last_finalizer_ends_a_deletion(task):
    manifest = "{apiVersion: v1, kind: ConfigMap, metadata: {name: held, namespace: shop}}"

    answer = explain_set(SetQuery(manifest, cluster=HELD, task=task), now=NOW)

    found = [(row.ref.name, row.outcome.value, row.is_ended) for row in answer.rows]
    assert found == [("held", "deleted", True), ("child", "collected", False)]


def test_text_with_many_errors_is_read_once_for_their_lines(monkeypatch):
    """A question has up to twenty objects and a few seconds, and every object may have an error."""
    read, original = [], playground.read_text
    monkeypatch.setattr(playground, "read_text", lambda part, text: read.append(part) or original(part, text))
    unknown = "---\n".join(f"{{apiVersion: v1, kind: Nothing, metadata: {{name: a-{n}}}}}\n" for n in range(20))
    given = SetQuery("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", cluster=unknown)

    with pytest.raises(PlaygroundQueryError) as caught:
        explain_set(given, now=NOW)
    named = list(playground.name_lines(caught.value.problems, given.to_json()))

    assert read == ["cluster"]
    assert [text.partition(":")[0] for _part, text in named] == [f"line {2 * n + 1}" for n in range(20)]
