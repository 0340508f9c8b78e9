"""The people behind commits in the database: who they are to a plan, and what stays as it was recorded.

Rule: whoever ever had a verified identity stays the editor of its commits, so an ended identity counts as well.
"""

from __future__ import annotations

from applyviz.records.refusal import Guard

_OF_PLAN = "FROM records_commiteditor e JOIN {0} WHERE e.plan_id = NEW.plan_id"
_IDENTITY = "records_commitidentity i ON i.kind = '{0}' AND i.value = e.{0} AND i.verified_at IS NOT NULL"
# The rows that name the accounts of editors of a plan, and the column.
COMMIT_EDITORS = (
    (f"SELECT 1 {_OF_PLAN.format(_IDENTITY.format('email'))}", "i.person_id"),
    (f"SELECT 1 {_OF_PLAN.format(_IDENTITY.format('login'))}", "i.person_id"),
    (f"SELECT 1 {_OF_PLAN.format('auth_user u ON LOWER(u.email) = e.email')} AND u.email <> ''", "u.id"),
)

OF_COMMITS = (
    Guard("editor_no_update", "records_commiteditor", "UPDATE", "", "editors of a plan are never changed"),
    Guard("editor_no_delete", "records_commiteditor", "DELETE", "", "editors of a plan are never deleted"),
    Guard("commits_no_update", "records_commitrange", "UPDATE", "", "the commits of a plan are never changed"),
    Guard("commits_no_delete", "records_commitrange", "DELETE", "", "the commits of a plan are never deleted"),
    Guard(
        "identity_is_fixed",
        "records_commitidentity",
        "UPDATE",
        "OLD.person_id <> NEW.person_id OR OLD.kind <> NEW.kind OR OLD.value <> NEW.value OR OLD.ended_at IS NOT NULL"
        " OR (OLD.verified_at IS NOT NULL AND OLD.verified_at IS DISTINCT FROM NEW.verified_at)",
        "a commit identity is only ever verified or ended, once",
    ),
    Guard("identity_no_delete", "records_commitidentity", "DELETE", "", "commit identities are ended, never deleted"),
)
