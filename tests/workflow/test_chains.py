"""A chain per run, tied to the global one: whoever touches an entry, as superuser of the database, is found out."""

import subprocess
import sys
from datetime import timedelta

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from applyviz import audit_origin
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import AuditEntry, ChainEnd
from applyviz.workflow.audit import anchors, chain, retention, trail
from applyviz.workflow.evidence import history
from applyviz.workflow.evidence.history import ExportFormat
from applyviz.workflow.foundation.errors import NotAllowedError, NotValidError
from tests.builders import make_person
from tests.stories import Team, config_map
from tests.workflow.test_audit import tamper
from tests.workflow.test_history_export import VERIFIER

pytestmark = pytest.mark.django_db
WEB = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "shop", "web")


def write_run(run, count=3, *, ends=True):
    about = trail.AuditSubject(cluster="box", run=run, ref=WEB)
    trail.record(AuditAction.RUN_STARTED, by=None, about=about)
    for number in range(count):
        trail.record(AuditAction.OBJECT_RESULT, by=None, about=about, detail={"n": number})
    if ends:
        trail.record(AuditAction.RUN_FINISHED, by=None, about=about, detail={"state": "applied"})


@pytest.fixture
def two_runs():
    """Run 1 ended, run 2 goes on; the global chain has three entries."""
    write_run(1)
    write_run(2, ends=False)


def export():
    return list(history.export_entries({}, ExportFormat.JSONL))


def check_offline(tmp_path, lines, *options):
    path = tmp_path / "export.jsonl"
    path.write_text("".join(lines), encoding="utf-8")
    command = [sys.executable, "-I", "-S", str(VERIFIER), str(path), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, (done.stdout + done.stderr).splitlines()


def test_each_run_has_a_chain_that_follows_its_start(two_runs):
    first = {e.chain: e for e in AuditEntry.objects.filter(sequence=1)}
    started = {e.run: e.hash for e in AuditEntry.objects.filter(action=AuditAction.RUN_STARTED)}

    assert {head.chain: head.sequence for head in ChainEnd.objects.all()} == {0: 3, 1: 3, 2: 3}
    assert {run: first[run].previous_hash for run in (1, 2)} == started


def test_end_of_a_run_names_the_head_of_its_chain(two_runs):
    told = AuditEntry.objects.get(action=AuditAction.RUN_FINISHED)
    head = ChainEnd.objects.get(chain=1)

    assert (told.chain, told.detail["heads"]) == (0, {"1": f"3:{head.hash}"})


def test_untouched_chains_are_intact(two_runs, tmp_path):
    published = chain.publish_checkpoint()
    report = chain.verify_chain(published=published)

    assert (report.is_intact, report.entries, report.runs) == (True, 10, 2)
    code, said = check_offline(tmp_path, export(), "--head", str(published))
    assert (code, said) == (0, [f"10 entries are intact, 2 run chains among them; last {published}"])


def test_publishing_ties_what_is_loose_and_says_so_once(two_runs):
    assert (anchors.anchor_pending(), anchors.anchor_pending()) == (1, 0)

    told = AuditEntry.objects.get(action=AuditAction.HISTORY_ANCHORED)
    assert list(told.detail["heads"]) == ["2"]


def test_sweep_ties_a_long_run_only_now_and_then(two_runs):
    assert anchors.anchor_pending(older_than=anchors.EVERY) == 1
    trail.record(AuditAction.OBJECT_RESULT, by=None, about=trail.AuditSubject(run=2))

    assert anchors.anchor_pending(older_than=anchors.EVERY) == 0
    ChainEnd.objects.filter(chain=2).update(anchored_at=timezone.now() - 2 * anchors.EVERY)
    assert anchors.anchor_pending(older_than=anchors.EVERY) == 1


TOUCHED = [
    ("change", "UPDATE records_auditentry SET actor_name = 'mallory' WHERE chain = 1 AND sequence = 2", (1, 2)),
    ("body", "UPDATE records_auditentry SET detail = '{\"n\": 9}' WHERE chain = 1 AND sequence = 2", (1, 2)),
    ("roles", "UPDATE records_auditentry SET roles = 'approver' WHERE chain = 0 AND sequence = 1", (0, 1)),
    ("from", "UPDATE records_auditentry SET address = '10.0.0.9' WHERE chain = 2 AND sequence = 3", (2, 3)),
    ("delete", "DELETE FROM records_auditentry WHERE chain = 1 AND sequence = 2", (1, 2)),
    ("truncate a run", "DELETE FROM records_auditentry WHERE chain = 1 AND sequence = 3", (0, 2)),
    ("truncate the open run", "DELETE FROM records_auditentry WHERE chain = 2 AND sequence = 3", (2, 3)),
    ("drop a run", "DELETE FROM records_auditentry WHERE chain = 2", (2, 1)),
    ("truncate all", "DELETE FROM records_auditentry WHERE chain = 0 AND sequence = 3", (2, 1)),
    (
        "reorder",
        "UPDATE records_auditentry SET sequence = 103 - sequence WHERE chain = 1 AND sequence IN (1, 2)",
        (1, 1),
    ),
    ("renumber", "UPDATE records_auditentry SET id = 900 + id WHERE chain = 1 AND sequence = 2", (1, 2)),
    (
        "move to another chain",
        "UPDATE records_auditentry SET chain = 2, sequence = 4 WHERE chain = 1 AND sequence = 3",
        (2, 1),
    ),
    ("forget a removal", "UPDATE records_auditentry SET pruned_by = 3 WHERE chain = 1 AND sequence = 2", (1, 2)),
]


@pytest.mark.core(4)
@pytest.mark.parametrize(("how", "sql", "bad"), TOUCHED, ids=[row[0] for row in TOUCHED])
def test_whatever_is_touched_is_found_and_named(two_runs, how, sql, bad):
    tamper(sql)

    found = chain.verify_chain().bad

    assert found is not None
    assert (found.chain, found.sequence) == bad


@pytest.mark.core(4)
@pytest.mark.parametrize(("how", "sql", "bad"), TOUCHED, ids=[row[0] for row in TOUCHED])
def test_offline_verifier_finds_it_in_an_export(two_runs, tmp_path, how, sql, bad):
    published = chain.publish_checkpoint()
    tamper(sql)

    assert check_offline(tmp_path, export(), "--head", str(published))[0] == 1


def test_inserted_entry_is_found(two_runs):
    columns = [
        f.column for f in AuditEntry._meta.concrete_fields if f.column not in ("id", "chain", "sequence", "hash")
    ]
    names = ", ".join(f'"{name}"' for name in columns)
    head = "UPDATE records_chainend SET sequence = 4 WHERE chain = 1"
    tamper(
        f"INSERT INTO records_auditentry (chain, sequence, hash, {names}) "
        f"SELECT 1, 4, 'forged', {names} FROM records_auditentry WHERE chain = 1 AND sequence = 3"
    )
    tamper(head)

    assert (chain.verify_chain().bad.chain, chain.verify_chain().bad.sequence) == (1, 4)


def test_run_rewritten_with_its_head_contradicts_the_global_chain(two_runs):
    tamper("DELETE FROM records_auditentry WHERE chain = 1 AND sequence > 1")
    last = AuditEntry.objects.get(chain=1)
    tamper(f"UPDATE records_chainend SET sequence = 1, hash = '{last.hash}' WHERE chain = 1")

    found = chain.verify_chain().bad

    assert (found.chain, found.sequence, "run 1" in found.reason) == (0, 2, True)


def test_slices_know_where_each_chain_stands(two_runs):
    after, parts = 0, []
    while True:
        report = chain.verify_chain(after=after, limit=2)
        parts.append(report.entries)
        if report.is_finished:
            break
        after = report.last

    assert (report.is_intact, parts) == (True, [2, 2, 2, 2, 1])


def test_entry_says_from_where_and_with_which_roles():
    alice = make_person("alice", Role.AUTHOR, Role.VIEWER)
    held = audit_origin.current.set(audit_origin.Origin(audit_origin.WEB, "203.0.113.7", "Firefox/130.0"))
    try:
        entry = trail.record(AuditAction.COMMENT_ADDED, by=alice, about=trail.AuditSubject())
    finally:
        audit_origin.current.reset(held)
    alice.groups.clear()

    entry.refresh_from_db()
    told = (entry.session, entry.address, entry.agent, entry.roles)
    assert told == ("web", "203.0.113.7", "Firefox/130.0", "author viewer")


def test_agent_is_short_and_on_one_line():
    agent = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101\nFirefox/130.0 " + "x" * 500

    assert audit_origin.shorten_agent(agent)[:47] == "Mozilla/5.0 Gecko/20100101 Firefox/130.0 xxxxxx"
    assert len(audit_origin.shorten_agent(agent)) == 120


def test_a_whole_run_stands_in_its_own_chain(monkeypatch):
    team = Team().wire_up(monkeypatch)
    run = team.start(team.plan(config_map(a="1")))
    team.work(run)

    actions = list(AuditEntry.objects.filter(chain=run.number).order_by("id").values_list("action", flat=True))
    assert actions == ["run.claimed", "object.intent", "object.result"]
    assert chain.verify_chain().is_intact


def old_entries(days, run=None):
    """Entries that look as if they were written days ago."""
    about = trail.AuditSubject(cluster="box", ref=WEB, run=run)
    entries = [
        trail.record(AuditAction.OBJECT_RESULT, by=None, about=about, detail={"note": f"umbrella {number}"})
        for number in range(3)
    ]
    return entries[-1], timezone.now() + timedelta(days=days)


@pytest.fixture
def policy():
    boss = make_person("boss")
    boss.is_superuser = True
    boss.save()
    return retention.add_policy(name="a month", days=30, has_requests=False, by=boss)


def test_bodies_go_and_the_chain_holds(policy, tmp_path):
    write_run(1)
    entry, later = old_entries(31, run=1)

    removed = retention.prune(policy, now=later)
    entry.refresh_from_db()
    report = chain.verify_chain()

    assert (removed.entries, entry.detail, entry.salt, "umbrella" in entry.words) == (7, {}, "", False)
    assert (report.is_intact, report.removed) == (True, {entry.pruned_by: 7})
    code, said = check_offline(tmp_path, export())
    assert (code, said[1]) == (0, "7 bodies were removed by policy a month")
    assert not history.find_entries({"text": "umbrella"}).exists()


def test_what_verification_needs_is_kept(policy):
    write_run(1)
    retention.prune(policy, now=timezone.now() + timedelta(days=99))

    kept = AuditEntry.objects.filter(pruned_by=None).values_list("action", flat=True)
    assert set(kept) == {"retention.changed", "run.finished", "history.pruned"}


def test_younger_bodies_and_other_kinds_are_kept(policy):
    old_entries(0)

    assert retention.prune(policy, now=timezone.now() + timedelta(days=29)).entries == 0
    policy.actions = ["comment.added"]
    assert retention.count_due(policy, now=timezone.now() + timedelta(days=99)) == 0


def test_unrecorded_removal_is_found(policy):
    entry, later = old_entries(31)
    retention.prune(policy, now=later)
    tamper(f"UPDATE records_auditentry SET pruned_by = 1 WHERE id = {entry.pk}")

    assert "records nothing" in chain.verify_chain().bad.reason


def test_database_refuses_a_removal_that_no_entry_tells_of(policy):
    entry, _later = old_entries(31)
    gone = {"detail": {}, "salt": "", "pruned_by": 1, "words": ""}

    for change in (gone, {"detail": {}}, {**gone, "actor_name": "mallory"}):
        with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
            AuditEntry.objects.filter(pk=entry.pk).update(**change)


def test_database_refuses_to_take_the_body_of_what_verification_needs(policy):
    write_run(1)
    _entry, later = old_entries(31)
    retention.prune(policy, now=later)
    told = AuditEntry.objects.get(action=AuditAction.HISTORY_PRUNED)
    finished = AuditEntry.objects.filter(action=AuditAction.RUN_FINISHED)

    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        finished.update(detail={}, salt="", pruned_by=told.sequence)


def test_policies_are_for_administrators_and_have_a_shortest_time(policy):
    author = make_person("alice", Role.AUTHOR)
    with pytest.raises(NotAllowedError):
        retention.add_policy(name="mine", days=30, has_requests=False, by=author)
    boss = policy.created_by
    for days, actions in ((1, ()), (30, ["run.finished"]), (30, ["nonsense"])):
        with pytest.raises(NotValidError):
            retention.add_policy(name="x", days=days, actions=actions, has_requests=False, by=boss)

    retention.end_policy(policy, by=boss)
    assert [retention.prune_all(), list(retention.list_active())] == [[], []]
    changed = AuditEntry.objects.filter(action=AuditAction.RETENTION_CHANGED).order_by("id")
    assert [e.detail["active"] for e in changed] == [True, False]


def test_requests_of_finished_runs_go_with_a_policy_that_says_so(monkeypatch, policy):
    policy.has_requests = True
    team = Team().wire_up(monkeypatch)
    run = team.start(team.plan(config_map(a="1")))
    team.work(run)

    removed = retention.prune(policy, now=timezone.now() + timedelta(days=31))
    entries = [e for result in run.results.all() for e in result.journal.all()]

    assert removed.requests == len(entries)
    assert [(e.request, e.sealed_request, bool(e.request_digest)) for e in entries] == [(None, None, True)] * len(
        entries
    )


def test_words_are_found_without_case_and_by_their_beginning():
    trail.record(
        AuditAction.COMMENT_ADDED, by=None, about=trail.AuditSubject(ref=WEB), detail={"note": "Über\nallem RUHE"}
    )
    found = [
        history.find_entries({"text": text}).count() for text in ("über", "ALLEM", "ruhe", "deploy shop", "uhe", "%")
    ]

    assert found == [1, 1, 1, 1, 0, 0]


@pytest.mark.parametrize("few", [3, 100])
def test_search_goes_on_page_by_page_with_other_filters(monkeypatch, few):
    monkeypatch.setattr(history, "_NEAR", 2)
    monkeypatch.setattr(history, "_FEW", few)
    for number in range(12):
        about = trail.AuditSubject(cluster="box" if number % 2 else "other", ref=WEB)
        trail.record(AuditAction.OBJECT_RESULT, by=None, about=about, detail={"note": f"needle {number}"})

    first = history.find_page({"text": "needle", "cluster": "box"}, before=None, count=4)
    rest = history.find_page({"text": "needle", "cluster": "box"}, before=first[-1].pk, count=4)

    assert [e.detail["note"] for e in first + rest] == [f"needle {n}" for n in (11, 9, 7, 5, 3, 1)]


def test_sqlite_full_text_is_what_the_entries_say(two_runs):
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL generates the column itself")
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO audit_words(audit_words, rank) VALUES ('integrity-check', 1)")


@pytest.mark.parametrize("change", ["''", "replace(words, 'umbrella', 'raincoat')", "words || ' umbrella2'"])
def test_search_text_that_is_not_of_the_entry_is_found(change):
    entry, _later = old_entries(0)
    assert chain.verify_chain().is_intact

    tamper(f"UPDATE records_auditentry SET words = {change} WHERE id = {entry.pk}")

    bad = chain.verify_chain().bad
    assert (bad.number, bad.reason) == (entry.pk, "its search text is not made of its content")
