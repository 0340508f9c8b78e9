"""What the database itself refuses, on SQLite and PostgreSQL: triggers, installed after each migration.

- Audit entries are never changed or deleted; a body may go when an entry of the history tells which policy asked.
- Nobody approves what they wrote, edited, decided or requested, under any account of theirs; a spent approval is
  never changed, an expired one never spent; none is deleted.
- Nobody agrees to a standing rule of their own; what a rule says is never changed, and none is deleted.
- Versions of policies and records of broken glass are never changed; grants and memberships are only ever ended.
- A plan that is complete or failed stays as it is, and so do its object changes.
Installed after every migration because SQLite loses triggers when a table is rebuilt.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connections

from applyviz.records.enums import AuditAction

_APPROVED = "records_approval"
# The person behind an account: linked accounts have one name.
_HUMAN = "COALESCE((SELECT l.human FROM records_accountlink l WHERE l.person_id = {0}), 'account-' || {0})"
_ME = _HUMAN.format("NEW.by_id")
# Whoever had a hand in a plan: rows that name them, and the column that does.
_PLAN = "FROM records_plan p JOIN records_review r ON r.id = p.review_id"
_INVOLVED = (
    (f"SELECT 1 {_PLAN} WHERE p.id = NEW.plan_id", "r.author_id"),
    (f"SELECT 1 {_PLAN} JOIN records_plan q ON q.review_id = r.id WHERE p.id = NEW.plan_id", "q.requested_by_id"),
    (
        f"SELECT 1 {_PLAN} JOIN records_sourcerevision s ON s.id = p.revision_id WHERE p.id = NEW.plan_id",
        "s.created_by_id",
    ),
    (f"SELECT 1 {_PLAN} JOIN records_decision d ON d.review_id = r.id WHERE p.id = NEW.plan_id", "d.by_id"),
)
_SAME_DIGEST = (
    "SELECT 1 FROM records_approval a JOIN records_plan o ON o.id = a.plan_id JOIN records_plan p ON p.id = NEW.plan_id"
    " WHERE o.review_id = p.review_id AND a.digest = NEW.digest AND a.revoked_at IS NULL AND a.spent_at IS NULL"
)
_REVIEWED = "SELECT 1 FROM records_plan p JOIN records_review r ON r.id = p.review_id WHERE p.id = NEW.plan_id"

_FIXED = (
    *("id", "chain", "sequence", "form", "at", "action", "actor_id", "actor_name", "roles", "session", "address"),
    *("agent", "request_id", "cluster", "review", "plan", "run", '"group"', "kind", "namespace", "name"),
    *("field_manager", "plan_digest", "detail_hash", "previous_hash", "hash"),
)
# Verification needs what these say.
KEPT_ACTIONS = (AuditAction.RUN_FINISHED, AuditAction.HISTORY_ANCHORED, AuditAction.HISTORY_PRUNED)
_ASKED = "SELECT 1 FROM records_auditentry told WHERE told.chain = 0 AND told.sequence = NEW.pruned_by"
_PRUNED_BEFORE = f"told.action = '{AuditAction.HISTORY_PRUNED}' AND told.at >= OLD.at"
_PRUNES = " AND ".join(
    (
        *(f"OLD.{name} IS NOT DISTINCT FROM NEW.{name}" for name in _FIXED),
        "OLD.form = 2 AND OLD.pruned_by IS NULL AND NEW.pruned_by IS NOT NULL AND NEW.salt = ''",
        "CAST(NEW.detail AS text) = '{}'",
        *(f"OLD.action <> '{action}'" for action in KEPT_ACTIONS),
        f"EXISTS ({_ASKED} AND {_PRUNED_BEFORE})",
    )
)


@dataclass(frozen=True, slots=True)
class _Guard:
    """One refusal: on which table and event, under which condition ("" always), and what is said."""

    name: str
    table: str
    event: str
    condition: str
    message: str


GUARDS = (
    _Guard("audit_no_update", "records_auditentry", "UPDATE", f"NOT ({_PRUNES})", "audit entries are never changed"),
    _Guard("audit_no_delete", "records_auditentry", "DELETE", "", "audit entries are never deleted"),
    _Guard(
        "approval_not_ones_own",
        _APPROVED,
        "INSERT",
        " OR ".join(f"EXISTS ({rows} AND {_HUMAN.format(who)} = {_ME})" for rows, who in _INVOLVED),
        "nobody approves what they wrote, edited, decided or requested",
    ),
    _Guard(
        "approval_once_per_human",
        _APPROVED,
        "INSERT",
        f"NEW.spent_at IS NULL AND EXISTS ({_SAME_DIGEST} AND {_HUMAN.format('a.by_id')} = {_ME})",
        "one person approves once; a unique consent under any account",
    ),
    _Guard(
        "approval_not_expired",
        _APPROVED,
        "UPDATE",
        "NEW.spent_at IS NOT NULL AND OLD.expires_at IS NOT NULL AND NEW.spent_at > OLD.expires_at",
        "an expired approval is never spent",
    ),
    _Guard(
        "approval_names_the_digest",
        _APPROVED,
        "INSERT",
        f"NOT EXISTS ({_REVIEWED} AND p.state = 'complete' AND p.digest = NEW.digest AND p.digest <> '')",
        "an approval names the digest of a complete plan",
    ),
    _Guard(
        "approval_is_fixed",
        _APPROVED,
        "UPDATE",
        "OLD.plan_id <> NEW.plan_id OR OLD.digest <> NEW.digest OR OLD.by_id <> NEW.by_id"
        " OR OLD.spent_at IS NOT NULL OR OLD.revoked_at IS NOT NULL OR OLD.expires_at IS DISTINCT FROM NEW.expires_at",
        "an approval is only ever spent or revoked, once",
    ),
    _Guard("approval_no_delete", _APPROVED, "DELETE", "", "approvals are never deleted"),
    _Guard(
        "rule_is_fixed",
        "records_standingrule",
        "UPDATE",
        "OLD.proposed_by_id <> NEW.proposed_by_id OR OLD.cluster_id <> NEW.cluster_id OR OLD.way <> NEW.way"
        " OR OLD.kind <> NEW.kind OR OLD.name <> NEW.name OR OLD.namespace <> NEW.namespace OR OLD.path <> NEW.path"
        " OR OLD.manager <> NEW.manager OR OLD.ended_at IS NOT NULL OR NEW.agreed_by_id = NEW.proposed_by_id",
        "a standing rule is only ever agreed to by another person, or ended, once",
    ),
    _Guard(
        "rule_starts_proposed",
        "records_standingrule",
        "INSERT",
        "NEW.state <> 'proposed' OR NEW.agreed_by_id IS NOT NULL",
        "a standing rule starts as a proposal",
    ),
    _Guard("rule_no_delete", "records_standingrule", "DELETE", "", "standing rules are never deleted"),
    _Guard(
        "objection_is_fixed",
        "records_objection",
        "UPDATE",
        "OLD.plan_id <> NEW.plan_id OR OLD.digest <> NEW.digest OR OLD.by_id <> NEW.by_id OR OLD.note <> NEW.note"
        " OR OLD.withdrawn_at IS NOT NULL",
        "a request for changes is only ever withdrawn, once",
    ),
    _Guard("objection_no_delete", "records_objection", "DELETE", "", "requests for changes are never deleted"),
    _Guard("glass_no_update", "records_breakglass", "UPDATE", "", "records of broken glass are never changed"),
    _Guard("glass_no_delete", "records_breakglass", "DELETE", "", "records of broken glass are never deleted"),
    _Guard("policy_no_update", "records_policyversion", "UPDATE", "", "versions of policies are never changed"),
    _Guard("policy_no_delete", "records_policyversion", "DELETE", "", "versions of policies are never deleted"),
    _Guard(
        "grant_is_fixed",
        "records_grant",
        "UPDATE",
        "OLD.ended_at IS NOT NULL OR NEW.ended_at IS NULL OR OLD.role <> NEW.role"
        " OR OLD.person_id IS DISTINCT FROM NEW.person_id OR OLD.team_id IS DISTINCT FROM NEW.team_id"
        " OR OLD.cluster_pattern <> NEW.cluster_pattern OR OLD.namespace_pattern <> NEW.namespace_pattern"
        " OR OLD.is_cluster_scoped <> NEW.is_cluster_scoped OR OLD.since <> NEW.since",
        "a grant is only ever ended, once",
    ),
    _Guard("grant_no_delete", "records_grant", "DELETE", "", "grants are never deleted"),
    _Guard(
        "member_is_fixed",
        "records_teammember",
        "UPDATE",
        "OLD.ended_at IS NOT NULL OR NEW.ended_at IS NULL OR OLD.team_id <> NEW.team_id"
        " OR OLD.person_id <> NEW.person_id OR OLD.since <> NEW.since",
        "a membership is only ever ended, once",
    ),
    _Guard("member_no_delete", "records_teammember", "DELETE", "", "memberships are never deleted"),
    _Guard(
        "plan_is_fixed", "records_plan", "UPDATE", "OLD.state <> 'planning'", "a plan is immutable once it is complete"
    ),
    _Guard("plan_no_delete", "records_plan", "DELETE", "OLD.state <> 'planning'", "a finished plan is never deleted"),
    _Guard(
        "change_is_fixed",
        "records_objectchange",
        "UPDATE",
        "NOT EXISTS (SELECT 1 FROM records_plan p WHERE p.id = OLD.plan_id AND p.state = 'planning')",
        "changes of a finished plan are immutable",
    ),
    _Guard(
        "change_no_late_insert",
        "records_objectchange",
        "INSERT",
        "NOT EXISTS (SELECT 1 FROM records_plan p WHERE p.id = NEW.plan_id AND p.state = 'planning')",
        "a finished plan takes no further change",
    ),
    _Guard(
        "change_no_delete",
        "records_objectchange",
        "DELETE",
        "NOT EXISTS (SELECT 1 FROM records_plan p WHERE p.id = OLD.plan_id AND p.state = 'planning')",
        "changes of a finished plan are never deleted",
    ),
)


def _sqlite(guard: _Guard) -> list[str]:
    when = f"WHEN {guard.condition}" if guard.condition else ""
    return [
        f"DROP TRIGGER IF EXISTS {guard.name}",
        f"CREATE TRIGGER {guard.name} BEFORE {guard.event} ON {guard.table} {when} "
        f"BEGIN SELECT RAISE(ABORT, '{guard.message}'); END",
    ]


def _postgresql(guard: _Guard) -> list[str]:
    row = "OLD" if guard.event == "DELETE" else "NEW"
    test = f"IF {guard.condition} THEN" if guard.condition else "IF TRUE THEN"
    return [
        f"CREATE OR REPLACE FUNCTION {guard.name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {test} "
        f"RAISE EXCEPTION '{guard.message}' USING ERRCODE = 'integrity_constraint_violation'; END IF; "
        f"RETURN {row}; END $$",
        f"DROP TRIGGER IF EXISTS {guard.name} ON {guard.table}",
        f"CREATE TRIGGER {guard.name} BEFORE {guard.event} ON {guard.table} "
        f"FOR EACH ROW EXECUTE FUNCTION {guard.name}()",
    ]


def _truncate_guard(table: str) -> list[str]:
    name = f"{table}_no_truncate"
    return [
        f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"RAISE EXCEPTION '{table} is never emptied' USING ERRCODE = 'integrity_constraint_violation'; END $$",
        f"DROP TRIGGER IF EXISTS {name} ON {table}",
        f"CREATE TRIGGER {name} BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION {name}()",
    ]


def _is_ready(using: str) -> bool:
    with connections[using].cursor() as cursor:
        tables = set(connections[using].introspection.table_names(cursor))
    return {guard.table for guard in GUARDS} <= tables


def install(using: str) -> None:
    """Make the database refuse what it must; nothing happens while the tables are not there."""
    connection = connections[using]
    if not _is_ready(using):
        return
    statements = [
        text for guard in GUARDS for text in (_sqlite(guard) if connection.vendor == "sqlite" else _postgresql(guard))
    ]
    if connection.vendor == "postgresql":
        statements += _truncate_guard("records_auditentry")
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def remove(using: str) -> None:
    """Take the triggers away; for tests, which empty every table between them."""
    connection = connections[using]
    with connection.cursor() as cursor:
        for guard in GUARDS:
            suffix = f" ON {guard.table}" if connection.vendor == "postgresql" else ""
            cursor.execute(f"DROP TRIGGER IF EXISTS {guard.name}{suffix}")
        if connection.vendor == "postgresql":
            cursor.execute("DROP TRIGGER IF EXISTS records_auditentry_no_truncate ON records_auditentry")


def lift(using: str) -> None:
    """Take every trigger of our tables away, those of earlier versions too, before tables are rebuilt.

    SQLite refuses to rename a table that a trigger names; `install` brings back what belongs there.
    """
    connection = connections[using]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT t.tgname, c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
                " WHERE NOT t.tgisinternal AND starts_with(c.relname::text, 'records_')"
            )
        else:
            cursor.execute("SELECT name, '' FROM sqlite_master WHERE type = 'trigger' AND tbl_name GLOB 'records_*'")
        for name, table in cursor.fetchall():
            quoted = connection.ops.quote_name
            cursor.execute(f"DROP TRIGGER {quoted(name)}{f' ON {quoted(table)}' if table else ''}")
