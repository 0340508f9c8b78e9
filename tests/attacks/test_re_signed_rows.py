"""`manage.py keys re-sign` lets an earlier approval key go, and makes nothing genuine that was not."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from applyviz.records import triggers
from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import (
    AccountMac,
    Approval,
    AuditEntry,
    Cluster,
    Comment,
    Grant,
    Plan,
    PolicyVersion,
    RenewedMac,
)
from applyviz.workflow.approvals import comments
from applyviz.workflow.audit import vouched_rows
from applyviz.workflow.clusters import masking_settings
from applyviz.workflow.foundation import access, failpoints, renewed_macs, row_macs
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.ops import key_changes
from applyviz.workflow.policies import Rules, editing
from tests.attacks.test_forged_rights import verify
from tests.builders import make_approval, make_person
from tests.records.rows import refused
from tests.stories import Team, config_map

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
NEXT = "the-next-key-of-this-installation-0123456789"


@pytest.fixture
def story(team: Team, monkeypatch: pytest.MonkeyPatch) -> Team:
    """A run with its approval, a policy, a comment, an approval that waits, all under the first key."""
    wired = team.wire_up(monkeypatch)
    ida = make_person("ida", Role.ADMINISTRATOR)
    assert wired.apply(config_map("first", a="1")).state == "applied"
    editing.save_policy("prod", by=ida, scope=Scope(), rules=Rules(approvals=1))
    plan = wired.plan(config_map("second", a="1"))
    comments.add_comment(plan, by=wired.bob, content=comments.CommentContent("Why?"))
    make_approval(plan, wired.bob)
    assert "refused" not in verify()
    return wired


def change_key(settings: Any) -> str:
    """Make a new key current, and keep the earlier one; return that."""
    before: str = settings.APPLYVIZ_APPROVAL_KEY
    settings.APPLYVIZ_APPROVAL_KEY, settings.APPLYVIZ_APPROVAL_KEY_FALLBACKS = NEXT, [before]
    return before


def re_sign() -> str:
    said = StringIO()
    try:
        call_command("keys", "re-sign", stdout=said)
    except CommandError as error:
        return f"{said.getvalue()}refused: {error}"
    return said.getvalue()


def entries() -> list[Any]:
    found = AuditEntry.objects.filter(action=AuditAction.ROWS_RE_SIGNED).order_by("pk")
    return list(found.values_list("detail", flat=True))


def test_earlier_key_is_not_needed_any_more(story: Team, settings: Any) -> None:
    change_key(settings)
    stored = list(Approval.objects.order_by("pk").values_list("mac", flat=True))

    said = re_sign()
    settings.APPLYVIZ_APPROVAL_KEY_FALLBACKS = []

    assert "The earlier approval keys are no longer needed." in said
    assert "refused" not in verify()
    assert list(Approval.objects.order_by("pk").values_list("mac", flat=True)) == stored
    assert access.can(story.bob, Action.APPROVE)
    plan = Plan.objects.latest("pk")
    assert story.work(story.start(plan)).state == "applied"
    (detail,) = entries()
    assert (detail["signed"]["approval"], detail["signed"]["policy version"], detail["refused"]) == (2, 1, 0)
    assert detail["signed"].items() >= {"comment": 1, "account": 3, "plan": 2}.items()


def test_without_it_the_earlier_key_is_needed(story: Team, settings: Any) -> None:
    change_key(settings)
    settings.APPLYVIZ_APPROVAL_KEY_FALLBACKS = []

    assert "refused" in verify()
    assert not access.can(story.bob, Action.APPROVE)


def test_second_time_signs_nothing(story: Team, settings: Any) -> None:
    change_key(settings)
    re_sign()
    stored = list(RenewedMac.objects.values_list())

    re_sign()

    first, second = entries()
    assert second["signed"] == {}
    assert second["signed before"] == first["signed"]
    assert list(RenewedMac.objects.values_list()) == stored


def test_forged_and_moved_rows_are_not_laundered(story: Team, settings: Any) -> None:
    triggers.lift("default")
    mallory = make_person("mallory", Role.AUTHOR)
    genuine = Grant.objects.get(person=story.bob, role=Role.APPROVER)
    forged = Grant.objects.create(role=Role.APPROVER, person=mallory, since=timezone.now(), mac="0" * 64)
    moved = Grant.objects.create(
        role=Role.APPROVER, person=mallory, since=genuine.since, entry=genuine.entry, mac=genuine.mac
    )
    unsigned = Grant.objects.create(role=Role.APPROVER, person=mallory, since=timezone.now())
    PolicyVersion.objects.update(cluster_pattern="nowhere")
    Comment.objects.update(text="Fine.")
    AccountMac.objects.filter(person=mallory).update(macs={"password": "é" * 64})
    change_key(settings)

    said = re_sign()
    settings.APPLYVIZ_APPROVAL_KEY_FALLBACKS = []

    for row in (forged, moved):
        assert f"not re-signed: grant {row.pk} (approver on */*): it was not made by this installation" in said
    assert f"grant {unsigned.pk} " not in said
    assert "policy version" in said.partition("refused")[2]
    assert "comment" in said.partition("refused")[2]
    assert "its password was not set by this installation" in said
    signed = set(RenewedMac.objects.values_list("kind", "row"))
    assert not signed & {("Grant", row.pk) for row in (forged, moved, unsigned)}
    assert ("PolicyVersion", PolicyVersion.objects.get().pk) not in signed
    assert not access.can(mallory, Action.APPROVE)
    found = verify()
    assert all(f"grant {row.pk} " in found for row in (forged, moved, unsigned))
    assert entries()[0]["refused"] == said.count("not re-signed: ")


def test_row_that_is_changed_afterwards_does_not_count(story: Team, settings: Any) -> None:
    change_key(settings)
    re_sign()
    settings.APPLYVIZ_APPROVAL_KEY_FALLBACKS = []
    triggers.lift("default")

    Grant.objects.filter(person=story.alice).update(role=Role.APPROVER)
    Grant.objects.filter(person=story.bob).update(mac="")
    PolicyVersion.objects.update(cluster_pattern="nowhere")

    assert not access.can(story.alice, Action.APPROVE)
    assert not access.can(story.bob, Action.APPROVE)
    assert f"policy version {PolicyVersion.objects.get().pk}" in verify()


def test_row_that_was_stored_again_is_not_set_back(story: Team, settings: Any) -> None:
    """Its MAC of then is in no row any more, so what was signed beside it confirms nothing."""
    masking_settings.mask_credentials(story.cluster, is_on=False, by=None)
    change_key(settings)
    assert "no longer needed" in re_sign()
    said = Comment.objects.values("text", "edited_at", "earlier").get()
    comments.edit_comment(Comment.objects.get(), by=story.bob, text="Why now?")
    masking_settings.mask_credentials(story.cluster, is_on=True, by=None)
    settings.APPLYVIZ_APPROVAL_KEY_FALLBACKS = []
    triggers.lift("default")

    Comment.objects.update(**said)
    Cluster.objects.update(masks_credentials=False)

    assert row_macs.find_fault(Comment.objects.get())
    assert masking_settings.policy_for(Cluster.objects.get()).has_plain


def test_new_mac_of_another_row_or_key_counts_for_nothing(story: Team, settings: Any) -> None:
    """An attacker who controls the database can add MACs beside a row."""
    mallory = make_person("mallory", Role.AUTHOR)
    change_key(settings)
    re_sign()
    genuine = Grant.objects.get(person=story.bob, role=Role.APPROVER)
    forged = Grant.objects.create(role=Role.APPROVER, person=mallory, since=timezone.now(), mac="0" * 64)
    for mac in (RenewedMac.objects.get(kind="Grant", row=genuine.pk).mac, "0" * 64, "é" * 64, ""):
        RenewedMac.objects.create(kind="Grant", row=forged.pk, mac=mac)

    assert not access.can(mallory, Action.APPROVE)
    assert f"grant {forged.pk} " in verify()


def test_crash_in_the_middle_continues(story: Team, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    change_key(settings)
    monkeypatch.setattr(key_changes, "BATCH", 1)
    reached: list[str] = []

    def crash(name: str) -> None:
        reached.append(name)
        if len(reached) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(failpoints, "hooks", [crash])
    with pytest.raises(KeyboardInterrupt):
        re_sign()
    begun = RenewedMac.objects.count()
    monkeypatch.setattr(failpoints, "hooks", [])

    said = re_sign()
    settings.APPLYVIZ_APPROVAL_KEY_FALLBACKS = []

    assert begun == 4
    assert "no longer needed" in said
    assert "refused" not in verify()
    (detail,) = entries()
    assert sum(detail["signed before"].values()) == begun


def test_password_that_is_set_meanwhile_takes_no_new_mac_back(story: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """Setting a password waits until the other MACs of the account are renewed, and then reads them."""
    asked: list[str] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        asked.append(sql)
        return execute(sql.replace(" FOR UPDATE", ""), params, many, context)

    monkeypatch.setattr(connection.features, "has_select_for_update", True)
    with connection.execute_wrapper(note):
        story.bob.set_password("another-long-password")
        story.bob.save(update_fields=["password"])

    of_macs = [sql.rpartition(" ")[2] for sql in asked if sql.startswith("SELECT") and "records_accountmac" in sql]
    assert of_macs == ["UPDATE"]


def test_rows_under_earlier_keys_cost_one_query_for_each_batch(
    story: Team, settings: Any, django_assert_num_queries: Any
) -> None:
    change_key(settings)
    re_sign()
    settings.APPLYVIZ_APPROVAL_KEY_FALLBACKS = []
    for what, rows in vouched_rows.list_vouched():
        found = list(rows)
        with django_assert_num_queries(1 if found else 0):
            assert all(is_made for _, is_made in renewed_macs.check_macs(found, row_macs._make)), what


def test_new_macs_are_never_changed(story: Team, settings: Any) -> None:
    change_key(settings)
    re_sign()

    assert "never changed" in refused(lambda: RenewedMac.objects.update(mac="0" * 64))
    assert "never deleted" in refused(lambda: RenewedMac.objects.all().delete())


def test_without_a_key_nothing_is_signed(story: Team, settings: Any) -> None:
    settings.APPLYVIZ_APPROVAL_KEY = ""

    assert "refused: APPLYVIZ_APPROVAL_KEY: it is not set here" in re_sign()
