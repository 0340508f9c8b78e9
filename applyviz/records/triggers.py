"""Triggers that enforce rules in the database, on SQLite and PostgreSQL; installed after each migration.

- Audit entries are never changed or deleted; a body may be removed if an entry of the history names the policy.
- A person cannot approve what they wrote, edited, committed, pushed, resolved or requested, under any account;
  a spent approval is never changed, an expired one never spent; none is deleted. In a run one human counts once; links
  of accounts stay.
- Commits and editors of a plan never change; a commit identity is only ever verified or ended.
- A person cannot approve their own conflict rule, under any account; the content of a rule never changes, none is
  deleted.
- Versions of policies and records of emergency apply are never changed; grants and memberships are only ever ended.
- A complete or failed plan never changes, and neither do its object changes, nor the scopes of its review; a resolution
  is only ever undone.
- A run needs a complete plan that applyviz applies, and no worker can take it without approvals spent on it.
- A finished run never starts again, except a failed one by a row of its next attempt, which never changes.
- A MAC of a row under a later key is only ever added.
- A program approves nothing, and its owner nothing that it requested; tokens and mappings are only ever ended.

They are installed after every migration because SQLite drops triggers when it rebuilds a table. On PostgreSQL these
tables cannot be truncated, and a trigger finds our schema regardless of a session's search path. The owner of the
tables can drop triggers: `docs/configuration.md` says which role the processes should have, so that they cannot.
"""

from __future__ import annotations

from django.db import connections

from applyviz.records.trigger_rules import GUARDS, KEPT_ACTIONS, KEPT_TABLES, Guard

__all__ = ["GUARDS", "KEPT_ACTIONS", "KEPT_TABLES", "install", "lift"]


def _sqlite(guard: Guard) -> list[str]:
    when = f"WHEN {guard.condition}" if guard.condition else ""
    return [
        f"DROP TRIGGER IF EXISTS {guard.name}",
        f"CREATE TRIGGER {guard.name} BEFORE {guard.event} ON {guard.table} {when} "
        f"BEGIN SELECT RAISE(ABORT, '{guard.message}'); END",
    ]


def _function(name: str, body: str, schema: str) -> str:
    """Return a trigger's function that finds our tables, regardless of a session's objects and search path."""
    return (
        f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql SET search_path = {schema}, pg_temp"
        f" AS $$ BEGIN {body} END $$"
    )


def _postgresql(guard: Guard, schema: str) -> list[str]:
    row = "OLD" if guard.event == "DELETE" else "NEW"
    test = f"IF {guard.condition} THEN" if guard.condition else "IF TRUE THEN"
    return [
        _function(
            guard.name,
            f"{test} RAISE EXCEPTION '{guard.message}' USING ERRCODE = 'integrity_constraint_violation'; END IF; "
            f"RETURN {row};",
            schema,
        ),
        f"DROP TRIGGER IF EXISTS {guard.name} ON {guard.table}",
        f"CREATE TRIGGER {guard.name} BEFORE {guard.event} ON {guard.table} "
        f"FOR EACH ROW EXECUTE FUNCTION {guard.name}()",
    ]


def _truncate_guard(table: str, schema: str) -> list[str]:
    name = f"{table}_no_truncate"
    raised = f"RAISE EXCEPTION '{table} is never emptied' USING ERRCODE = 'integrity_constraint_violation';"
    return [
        _function(name, raised, schema),
        f"DROP TRIGGER IF EXISTS {name} ON {table}",
        f"CREATE TRIGGER {name} BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION {name}()",
    ]


def _is_ready(using: str) -> bool:
    with connections[using].cursor() as cursor:
        tables = set(connections[using].introspection.table_names(cursor))
    return {guard.table for guard in GUARDS} <= tables


def install(using: str) -> None:
    """Create the triggers; do nothing while the tables do not exist."""
    connection = connections[using]
    if not _is_ready(using):
        return
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            statements = [text for guard in GUARDS for text in _sqlite(guard)]
        else:
            cursor.execute("SELECT quote_ident(current_schema())")
            schema = cursor.fetchone()[0]
            statements = [text for guard in GUARDS for text in _postgresql(guard, schema)]
            statements += [text for table in KEPT_TABLES for text in _truncate_guard(table, schema)]
        for statement in statements:
            cursor.execute(statement)


def lift(using: str) -> None:
    """Drop every trigger of our tables, including those of earlier versions, before tables are rebuilt.

    SQLite refuses to rename a table that a trigger names; `install` creates them again.
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
