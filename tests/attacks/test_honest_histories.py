"""A history that nobody changed is verified, whatever retention removed of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from applyviz.records import triggers
from applyviz.records.enums import Role
from applyviz.records.models import JournalEntry
from applyviz.workflow.approvals import comments
from applyviz.workflow.audit import retention
from tests.attacks import test_changed_reviews
from tests.attacks.test_forged_rights import verify
from tests.builders import make_person
from tests.stories import Team, config_map, secret

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]


def remove(actions: tuple[str, ...]) -> None:
    """Remove requests, and the bodies of some entries, by a policy; () stands for all that may be removed."""
    root = make_person("root", Role.ADMINISTRATOR)
    policy = retention.add_policy(name="a month", days=30, actions=actions, has_requests=True, by=root)
    assert retention.prune(policy, now=timezone.now() + timedelta(days=31)).requests


@pytest.mark.core(1)
@pytest.mark.parametrize("actions", [(), ("plan.requested",), ("conflict.resolved", "resolution.undone")])
def test_history_without_what_retention_removed_is_verified(team: Team, actions: tuple[str, ...]) -> None:
    test_changed_reviews.play(team)
    run = team.apply(config_map("b", a="1"), secret(password="one"))
    comments.add_comment(run.plan, by=team.bob, content=comments.check_content("looks good"))

    remove(actions)

    assert "refused" not in verify()


def test_request_that_retention_did_not_remove_may_not_be_gone(team: Team) -> None:
    """Neither a request after the removal, nor one of which a part is there."""
    team.apply(config_map(a="1"))
    remove(("plan.requested",))
    triggers.lift("default")
    JournalEntry.objects.update(answer={"kind": "ConfigMap"})

    assert "no audit entry records this request" in verify()


def test_request_without_a_removal_may_not_be_gone(team: Team) -> None:
    team.apply(config_map(a="1"))
    triggers.lift("default")
    JournalEntry.objects.update(request=None, answer=None)

    assert "no audit entry records this request" in verify()
