"""Genuine deliveries with texts that no database stores: refused or read without them, never left unread."""

from __future__ import annotations

import pytest

from applyviz.records.git_enums import PushResult
from applyviz.records.models import BranchPush, PushDelivery
from tests.following import begin, make_people, make_session_authority, make_stage, sign, write_body  # noqa: F401

ODD = ("a\0b", "a\ud800b")


@pytest.mark.parametrize("text", ODD)
def test_odd_branch_is_refused(stage, people, text):
    _review, first = begin(stage)
    body = write_body(first, "1" * 40, login="carol", branch=text)

    stage.deliver(body, sign(body, stage.webhook.secret))

    found = PushDelivery.objects.get()
    assert (found.state, found.reason) == (PushResult.REFUSED, "the push names no ref")


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
