"""The refusals of grants and memberships: for oneself, without a second administrator, or changed later.

Rows without `by` were created by a command on the machine. The use cases enforce the same rules
(`workflow/people/administrators.py`).
"""

from __future__ import annotations

from applyviz.records.enums import Role
from applyviz.records.refusal import HUMAN, Guard, quote_all

_SENSITIVE = quote_all(Role.sensitive())
_WHOLE = (
    f"g.role = '{Role.ADMINISTRATOR}' AND g.cluster_pattern = '*' AND g.namespace_pattern = '*' AND g.is_cluster_scoped"
)
_OF_PERSON = f"EXISTS (SELECT 1 FROM records_grant g WHERE g.person_id = u.id AND {_WHOLE})"  # noqa: S608 - constants
_OVERLAP = "(m.ended_at IS NULL OR m.ended_at > g.since) AND (g.ended_at IS NULL OR g.ended_at > m.since)"
_JOINED = "records_grant g JOIN records_teammember m ON m.team_id = g.team_id"
_OF_TEAM = f"EXISTS (SELECT 1 FROM {_JOINED} WHERE m.person_id = u.id AND {_WHOLE} AND {_OVERLAP})"  # noqa: S608 - constants
# How many humans have ever been administrators, counting only accounts that can sign in.
_EVER_WHO = f"u.password NOT LIKE '!%' AND (u.is_superuser OR {_OF_PERSON} OR {_OF_TEAM})"
# Who an account counts as among them: links that were made later do not change it.
_COUNTED = "COALESCE(NULLIF({0}.counted_as, ''), {0}.human)"
_COUNTED_ONE = f"(SELECT {_COUNTED.format('l')} FROM records_accountlink l WHERE l.person_id = u.id)"  # noqa: S608 - constants
_EVER = f"(SELECT COUNT(DISTINCT COALESCE({_COUNTED_ONE}, 'account-' || u.id)) FROM auth_user u WHERE {_EVER_WHO})"  # noqa: S608 - constants
_WAS_EVER = f"EXISTS (SELECT 1 FROM auth_user u WHERE u.id = NEW.person_id AND {_EVER_WHO})"  # noqa: S608 - constants

_MEMBERS = "SELECT 1 FROM records_teammember m WHERE m.team_id = NEW.team_id AND m.ended_at IS NULL"
_IN_TEAM = f"EXISTS ({_MEMBERS} AND {HUMAN.format('m.person_id')} = {{0}})"
_GAINS = "SELECT 1 FROM records_grant t WHERE t.team_id = NEW.team_id AND t.ended_at IS NULL"
# A policy in force names the team of a membership: who may ask, and whose approvals it counts.
_NAMES_TEAM = " OR ".join(
    (
        "v.rules ->> 'approving_team' = t.slug",
        """CAST(v.rules -> 'asking_teams' AS text) LIKE '%"' || t.slug || '"%'""",
        """REPLACE(CAST(v.rules -> 'for_risks' AS text), ' ', '') LIKE '%"team":"' || t.slug || '"%'""",
        """REPLACE(CAST(v.rules -> 'owners' AS text), ' ', '') LIKE '%"team":"' || t.slug || '"%'""",
    )
)
_RELIED_ON = (
    "EXISTS (SELECT 1 FROM records_policyversion v JOIN records_policy p ON p.id = v.policy_id AND p.number = v.number"  # noqa: S608 - constants
    f" JOIN records_team t ON t.id = NEW.team_id WHERE p.archived_at IS NULL AND ({_NAMES_TEAM}))"
)
_PERSON, _BY, _SECOND = (HUMAN.format(f"NEW.{name}") for name in ("person_id", "by_id", "confirmed_by_id"))
_IS_ALONE = f"NEW.by_id IS NOT NULL AND {_EVER} >= 2 AND (NEW.confirmed_by_id IS NULL OR {_SECOND} = {_BY}"
_FIXED = (
    "OLD.since <> NEW.since OR OLD.is_sole <> NEW.is_sole OR OLD.by_id IS DISTINCT FROM NEW.by_id"
    " OR OLD.confirmed_by_id IS DISTINCT FROM NEW.confirmed_by_id OR OLD.mac <> NEW.mac"
    " OR OLD.entry_id IS DISTINCT FROM NEW.entry_id OR OLD.ended_at IS NOT NULL OR NEW.ended_at IS NULL"
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
        f"(EXISTS ({_GAINS} AND t.role IN ({_SENSITIVE})) OR {_RELIED_ON}) AND {_IS_ALONE} OR {_SECOND} = {_PERSON})",
        "a second administrator confirms new members of a team that approves, runs or administers, or a policy names",
    ),
    Guard(
        "link_counts_all",
        "records_accountlink",
        "INSERT",
        f"{_COUNTED.format('NEW')} <> 'account-' || NEW.person_id AND {_WAS_EVER}",
        "a link does not change how many administrators there have been",
    ),
    Guard(
        "link_keeps_count",
        "records_accountlink",
        "UPDATE",
        f"OLD.person_id <> NEW.person_id OR ({_COUNTED.format('OLD')} <> {_COUNTED.format('NEW')} AND {_WAS_EVER})",
        "a link does not change how many administrators there have been",
    ),
    Guard("renewal_no_update", "records_renewedmac", "UPDATE", "", "renewed MACs are never changed"),
    Guard("renewal_no_delete", "records_renewedmac", "DELETE", "", "renewed MACs are never deleted"),
    Guard("link_no_delete", "records_accountlink", "DELETE", "", "accounts that are one human stay one"),
)
