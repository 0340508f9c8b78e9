"""Rows of an object that is deleted and created again."""

from __future__ import annotations

import pytest

from applyviz.engine.explain.fields import CHANGING
from applyviz.engine.explain.reasons import Reason
from applyviz.engine.explain.sentences import render_reason
from applyviz.engine.objects.exchange import MERGE_PATCH, Request
from applyviz.engine.objects.paths import render_path
from applyviz.engine.requests.options import ApplyMode
from tests.engine.planning.test_replacement import JOB, options_of, plan_again, with_job


@pytest.mark.parametrize("mode", list(ApplyMode))
def test_what_only_live_has_goes_with_the_deleted_object(mode):
    """No merge and no server removes it, and no manager loses a field of an object that is new."""
    box = with_job(ApplyMode.CLIENT)
    path = "/apis/batch/v1/namespaces/default/jobs/migrate"
    by_hand = {"metadata": {"labels": {"team": "a"}}, "spec": {"activeDeadlineSeconds": 60}}
    assert box.handle(Request("PATCH", path, {}, MERGE_PATCH, by_hand)).is_ok

    change = plan_again(box, JOB.replace("IMAGE", "a:2"), options_of(mode))

    moving = [one for one in change.fields if one.operation in CHANGING and one.reason is not Reason.BOOKKEEPING]
    told = {render_path(one.path): render_reason(one) for one in moving}
    record = told.pop(".metadata.annotations.kubectl.kubernetes.io/last-applied-configuration", None)
    lost = "Lost with the deleted object: your manifest does not set it"
    assert told == {
        '.spec.template.spec.containers[name="migrate"].image': "your manifest changes it",
        ".metadata.labels.team": lost,
        ".spec.activeDeadlineSeconds": lost,
    }
    assert record == (lost if mode is ApplyMode.SERVER else None)
    again = [one for one in change.fields if render_path(one.path) == ".spec.backoffLimit"]
    assert [render_reason(one) for one in again] == ["removed, and set to the server's default again"]


def test_status_is_a_field_of_the_new_object_where_the_manifest_sets_it():
    box = with_job()

    change = plan_again(box, JOB.replace("IMAGE", "a:2") + "status: {active: 1}\n", options_of(ApplyMode.SERVER))

    assert ".status.active" in [render_path(reason.path) for reason in change.fields]
