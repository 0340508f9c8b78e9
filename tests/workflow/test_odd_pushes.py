"""Genuine pushes and commits with texts that no database stores: refused or read without them, never left unread."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.errors import SourceError
from applyviz.records.git_enums import FollowOutcome, PushResult
from applyviz.records.models import BranchPush, CommitEditor, CommitRange, Following, PushDelivery
from applyviz.workflow.following import fetching
from tests.following import begin, make_people, make_session_authority, make_stage, sign, write_body  # noqa: F401

ODD = ("a\0b", "a\ud800b")


@pytest.mark.core(1)
@pytest.mark.parametrize("text", ODD)
def test_odd_branch_is_refused(stage, people, text):
    _review, first = begin(stage)
    body = write_body(first, "1" * 40, login="carol", branch=text)

    stage.deliver(body, sign(body, stage.webhook.secret))

    found = PushDelivery.objects.get()
    assert (found.state, found.reason) == (PushResult.REFUSED, "the push names no ref")


@pytest.mark.core(1)
@pytest.mark.parametrize("text", ODD)
def test_odd_name_of_a_pusher_is_nobodys(stage, people, text):
    _review, first = begin(stage)
    second = stage.commit("carol", a="2")
    body = write_body(first, second, login=text, email=f"{text}@example.org")

    stage.deliver(body, sign(body, stage.webhook.secret))

    found = BranchPush.objects.get()
    assert (PushDelivery.objects.get().state, found.name, found.login, found.email) == (
        PushResult.ACCEPTED, "", "", ""
    )  # fmt: skip


def test_null_character_in_a_commit_stops_no_plan(stage, people):
    review, first = begin(stage)
    manifest = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {a: '2'}\n"
    second = stage.repository.commit(
        {"deploy/app.yaml": manifest}, author="Ca\0rol <carol@exam\0ple.org>", message="Change\0 things"
    )

    stage.push(first, second, login="carol")
    stage.follow()

    assert Following.objects.get().outcome == FollowOutcome.PLANNED
    plan = review.plans.latest("number")
    assert plan.revision.provenance["git"]["subject"] == "Change␀ things"
    assert "\\u0000" not in plan.revision.provenance["git"]["history"] + plan.revision.provenance["git"]["people"]
    assert CommitEditor.objects.get(plan=plan, role="author", commit=second).email == "carol@exam␀ple.org"
    assert "\0" not in str(CommitRange.objects.get(plan=plan).people)


def test_null_character_in_an_error_is_drawn(stage, people, monkeypatch):
    def refuse(*_given, **_more):
        raise SourceError("helm cannot render the chart: a\0b")

    _review, first = begin(stage)
    monkeypatch.setattr(fetching, "read_manifests", refuse)

    stage.push(first, stage.commit("carol", a="2"), login="carol")
    stage.follow()

    found = Following.objects.get()
    assert (found.outcome, found.detail) == (FollowOutcome.FAILED, "helm cannot render the chart: a␀b")
