"""Changes of policies that are allowed: rows and audit entries in one transaction, and the teams that policies name.

`policies.editing` checks the right and the need for a second administrator. Rules are their stored form here, because
confirming a change must not depend on what policies mean.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz import clock
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.records.enums import AuditAction
from applyviz.records.models import Policy, PolicyVersion, Team
from applyviz.workflow.foundation import row_macs
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.people.rights_changes import Actors


class NewVersion(Struct, frozen=True):
    """A version to publish: `after` is the number of the version that its author saw, 0 for none."""

    slug: str
    scope: Scope
    rules: JSONObject
    note: str
    after: int


def publish(new: NewVersion, *, actors: Actors) -> PolicyVersion:
    """Store a version, which is in force at once; raises `NotPossibleError` if another one was published meanwhile."""
    with transaction.atomic():
        Policy.objects.get_or_create(slug=new.slug)
        policy = Policy.objects.select_for_update(no_key=True).get(slug=new.slug)
        if policy.number != new.after:
            raise NotPossibleError(
                _("policy %(slug)s was changed since: version %(number)d is in force")
                % {"slug": new.slug, "number": policy.number}
            )
        before = policy.versions.filter(number=policy.number).first()
        made = PolicyVersion(
            policy=policy,
            number=policy.number + 1,
            cluster_pattern=new.scope.cluster_pattern,
            namespace_pattern=new.scope.namespace_pattern,
            is_cluster_scoped=new.scope.is_cluster_scoped,
            rules=new.rules,
            note=new.note,
            by=actors.by,
            confirmed_by=actors.confirmed_by,
            created_at=clock.now(),
        )
        Policy.objects.filter(pk=policy.pk).update(number=made.number, archived_at=None, mac="")
        detail: dict[str, JSONValue] = {
            "policy": new.slug,
            "version": made.number,
            "where": str(new.scope),
            "before": before.rules if before else None,
            "after": made.rules,
            "note": new.note,
        }
        row_macs.vouch(made, actors.record(AuditAction.POLICY_CHANGED, detail, is_sole=actors.is_sole))
        made.save(force_insert=True)
    return made


def archive(slug: str, note: str, *, actors: Actors) -> None:
    """Archive a policy; its versions stay on record."""
    with transaction.atomic():
        ended = Policy(slug=slug, archived_at=clock.now())
        row_macs.vouch(ended)
        found = Policy.objects.filter(slug=slug, archived_at=None)
        if not found.update(archived_at=ended.archived_at, mac=ended.mac):
            raise NotPossibleError(_("policy %(slug)s not found") % {"slug": slug})
        detail: dict[str, JSONValue] = {"policy": slug, "retired": True, "note": note}
        actors.record(AuditAction.POLICY_CHANGED, detail, is_sole=actors.is_sole)


def is_named(team: Team) -> bool:
    """Return whether a policy in force names a team: its members may request plans, or their approvals count."""
    in_force = PolicyVersion.objects.filter(number=F("policy__number"), policy__archived_at=None)
    return any(team.slug in _list_teams(rules) for rules in in_force.values_list("rules", flat=True))


def _list_teams(rules: JSONObject) -> set[str]:
    risks = (one.get("team", "") for one in (*rules.get("for_risks", ()), *rules.get("owners", ())))
    return {rules.get("approving_team", ""), *rules.get("asking_teams", ()), *risks}
