"""Read model of retention policies: what each keeps, what it would remove now, and what it removed."""

from __future__ import annotations

from datetime import datetime

from django.urls import reverse
from msgspec import Struct

from applyviz.records.enums import AuditAction
from applyviz.records.models import RetentionPolicy
from applyviz.workflow.audit import retention
from applyviz.workflow.audit.entries import list_entries, name_action
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person

SHOWN = 50


class RetentionRow(Struct, frozen=True):
    """One policy."""

    policy: RetentionPolicy
    actions: tuple[str, ...]
    due: int
    end_url: str


class RemovalRow(Struct, frozen=True):
    """One removal, as the audit trail records it."""

    at: datetime
    policy: str
    entries: int
    requests: int
    url: str


class RetentionPage(Struct, frozen=True):
    """The retention page."""

    policies: tuple[RetentionRow, ...]
    removals: tuple[RemovalRow, ...]
    can_manage: bool


def _present_policy(policy: RetentionPolicy) -> RetentionRow:
    return RetentionRow(
        policy,
        actions=tuple(map(name_action, policy.actions)),
        due=retention.count_due(policy) if policy.is_active else 0,
        end_url=reverse("history:end-retention", args=[policy.pk]),
    )


def present_retention(*, for_user: Person) -> RetentionPage:
    """Return the retention page."""
    entries = list_entries(AuditAction.HISTORY_PRUNED).reverse()[:SHOWN]
    removals = tuple(
        RemovalRow(
            entry.at,
            str(entry.detail.get("policy", "")),
            int(entry.detail.get("entries", 0)),
            int(entry.detail.get("requests", 0)),
            reverse("history:show-entry", args=[entry.pk]),
        )
        for entry in entries
    )
    policies = tuple(_present_policy(policy) for policy in retention.list_policies(for_user=for_user))
    return RetentionPage(policies, removals, access.can(for_user, Action.MANAGE))
