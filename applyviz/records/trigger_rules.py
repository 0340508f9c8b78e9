"""The refusals of the database as data: table, event, condition and message of each.

Conditions are SQL that works in SQLite and PostgreSQL; `triggers.py` creates triggers from them.
"""

from __future__ import annotations

from applyviz.records.enums import AuditAction, PlanState, RuleState, RunState, ScheduledStartState
from applyviz.records.refusal import HUMAN, Guard, quote_all
from applyviz.records.trigger_rules_of_commits import COMMIT_EDITORS, OF_COMMITS
from applyviz.records.trigger_rules_of_plans import OF_PLANS
from applyviz.records.trigger_rules_of_rights import OF_RIGHTS

__all__ = ["GUARDS", "KEPT_ACTIONS", "KEPT_TABLES", "Guard"]

_APPROVED = "records_approval"
_ME = HUMAN.format("NEW.by_id")
# The people involved in a plan: the rows that name them, and the column.
_PLAN = "FROM records_plan p JOIN records_review r ON r.id = p.review_id"
_INVOLVED = (
    (f"SELECT 1 {_PLAN} WHERE p.id = NEW.plan_id", "r.author_id"),
    (f"SELECT 1 {_PLAN} JOIN records_plan q ON q.review_id = r.id WHERE p.id = NEW.plan_id", "q.requested_by_id"),
    (
        f"SELECT 1 {_PLAN} JOIN records_sourcerevision s ON s.id = p.revision_id WHERE p.id = NEW.plan_id",
        "s.created_by_id",
    ),
    (f"SELECT 1 {_PLAN} JOIN records_resolution d ON d.review_id = r.id WHERE p.id = NEW.plan_id", "d.by_id"),
    *COMMIT_EDITORS,
)
# A program counts as its owner, whether its account is linked or not.
_OWNED = (
    "EXISTS (SELECT 1 FROM records_serviceaccount sa WHERE sa.person_id = {0} AND "
    "COALESCE((SELECT l.human FROM records_accountlink l WHERE l.person_id = sa.owner_id), 'account-' || sa.owner_id)"
    " = {1})"
)
_IS_PROGRAM = "EXISTS (SELECT 1 FROM records_serviceaccount sa WHERE sa.person_id = {0})"
_SAME_DIGEST = (
    "SELECT 1 FROM records_approval a JOIN records_plan o ON o.id = a.plan_id JOIN records_plan p ON p.id = NEW.plan_id"
    " WHERE o.review_id = p.review_id AND a.digest = NEW.digest AND a.revoked_at IS NULL AND a.spent_at IS NULL"
)
_SAME_RUN = "SELECT 1 FROM records_approval a WHERE a.run_id = NEW.run_id AND a.id <> NEW.id"
_REVIEWED = "SELECT 1 FROM records_plan p JOIN records_review r ON r.id = p.review_id WHERE p.id = NEW.plan_id"

# A run requires approvals that were spent on it, or an emergency apply; only a policy can require no approvals.
_SPENT = (
    "(SELECT COUNT(*) FROM records_approval a JOIN records_plan o ON o.id = a.plan_id"
    " JOIN records_plan p ON p.id = NEW.plan_id WHERE a.run_id = NEW.id AND o.review_id = p.review_id"
    " AND a.spent_at IS NOT NULL AND a.revoked_at IS NULL AND a.digest = p.digest)"
)
_EMERGENCY = (
    "EXISTS (SELECT 1 FROM records_emergencyapply b JOIN records_plan p ON p.id = b.plan_id"
    " WHERE b.plan_id = NEW.plan_id AND b.digest = p.digest)"
)
_ASKS_NOTHING = (
    "EXISTS (SELECT 1 FROM records_policyversion v JOIN records_policy o ON o.id = v.policy_id"
    " JOIN records_plan p ON p.id = NEW.plan_id WHERE CAST(v.rules ->> 'approvals' AS integer) = 0"
    " AND (' ' || p.policy_version || ' ') LIKE ('% ' || o.slug || '@' || CAST(v.number AS text) || ' %'))"
)
_RUNNABLE = (
    "EXISTS (SELECT 1 FROM records_plan p JOIN records_review r ON r.id = p.review_id WHERE p.id = NEW.plan_id"  # noqa: S608 - constants
    f" AND p.state = '{PlanState.COMPLETE}' AND r.applied_by = '')"
)

_UNFINISHED = quote_all(RunState.unfinished())
_RETRIED = (
    f"(OLD.state = '{RunState.FAILED}' AND NEW.state = '{RunState.QUEUED}' AND NEW.attempt = OLD.attempt + 1 AND EXISTS"  # noqa: S608 - constants
    " (SELECT 1 FROM records_runattempt a WHERE a.run_id = OLD.id AND a.number = NEW.attempt))"
)

_ENTRY = (
    "EXISTS (SELECT 1 FROM records_auditentry e WHERE e.id = NEW.entry_id AND e.action = '{0}'"
    " AND e.actor_id = NEW.by_id AND e.plan_digest = NEW.digest)"
)

_FIXED = (
    *("id", "chain", "sequence", "at", "action", "actor_id", "actor_name", "roles", "session", "address"),
    *("agent", "request_id", "cluster", "review", "plan", "run", '"group"', "kind", "namespace", "name"),
    *("field_manager", "plan_digest", "detail_hash", "previous_hash", "hash"),
)
# Verification needs the content of these entries.
KEPT_ACTIONS = (
    AuditAction.RUN_FINISHED,
    AuditAction.HISTORY_ANCHORED,
    AuditAction.HISTORY_PRUNED,
    AuditAction.APPROVALS_CHECKED,
    AuditAction.POLICY_CHANGED,  # what is in force is compared with these three
    AuditAction.IDENTITY_MAPPED,
    AuditAction.IDENTITY_ENDED,
)
_ASKED = "SELECT 1 FROM records_auditentry removal WHERE removal.chain = 0 AND removal.sequence = NEW.pruned_by"
_PRUNED_BEFORE = f"removal.action = '{AuditAction.HISTORY_PRUNED}' AND removal.at >= OLD.at"
_PRUNES = " AND ".join(
    (
        *(f"OLD.{name} IS NOT DISTINCT FROM NEW.{name}" for name in _FIXED),
        "OLD.pruned_by IS NULL AND NEW.pruned_by IS NOT NULL AND NEW.salt = ''",
        "CAST(NEW.detail AS text) = '{}'",
        *(f"OLD.action <> '{action}'" for action in KEPT_ACTIONS),
        f"EXISTS ({_ASKED} AND {_PRUNED_BEFORE})",
    )
)


GUARDS = (
    *OF_RIGHTS,
    *OF_COMMITS,
    *OF_PLANS,
    Guard("audit_no_update", "records_auditentry", "UPDATE", f"NOT ({_PRUNES})", "audit entries are never changed"),
    Guard("audit_no_delete", "records_auditentry", "DELETE", "", "audit entries are never deleted"),
    Guard(
        "approval_not_ones_own",
        _APPROVED,
        "INSERT",
        " OR ".join(
            f"EXISTS ({rows} AND ({HUMAN.format(who)} = {_ME} OR {_OWNED.format(who, _ME)}))" for rows, who in _INVOLVED
        ),
        "a person cannot approve what they wrote, edited, resolved or requested",
    ),
    Guard(
        "approval_once_per_human",
        _APPROVED,
        "INSERT",
        f"NEW.spent_at IS NULL AND EXISTS ({_SAME_DIGEST} AND {HUMAN.format('a.by_id')} = {_ME})",
        "one person approves once, under any account",
    ),
    Guard(
        "approval_not_expired",
        _APPROVED,
        "UPDATE",
        "NEW.spent_at IS NOT NULL AND OLD.expires_at IS NOT NULL AND NEW.spent_at > OLD.expires_at",
        "an expired approval is never spent",
    ),
    Guard(
        "approval_begins_unspent",
        _APPROVED,
        "INSERT",
        "NEW.spent_at IS NOT NULL OR NEW.revoked_at IS NOT NULL OR NEW.run_id IS NOT NULL",
        "an approval begins unspent",
    ),
    Guard(
        "approval_spent_by_others",
        _APPROVED,
        "UPDATE",
        "NEW.spent_at IS NOT NULL AND OLD.spent_at IS NULL AND ("
        + " OR ".join(f"EXISTS ({rows} AND {HUMAN.format(who)} = {_ME})" for rows, who in _INVOLVED)
        + ")",
        "a person cannot approve what they wrote, edited, resolved or requested: such an approval is never spent",
    ),
    Guard(
        "approval_once_per_run",
        _APPROVED,
        "UPDATE",
        f"NEW.run_id IS NOT NULL AND EXISTS ({_SAME_RUN} AND {HUMAN.format('a.by_id')} = {_ME})",
        "one person counts once in a run, under any account",
    ),
    Guard(
        "approval_names_the_digest",
        _APPROVED,
        "INSERT",
        f"NOT EXISTS ({_REVIEWED} AND p.state = '{PlanState.COMPLETE}' AND p.digest = NEW.digest AND p.digest <> '')",
        "an approval names the digest of a complete plan",
    ),
    Guard(
        "approval_is_fixed",
        _APPROVED,
        "UPDATE",
        "OLD.plan_id <> NEW.plan_id OR OLD.digest <> NEW.digest OR OLD.by_id <> NEW.by_id"
        " OR OLD.by_name <> NEW.by_name OR OLD.note <> NEW.note OR OLD.created_at <> NEW.created_at"
        " OR OLD.spent_at IS NOT NULL OR OLD.revoked_at IS NOT NULL OR OLD.expires_at IS DISTINCT FROM NEW.expires_at"
        " OR OLD.entry_id IS DISTINCT FROM NEW.entry_id OR OLD.mac <> NEW.mac OR OLD.is_sole <> NEW.is_sole",
        "an approval is only ever spent or revoked, once",
    ),
    Guard(
        "approval_recorded",
        _APPROVED,
        "INSERT",
        f"NEW.mac = '' OR NOT {_ENTRY.format(AuditAction.APPROVAL_GIVEN)}",
        "an approval names the audit entry that records it",
    ),
    Guard(
        "glass_recorded",
        "records_emergencyapply",
        "INSERT",
        f"NEW.mac = '' OR NOT {_ENTRY.format(AuditAction.EMERGENCY_APPLIED)}",
        "an emergency apply names the audit entry that records it",
    ),
    Guard("approval_no_delete", _APPROVED, "DELETE", "", "approvals are never deleted"),
    Guard(
        "schedule_recorded",
        "records_scheduledstart",
        "INSERT",
        f"NEW.state <> '{ScheduledStartState.WAITING}' OR NEW.mac = ''"
        f" OR NOT {_ENTRY.format(AuditAction.START_SCHEDULED)}",
        "a scheduled start begins waiting, and names the audit entry that records it",
    ),
    Guard(
        "schedule_is_fixed",
        "records_scheduledstart",
        "UPDATE",
        f"OLD.state <> '{ScheduledStartState.WAITING}'"
        " OR OLD.plan_id <> NEW.plan_id OR OLD.digest <> NEW.digest OR OLD.by_id <> NEW.by_id"
        " OR OLD.by_name <> NEW.by_name OR OLD.not_before <> NEW.not_before OR OLD.expires_at <> NEW.expires_at"
        " OR OLD.waits_for_rollout IS DISTINCT FROM NEW.waits_for_rollout OR OLD.created_at <> NEW.created_at"
        " OR OLD.entry_id IS DISTINCT FROM NEW.entry_id OR OLD.mac <> NEW.mac",
        "a scheduled start only ever ends, once",
    ),
    Guard("schedule_no_delete", "records_scheduledstart", "DELETE", "", "scheduled starts are never deleted"),
    Guard(
        "rule_is_fixed",
        "records_conflictrule",
        "UPDATE",
        "OLD.proposed_by_id <> NEW.proposed_by_id OR OLD.cluster_id <> NEW.cluster_id"
        " OR OLD.resolution <> NEW.resolution OR OLD.kind <> NEW.kind OR OLD.name <> NEW.name"
        " OR OLD.namespace <> NEW.namespace OR OLD.path <> NEW.path OR OLD.manager <> NEW.manager"
        " OR OLD.ended_at IS NOT NULL OR NEW.agreed_by_id = NEW.proposed_by_id"
        ' OR OLD."group" <> NEW."group" OR CAST(OLD.elements AS text) <> CAST(NEW.elements AS text)'
        " OR OLD.number <> NEW.number OR OLD.plan_id <> NEW.plan_id OR OLD.reason <> NEW.reason"
        " OR (OLD.agreed_by_id IS NOT NULL AND OLD.agreed_by_id IS DISTINCT FROM NEW.agreed_by_id)",
        "a conflict rule is only ever approved by another person, or ended, once",
    ),
    Guard(
        "rule_starts_proposed",
        "records_conflictrule",
        "INSERT",
        f"NEW.state <> '{RuleState.PROPOSED}' OR NEW.agreed_by_id IS NOT NULL",
        "a conflict rule starts as a proposal",
    ),
    Guard("rule_no_delete", "records_conflictrule", "DELETE", "", "conflict rules are never deleted"),
    Guard(
        "objection_is_fixed",
        "records_changerequest",
        "UPDATE",
        "OLD.plan_id <> NEW.plan_id OR OLD.digest <> NEW.digest OR OLD.by_id <> NEW.by_id OR OLD.note <> NEW.note"
        " OR OLD.withdrawn_at IS NOT NULL",
        "a request for changes is only ever withdrawn, once",
    ),
    Guard("objection_no_delete", "records_changerequest", "DELETE", "", "requests for changes are never deleted"),
    Guard("glass_no_update", "records_emergencyapply", "UPDATE", "", "records of emergency apply are never changed"),
    Guard("glass_no_delete", "records_emergencyapply", "DELETE", "", "records of emergency apply are never deleted"),
    Guard("policy_no_update", "records_policyversion", "UPDATE", "", "versions of policies are never changed"),
    Guard("policy_no_delete", "records_policyversion", "DELETE", "", "versions of policies are never deleted"),
    Guard(
        "approval_of_a_person",
        _APPROVED,
        "INSERT",
        _IS_PROGRAM.format("NEW.by_id"),
        "a program never approves",
    ),
    Guard(
        "glass_of_a_person",
        "records_emergencyapply",
        "INSERT",
        _IS_PROGRAM.format("NEW.by_id"),
        "a program cannot start an emergency apply",
    ),
    Guard(
        "rule_of_a_person",
        "records_conflictrule",
        "UPDATE",
        "NEW.agreed_by_id IS NOT NULL AND "
        f"({_IS_PROGRAM.format('NEW.agreed_by_id')}"
        f" OR {HUMAN.format('NEW.agreed_by_id')} = {HUMAN.format('NEW.proposed_by_id')}"
        f" OR {_OWNED.format('NEW.proposed_by_id', HUMAN.format('NEW.agreed_by_id'))})",
        "a person cannot approve their own conflict rule, under any account; a program can approve none",
    ),
    Guard(
        "service_is_fixed",
        "records_serviceaccount",
        "UPDATE",
        "OLD.person_id <> NEW.person_id OR OLD.owner_id <> NEW.owner_id",
        "a service account never changes its owner",
    ),
    Guard("service_no_delete", "records_serviceaccount", "DELETE", "", "service accounts are never deleted"),
    Guard(
        "token_is_fixed",
        "records_apitoken",
        "UPDATE",
        "OLD.person_id <> NEW.person_id OR OLD.made_by_id <> NEW.made_by_id OR OLD.scope <> NEW.scope"
        " OR OLD.token_hash <> NEW.token_hash OR OLD.expires_at <> NEW.expires_at"
        " OR (OLD.revoked_at IS NOT NULL AND OLD.revoked_at IS DISTINCT FROM NEW.revoked_at)",
        "a token is only ever revoked, once",
    ),
    Guard(
        "claim_is_fixed",
        "records_accountclaim",
        "UPDATE",
        "OLD.used_at IS NOT NULL OR OLD.person_id <> NEW.person_id OR OLD.token_hash <> NEW.token_hash"
        " OR NEW.expires_at > OLD.expires_at",
        "a link of an account is only ever used, once",
    ),
    Guard("claim_no_delete", "records_accountclaim", "DELETE", "", "links of accounts are never deleted"),
    Guard("token_no_delete", "records_apitoken", "DELETE", "", "tokens are never deleted"),
    Guard(
        "mapping_is_fixed",
        "records_identitymapping",
        "UPDATE",
        "OLD.ended_at IS NOT NULL OR NEW.ended_at IS NULL OR OLD.cluster_id <> NEW.cluster_id"
        ' OR OLD.number <> NEW.number OR OLD."user" <> NEW."user" OR OLD.since <> NEW.since'
        " OR CAST(OLD.groups AS text) <> CAST(NEW.groups AS text)"
        " OR OLD.person_id IS DISTINCT FROM NEW.person_id OR OLD.team_id IS DISTINCT FROM NEW.team_id",
        "a mapping is only ever ended, once",
    ),
    Guard("mapping_no_delete", "records_identitymapping", "DELETE", "", "mappings are never deleted"),
    Guard(
        "review_keeps_its_applier",
        "records_review",
        "UPDATE",
        "OLD.applied_by <> NEW.applied_by",
        "the tool that applies a review never changes",
    ),
    Guard(
        "run_is_possible",
        "records_applyrun",
        "INSERT",
        f"NOT {_RUNNABLE}",
        "a run needs a complete plan that applyviz itself applies",
    ),
    Guard(
        "run_begins_waiting",
        "records_applyrun",
        "INSERT",
        f"NEW.state <> '{RunState.QUEUED}' OR NEW.epoch <> 0"
        f" OR (NEW.needed = 0 AND NOT {_EMERGENCY} AND NOT {_ASKS_NOTHING})",
        "a new run is queued, and requires the approvals of its policy",
    ),
    Guard(
        "run_is_consented",
        "records_applyrun",
        "UPDATE",
        f"NEW.epoch > OLD.epoch AND {_SPENT} < NEW.needed AND NOT {_EMERGENCY}",
        "no run without the approvals spent on it",
    ),
    Guard(
        "run_is_claimed",
        "records_applyrun",
        "UPDATE",
        "OLD.plan_id <> NEW.plan_id OR OLD.needed <> NEW.needed OR NEW.epoch < OLD.epoch"
        f" OR (NEW.state = '{RunState.APPLYING}' AND NEW.epoch = 0)"
        f" OR (OLD.state NOT IN ({_UNFINISHED}) AND NEW.state IN ({_UNFINISHED}) AND NOT {_RETRIED})"
        f" OR (NEW.attempt <> OLD.attempt AND NOT {_RETRIED})",
        "a run never changes its plan, and starts only by a worker",
    ),
    Guard("attempt_no_update", "records_runattempt", "UPDATE", "", "attempts are never changed"),
    Guard("attempt_no_delete", "records_runattempt", "DELETE", "", "attempts are never deleted"),
    Guard("run_no_delete", "records_applyrun", "DELETE", "", "runs are never deleted"),
)

KEPT_TABLES = tuple(dict.fromkeys(guard.table for guard in GUARDS if guard.event == "DELETE"))
"""The tables of which nothing is deleted, or not all."""
