"""What the database itself refuses is the same on PostgreSQL, and an ordinary role cannot take it away.

The role is made by `scripts/database_roles.sql`, the very file that `docs/configuration.md` recommends.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.services.owned import migrate, run_with
from tests.services.servers import environment_of, run_postgres

pytestmark = pytest.mark.services
FILES = ("tests/records/test_guards.py", "tests/records/test_guarded_ways.py")
SCENE = """
from django.utils import timezone
from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.enums import Role
from applyviz.records.models import ApplyRun
from applyviz.sources.bundle import SourceBundle, BundledFile
from applyviz.workflow.runs import emergency_apply as breakglass
from applyviz.workflow.clusters import registration as clusters
from applyviz.workflow.plans import planner as plans
from applyviz.workflow.plans import reviews
from applyviz.workflow.people import teams
from applyviz.workflow import runs
from tests.builders import make_person
alice, bob = make_person("alice", Role.AUTHOR), make_person("bob", Role.APPROVER)
root = make_person("root", Role.ADMINISTRATOR)
teams.link_accounts([make_person("twin", Role.APPROVER), alice], by=root)
box = clusters.create_sandbox(slug="box", name="Box")
text = b"apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: settings}\\ndata: {a: b}\\n"
for _ in range(2):
    review = reviews.create_review(
        by=alice, title="Small", reason="", ticket="", options=ApplyOptions(), cluster=box,
        bundle=SourceBundle((BundledFile("a.yaml", text),)),
    )
    plan = review.plans.get()
    plans.make_plan(plan.pk)
    plan.refresh_from_db()
    if not ApplyRun.objects.exists():
        run = runs.approve_and_run(plan, by=bob, digest=plan.digest)
        runs.execute_run(run.pk)
        run.refresh_from_db()
        print(run.state)
"""
APPROVE_OWN = """
    INSERT INTO public.records_approval (plan_id, digest, by_id, by_name, note, created_at)
    SELECT p.id, p.digest, u.id, u.username, '', now() FROM public.records_plan p, public.auth_user u
    WHERE p.number = 1 AND u.username = 'twin' ORDER BY p.id DESC LIMIT 1
"""
# What somebody with the password of the processes may try before they approve their own.
TRICKS = {
    "session_replication_role": "SET session_replication_role = replica",
    "ALTER TABLE … DISABLE TRIGGER": "ALTER TABLE records_approval DISABLE TRIGGER approval_not_ones_own",
    "ALTER TABLE … DISABLE TRIGGER ALL": "ALTER TABLE records_approval DISABLE TRIGGER ALL",
    "DROP TRIGGER": "DROP TRIGGER approval_not_ones_own ON records_approval",
    "another function": "CREATE OR REPLACE FUNCTION approval_not_ones_own() RETURNS trigger LANGUAGE plpgsql"
    " AS $$ BEGIN RETURN NEW; END $$",
    "ALTER FUNCTION": "ALTER FUNCTION approval_not_ones_own() RESET search_path",
    "DROP FUNCTION": "DROP FUNCTION approval_not_ones_own() CASCADE",
    "TRUNCATE": "TRUNCATE records_auditentry CASCADE",
    "DROP TABLE": "DROP TABLE records_auditentry CASCADE",
    "RENAME": "ALTER TABLE records_accountlink RENAME TO gone",
    "SET ROLE": "SET ROLE applyviz_owner",
    "temporary tables": "CREATE TEMP TABLE records_accountlink (person_id bigint, human text)",
    "a table of ours": "CREATE TABLE public.mine (id int)",
    "a schema of ours": "CREATE SCHEMA mine",
    "a rule": "CREATE RULE quiet AS ON DELETE TO records_auditentry DO INSTEAD NOTHING",
    "a trigger": "CREATE TRIGGER mine BEFORE INSERT ON records_approval FOR EACH ROW"
    " EXECUTE FUNCTION approval_not_ones_own()",
    "DELETE": "DELETE FROM records_auditentry",
    "links": "DELETE FROM records_accountlink",
    "grants for oneself": "GRANT applyviz_owner TO applyviz_app",
}


@pytest.fixture(scope="module")
def keys() -> dict[str, str]:
    """One installation has one set of keys."""
    return environment_of("")


def test_every_guard_holds_on_postgresql(keys):
    with run_postgres() as database:
        done = run_with(keys, database, "-m", "pytest", "-q", "-p", "no:cacheprovider", *FILES)

    assert " failed" not in done.stdout
    assert "skipped" not in done.stdout, done.stdout
    assert " passed" in done.stdout


@pytest.fixture(scope="module")
def database(keys) -> Iterator[str]:
    """A database whose owner migrated it; gives the address for the ordinary role, which has done a whole job there."""
    with run_postgres() as superuser:
        app = migrate(keys, superuser)
        assert "applied" in run_with(keys, app, "manage.py", "shell", "-v", "0", text=SCENE).stdout
        yield app


@pytest.mark.core(1)
@pytest.mark.parametrize("trick", list(TRICKS))
def test_ordinary_role_cannot_take_a_guard_away(database, trick):
    with psycopg.connect(database, autocommit=True) as connection:
        with pytest.raises(psycopg.Error):
            connection.execute(TRICKS[trick])
        with pytest.raises(psycopg.Error, match="a person cannot approve"):
            connection.execute(APPROVE_OWN)


def test_search_path_of_a_session_leads_no_guard_astray(database):
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("SET search_path = pg_catalog")
        with pytest.raises(psycopg.Error, match="a person cannot approve"):
            connection.execute(APPROVE_OWN)


def test_ordinary_role_verifies_what_the_owner_migrated(keys, database):
    assert "intact" in run_with(keys, database, "manage.py", "audit", "verify").stdout.lower()
