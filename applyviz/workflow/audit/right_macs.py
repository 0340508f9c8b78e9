"""Verification of rows that decide: every one is genuine, and of rights none is missing or lives after its end.

Rule: the audit log records each row when it is made and when it ends (`detail.grant`, `detail.member`, for a policy its
versions and that it was archived; the requests for changes of a review), and the chain proves the log. So a row without
its entry, an entry without its row, and an end that the row lost or gained are all found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from django.contrib.auth.models import User
from msgspec import Struct

from applyviz.engine.objects.accessors import map_or_empty
from applyviz.records.enums import AuditAction
from applyviz.records.models import (
    ChangeRequest,
    Comment,
    CommitRange,
    ConflictRule,
    Following,
    Grant,
    IdentityMapping,
    Plan,
    Policy,
    PolicyVersion,
    TeamMember,
)
from applyviz.workflow.audit import vouched_rows
from applyviz.workflow.audit.entries import list_entries
from applyviz.workflow.foundation import account_macs, row_macs
from applyviz.workflow.foundation.row_macs import RightRow, VouchedRow


class BadRight(Struct, frozen=True):
    """A row that this installation did not make, or that the audit log does not confirm."""

    what: str
    number: int
    about: str
    fault: str

    def __str__(self) -> str:
        return f"{self.what} {self.number} ({self.about}): {self.fault}"


def _list_forged(what: str, rows: Iterable[VouchedRow]) -> Iterator[BadRight]:
    for row, fault in row_macs.list_faults(rows):
        if fault:
            yield BadRight(what, row.pk, str(row), fault)


def _list_ended(name: str, action: AuditAction) -> dict[int, int]:
    """Return the rows whose end is recorded, each with the sequence of the entry."""
    entries = list_entries(action).filter(detail__has_key=name)
    found = (
        (map_or_empty(detail).get(name), sequence) for detail, sequence in entries.values_list("detail", "sequence")
    )
    return {number: sequence for number, sequence in found if isinstance(number, int)}


def _list_revived(what: str, model: type[RightRow], action: AuditAction) -> Iterator[BadRight]:
    ended = _list_ended(what, action)
    rows = model._default_manager.in_bulk(ended)
    for number, sequence in ended.items():
        if number not in rows:
            yield BadRight(what, number, f"audit entry {sequence} ended it", "it is missing")
        elif rows[number].ended_at is None:
            yield BadRight(what, number, str(rows[number]), f"audit entry {sequence} ended it")


def _list_missing() -> Iterator[BadRight]:
    """Yield what was granted and has no row; a body that retention removed no longer says who joined a team."""
    granted = list_entries(AuditAction.ROLE_GRANTED)
    for entry in granted.exclude(pk__in=Grant.objects.exclude(entry=None).values("entry")):
        to = str(map_or_empty(entry.detail).get("to", ""))
        yield BadRight("grant of audit entry", entry.sequence, to, "it is missing")
    joined = list_entries(AuditAction.TEAM_CHANGED).filter(detail__has_key="joined")
    for entry in joined.exclude(pk__in=TeamMember.objects.exclude(entry=None).values("entry")):
        yield BadRight(
            "membership of audit entry",
            entry.sequence,
            str(map_or_empty(entry.detail).get("joined", "")),
            "it is missing",
        )
    published = list_entries(AuditAction.POLICY_CHANGED).filter(detail__has_key="version")
    for entry in published.exclude(pk__in=PolicyVersion.objects.exclude(entry=None).values("entry")):
        detail = map_or_empty(entry.detail)
        about = f"{detail.get('policy', '')}@{detail.get('version', '')}"
        yield BadRight("policy of audit entry", entry.sequence, about, "it is missing")


def _list_policies_not_as_recorded() -> Iterator[BadRight]:
    """Yield policies whose version in force, or end, is not that of their last entry."""
    rows = {policy.slug: policy for policy in Policy.objects.all()}
    entries = list_entries(AuditAction.POLICY_CHANGED).filter(detail__has_key="policy")
    found = ((sequence, map_or_empty(detail)) for sequence, detail in entries.values_list("sequence", "detail"))
    last = {str(detail.get("policy", "")): (sequence, detail) for sequence, detail in found}
    for slug, (sequence, detail) in last.items():
        policy = rows.get(slug)
        if policy is None:
            yield BadRight("policy of audit entry", sequence, slug, "it is missing")
        elif (policy.archived_at is not None) != bool(detail.get("retired")):
            what = "archived it" if detail.get("retired") else "put it in force"
            yield BadRight("policy", policy.pk, str(policy), f"audit entry {sequence} {what}")
        elif detail.get("version", policy.number) != policy.number:
            what = f"audit entry {sequence} put version {detail['version']} in force"
            yield BadRight("policy", policy.pk, str(policy), what)


def _list_removed_requests() -> Iterator[BadRight]:
    """Yield the reviews that had more requests for changes of a person than they have rows."""
    requested = list_entries(AuditAction.CHANGES_REQUESTED)
    recorded = Counter(requested.values_list("review", "actor", "actor_name"))
    kept: Counter[tuple[int | None, int | None]] = Counter(
        ChangeRequest.objects.values_list("plan__review__number", "by")
    )
    for (review, actor, name), count in recorded.items():
        if count > kept[review, actor]:
            yield BadRight("request for changes of review", review or 0, name, "it is missing")


def _list_revived_rules() -> Iterator[BadRight]:
    """Yield the conflict rules that are in force after their end, or not as their last entry says."""
    ends = (AuditAction.RULE_DECLINED, AuditAction.RULE_REVOKED)
    rows = {(row.cluster.slug, row.number): row for row in ConflictRule.objects.select_related("cluster")}
    entries = list_entries(*ends)
    for cluster, sequence, body in entries.values_list("cluster", "sequence", "detail"):
        row = rows.get((cluster, map_or_empty(body).get("rule", 0)))
        if row is None or row.ended_at is None:
            yield BadRight("conflict rule", row.pk if row else 0, cluster, f"audit entry {sequence} ended it")


def _list_mappings_not_as_recorded() -> Iterator[BadRight]:
    """Yield the mappings whose end is not that of their entries, or that are missing."""
    rows = {(row.cluster.slug, row.number): row for row in IdentityMapping.objects.select_related("cluster")}
    in_force: dict[tuple[str, int], int] = {}
    recorded = list_entries(AuditAction.IDENTITY_MAPPED, AuditAction.IDENTITY_ENDED)
    for cluster, action, sequence, body in recorded.values_list("cluster", "action", "sequence", "detail"):
        numbers = {name: n for name, n in map_or_empty(body).items() if isinstance(n, int)}
        in_force.pop((cluster, numbers.get("instead of", 0)), None)
        if action == AuditAction.IDENTITY_MAPPED:
            in_force[cluster, numbers.get("mapping", 0)] = sequence
        else:
            in_force.pop((cluster, numbers.get("mapping", 0)), None)
    for (cluster, number), sequence in in_force.items():
        row = rows.get((cluster, number))
        if number and row is None:
            yield BadRight("mapping", number, cluster, "it is missing")
        elif row is not None and row.ended_at is not None:
            yield BadRight("mapping", number, cluster, f"audit entry {sequence} put it in force")


_WORDS = {
    "username": "its name was not given by this installation",
    "password": "its password was not set by this installation",
    "is_active": "it was activated or deactivated past this installation",
    "email": "its address was not set by this installation",
    "is_superuser": "it was not made a superuser by this installation",
    account_macs.LINK: "its link was not made by this installation",
}


def list_forged_aspects(person: User) -> Iterator[BadRight]:
    """Yield what this installation did not set of an account."""
    for aspect in account_macs.find_forged(person, *_WORDS):
        yield BadRight("account", person.pk, person.get_username(), _WORDS[aspect])


def _list_forged_accounts() -> Iterator[BadRight]:
    people = User.objects.select_related("link", "account_mac").order_by("pk")
    for person in people.iterator(chunk_size=2_000):
        yield from list_forged_aspects(person)


def _list_accounts_not_as_recorded() -> Iterator[BadRight]:
    """Yield accounts that are missing, or whose address is not that of their last entry."""
    known = dict(User.objects.values_list("username", "email"))
    added = list_entries(AuditAction.PERSON_ADDED).filter(detail__has_key="account")
    changed = list_entries(AuditAction.PERSON_CHANGED).filter(detail__has_key="mail")
    last: dict[str, tuple[int, str | None]] = {
        str(map_or_empty(detail).get("account", "")): (sequence, None)
        for sequence, detail in added.values_list("sequence", "detail")
    }
    for sequence, body in changed.values_list("sequence", "detail"):
        detail = map_or_empty(body)
        last[str(detail.get("account", ""))] = (sequence, detail.get("mail"))
    for name, (sequence, mail) in last.items():
        if name not in known:
            yield BadRight("account of audit entry", sequence, name, "it is missing")
        elif mail is not None and known[name] != mail:
            yield BadRight("account of audit entry", sequence, name, "the entry set another address")


def _list_missing_commits() -> Iterator[BadRight]:
    """Yield plans without the commits that were recorded for them, and reviews without the branches they followed."""
    for plan in Plan.objects.exclude(followed="").filter(commit_range=None).order_by("pk"):
        yield BadRight("commits of plan", plan.pk, str(plan), "they are missing")
    started = list_entries(AuditAction.FOLLOWING_STARTED)
    kept: Counter[int | None] = Counter(Following.objects.values_list("review__number", flat=True))
    recorded = set(CommitRange.objects.values_list("plan__review__number", "plan__number"))
    for review, count in Counter(started.values_list("review", flat=True)).items():
        if count > kept[review]:
            yield BadRight("followed branch of review", review or 0, str(review), "it is missing")
    for review, sequence, body in started.values_list("review", "sequence", "detail"):
        number = map_or_empty(body).get("plan")
        if number is not None and (review, number) not in recorded:
            about = f"plan {number} of review {review}"
            yield BadRight("commits of audit entry", sequence, about, "they are missing")


def check_rights() -> tuple[BadRight, ...]:
    """Return every row that is forged, and every right that is missing or was revived."""
    rows = ((what, found) for what, found in vouched_rows.list_vouched() if found.model is not Comment)
    return (
        *(bad for what, found in rows for bad in _list_forged(what, found.iterator(chunk_size=500))),
        *_list_removed_requests(),
        *_list_revived_rules(),
        *_list_mappings_not_as_recorded(),
        *_list_revived("grant", Grant, AuditAction.ROLE_ENDED),
        *_list_revived("member", TeamMember, AuditAction.TEAM_CHANGED),
        *_list_missing(),
        *_list_policies_not_as_recorded(),
        *_list_missing_commits(),
        *_list_forged_accounts(),
        *_list_accounts_not_as_recorded(),
    )
