"""Where there have been two administrators, no single one publishes a policy that requires less, or archives one.

Each attack ended with a change that its author ran without the approvals that the policy required.
"""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import AuditEntry, PendingChange, PolicyVersion
from applyviz.workflow.approvals import quorum
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.people import confirmations
from applyviz.workflow.policies import Rules, editing
from tests.builders import make_person, make_plan_row

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]


@pytest.fixture
def mallory(db: None) -> User:
    """The first administrator, who also writes and runs."""
    return make_person("mallory", Role.ADMINISTRATOR, Role.AUTHOR, Role.OPERATOR)


@pytest.fixture
def dana(mallory: User) -> User:
    """The second one."""
    return make_person("dana", Role.ADMINISTRATOR)


def publish(by: User, rules: Rules, *, confirmed_by: User | None = None) -> None:
    """A version in force, with the second administrator where one is needed."""
    made = editing.save_policy("prod", by=by, scope=Scope(), rules=rules)
    if isinstance(made, PendingChange):
        assert confirmed_by is not None
        confirmations.confirm_change(made, by=confirmed_by)


def test_operator_publishes_no_policy_without_approvals(dana: User, mallory: User) -> None:
    """She published "0 approvals", and ran her own change."""
    plan = make_plan_row(mallory)

    made = editing.save_policy("mine", by=mallory, scope=Scope(), rules=Rules(approvals=0))

    assert isinstance(made, PendingChange)
    assert (PolicyVersion.objects.count(), quorum.count_quorum(plan).missing) == (0, 1)
    with pytest.raises(NotAllowedError, match="you requested this"):
        confirmations.confirm_change(made, by=mallory)


def test_policy_in_force_asks_for_less_only_by_two(dana: User, mallory: User) -> None:
    publish(mallory, Rules(approvals=2))
    plan = make_plan_row(make_person("alice"), policy_version="prod@1")

    made = editing.save_policy("prod", by=mallory, scope=Scope(), rules=Rules(approvals=1))

    assert isinstance(made, PendingChange)
    assert made.summary["requires less"] == ["approvals"]
    assert made.summary["rules"] == ["approvals: 2 → 1"]
    assert quorum.count_quorum(plan).needed == 2
    confirmations.confirm_change(made, by=dana)
    version = PolicyVersion.objects.get(number=2)
    assert (version.by, version.confirmed_by, version.rules) == (mallory, dana, {})


def test_policy_leaves_no_cluster_by_one(dana: User, mallory: User) -> None:
    publish(mallory, Rules(approvals=2))

    made = editing.save_policy("prod", by=mallory, scope=Scope("nowhere"), rules=Rules(approvals=9))

    assert isinstance(made, PendingChange)
    assert made.summary["requires less"] == ["scope"]


def test_stricter_policy_needs_no_second(dana: User, mallory: User) -> None:
    for approvals in (1, 2, 3):
        made = editing.save_policy("prod", by=mallory, scope=Scope(), rules=Rules(approvals=approvals))
        assert isinstance(made, PolicyVersion)


def test_policy_is_not_archived_by_one(dana: User, mallory: User) -> None:
    publish(mallory, Rules(approvals=2))
    plan = make_plan_row(make_person("alice"), policy_version="prod@1")

    asked = editing.archive_policy("prod", by=mallory)

    assert isinstance(asked, PendingChange)
    assert quorum.count_quorum(plan).needed == 2
    confirmations.confirm_change(asked, by=dana)
    assert quorum.count_quorum(plan).needed == 1


def test_version_that_was_overtaken_is_not_confirmed(dana: User, mallory: User) -> None:
    """It was compared with another version: what it takes away now nobody has seen."""
    publish(mallory, Rules(approvals=2))
    asked = editing.save_policy("prod", by=mallory, scope=Scope(), rules=Rules(approvals=1))
    publish(dana, Rules(approvals=3))

    assert isinstance(asked, PendingChange)
    with pytest.raises(NotPossibleError, match="version 2 is in force"):
        confirmations.confirm_change(asked, by=dana)


def test_sole_administrator_publishes_and_it_is_marked(mallory: User) -> None:
    """Nobody else could confirm; the history says so."""
    publish(mallory, Rules(approvals=0))

    entry = AuditEntry.objects.get(action=AuditAction.POLICY_CHANGED)
    assert entry.detail["sole administrator"] is True


def test_page_shows_who_confirmed_a_version(mallory: User, dana: User) -> None:
    publish(mallory, Rules(approvals=0), confirmed_by=dana)

    browser = Client()
    browser.force_login(mallory)
    page = browser.get(reverse("settings:show-policy", args=["prod"])).content.decode()

    assert "confirmed by dana" in page
    assert "Waiting for a second administrator</h2>" not in page
