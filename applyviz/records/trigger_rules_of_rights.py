"""The refusals of grants and memberships: for oneself, without a second administrator, or changed later.

Rows without `by` were created by a command on the machine. The use cases enforce the same rules
(`workflow/people/administrators.py`).
"""

from __future__ import annotations

from applyviz.records.refusal import HUMAN, Guard

_SENSITIVE = "'approver', 'operator', 'administrator', 'break-glass'"
_WHOLE = "g.role = 'administrator' AND g.cluster_pattern = '*' AND g.namespace_pattern = '*' AND g.is_cluster_scoped"
_OF_PERSON = f"EXISTS (SELECT 1 FROM records_grant g WHERE g.person_id = u.id AND {_WHOLE})"  # noqa: S608 - constants
_OVERLAP = "(m.ended_at IS NULL OR m.ended_at > g.since) AND (g.ended_at IS NULL OR g.ended_at > m.since)"
_JOINED = "records_grant g JOIN records_teammember m ON m.team_id = g.team_id"
_OF_TEAM = f"EXISTS (SELECT 1 FROM {_JOINED} WHERE m.person_id = u.id AND {_WHOLE} AND {_OVERLAP})"  # noqa: S608 - constants
# How many humans have ever been administrators, counting only accounts that can sign in.
_EVER_WHO = f"u.password NOT LIKE '!%' AND (u.is_superuser OR {_OF_PERSON} OR {_OF_TEAM})"
_EVER = f"(SELECT COUNT(DISTINCT {HUMAN.format('u.id')}) FROM auth_user u WHERE {_EVER_WHO})"  # noqa: S608 - constants

_MEMBERS = "SELECT 1 FROM records_teammember m WHERE m.team_id = NEW.team_id AND m.ended_at IS NULL"
_IN_TEAM = f"EXISTS ({_MEMBERS} AND {HUMAN.format('m.person_id')} = {{0}})"
_GAINS = "SELECT 1 FROM records_grant t WHERE t.team_id = NEW.team_id AND t.ended_at IS NULL"
_PERSON, _BY, _SECOND = (HUMAN.format(f"NEW.{name}") for name in ("person_id", "by_id", "confirmed_by_id"))
_IS_ALONE = f"NEW.by_id IS NOT NULL AND {_EVER} >= 2 AND (NEW.confirmed_by_id IS NULL OR {_SECOND} = {_BY}"
_FIXED = (
    "OLD.since <> NEW.since OR OLD.is_sole <> NEW.is_sole OR OLD.by_id IS DISTINCT FROM NEW.by_id"
    " OR OLD.confirmed_by_id IS DISTINCT FROM NEW.confirmed_by_id OR OLD.ended_at IS NOT NULL OR NEW.ended_at IS NULL"
)

OF_RIGHTS = (
    Guard(
        "grant_is_fixed",
        "records_grant",
        "UPDATE",
        f"{_FIXED} OR OLD.role <> NEW.role"
        " OR OLD.person_id IS DISTINCT FROM NEW.person_id OR OLD.team_id IS DISTINCT FROM NEW.team_id"
        " OR OLD.cluster_pattern <> NEW.cluster_pattern OR OLD.namespace_pattern <> NEW.namespace_pattern"
        " OR OLD.is_cluster_scoped <> NEW.is_cluster_scoped",
        "a grant is only ever ended, once",
    ),
    Guard("grant_no_delete", "records_grant", "DELETE", "", "grants are never deleted"),
    Guard(
        "grant_not_ones_own",
        "records_grant",
        "INSERT",
        f"NEW.by_id IS NOT NULL AND ({_PERSON} = {_BY} OR {_IN_TEAM.format(_BY)})",
        "a person cannot grant a role to themselves or to their own team, under any account",
    ),
    Guard(
        "grant_of_two",
        "records_grant",
        "INSERT",
        f"NEW.role IN ({_SENSITIVE}) AND {_IS_ALONE} OR {_SECOND} = {_PERSON} OR {_IN_TEAM.format(_SECOND)})",
        "a second administrator confirms grants that approve, run or administer, and gains nothing by them",
    ),
    Guard(
        "member_is_fixed",
        "records_teammember",
        "UPDATE",
        f"{_FIXED} OR OLD.team_id <> NEW.team_id OR OLD.person_id <> NEW.person_id",
        "a membership is only ever ended, once",
    ),
    Guard("member_no_delete", "records_teammember", "DELETE", "", "memberships are never deleted"),
    Guard(
        "member_not_oneself",
        "records_teammember",
        "INSERT",
        f"NEW.by_id IS NOT NULL AND {_PERSON} = {_BY}",
        "a person cannot add themselves to a team, under any account",
    ),
    Guard(
        "member_of_two",
        "records_teammember",
        "INSERT",
        f"EXISTS ({_GAINS} AND t.role IN ({_SENSITIVE})) AND {_IS_ALONE} OR {_SECOND} = {_PERSON})",
        "a second administrator confirms new members of a team that approves, runs or administers",
    ),
    Guard("link_no_delete", "records_accountlink", "DELETE", "", "accounts that are one human stay one"),
)
