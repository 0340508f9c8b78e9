"""An answer is stored without masking it again only where it is what the plan shows already."""

from __future__ import annotations

import pytest

from applyviz.engine.diff.mask_policy import DEFAULT_POLICY, MaskPolicy
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.records.models import JournalEntry
from applyviz.workflow.plans import changes
from tests.memory import Memory, many, start, wire_up
from tests.stories import Team

REF = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "shop", "api")
EMBEDDED = '{"kind": "Secret", "data": {"password": "aHVudGVyMg=="}}'


def make(version="7", time="2026-11-28T10:00:00Z", **more):
    owner = {"manager": "applyviz", "operation": "Apply", "time": time, "fieldsV1": {"f:spec": {"f:replicas": {}}}}
    metadata = {"name": "api", "namespace": "shop", "resourceVersion": version, "managedFields": [owner], **more}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"replicas": 2}}


def test_another_version_and_other_times_are_shown_as_masking_shows_them():
    answer = make("8", "2026-11-28T11:00:00Z")

    assert changes.is_shown_by(answer, make(), REF, DEFAULT_POLICY)
    assert changes.mask_object(answer, REF, tag_key=b"key", policy=DEFAULT_POLICY) == answer


@pytest.mark.parametrize(
    "answer",
    [
        make(version="password=hunter2"),
        make(version=""),
        make(version={"kind": "Secret"}),
        make(time="2026-11-28T10:00:00Z password=hunter2"),
        make(time=EMBEDDED),
        make(time=None),
        make(annotations={"note": EMBEDDED}),
        {**make(), "spec": {"replicas": 3}},
        {**make(), "stringData": {"password": "hunter2"}},
        {**make(), "metadata": EMBEDDED},
        {**make(), "metadata": {**make()["metadata"], "managedFields": [EMBEDDED]}},
    ],
)
def test_anything_else_is_masked(answer):
    assert not changes.is_shown_by(answer, make(), REF, DEFAULT_POLICY)


def test_secrets_new_objects_and_policies_that_name_fields_are_always_masked():
    secret = ObjectRef(GroupVersionKind("", "v1", "Secret"), "shop", "api")

    assert not changes.is_shown_by(make(), make(), secret, DEFAULT_POLICY)
    assert not changes.is_shown_by(make(), None, REF, DEFAULT_POLICY)
    assert not changes.is_shown_by(make(), make(), REF, MaskPolicy(names=("resourceVersion",)))
    assert not changes.is_shown_by(make(), make(), REF, MaskPolicy(paths=("metadata.name",)))


@pytest.mark.django_db
def test_answer_with_a_secret_that_the_plan_does_not_hold_is_stored_masked(monkeypatch):
    memory = Memory()
    team = wire_up(Team(), memory, monkeypatch)
    send = memory.send

    def add_annotation(request):
        answer = send(request)
        if request.is_write and not request.is_dry_run:
            answer.body["metadata"]["annotations"] = {"note": EMBEDDED}
        return answer

    memory.send = add_annotation
    team.work(start(team, *many(1)))

    entry = JournalEntry.objects.get()
    assert "aHVudGVyMg" in str(entry.sealed_answer.open_json())
    assert "aHVudGVyMg" not in str(entry.answer)
    assert "note" in entry.answer["metadata"]["annotations"]
