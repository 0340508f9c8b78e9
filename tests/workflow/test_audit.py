"""The history: a chain that names the first entry that was touched."""

import pytest
from django.db import connection

from applyviz import request_ids
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.records import triggers
from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry, ChainEnd
from applyviz.workflow.audit import chain, trail
from tests.builders import make_person

pytestmark = pytest.mark.django_db


def write(count=5, *, run=None):
    ref = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "shop", "web")
    return [
        trail.record(
            AuditAction.OBJECT_RESULT,
            by=None,
            about=trail.AuditSubject(cluster="box", run=run, ref=ref),
            detail={"n": n, "ratio": 0.5, "words": ["ü", None, True]},
        )
        for n in range(count)
    ]


def tamper(sql):
    triggers.lift("default")
    with connection.cursor() as cursor:
        cursor.execute(sql)
    triggers.install("default")


def test_untouched_chain_is_intact():
    write()

    report = chain.verify_chain()

    assert (report.is_intact, report.entries) == (True, 5)


def test_empty_chain_is_intact():
    assert chain.verify_chain().is_intact


@pytest.mark.parametrize(
    ("sql", "bad", "reason"),
    [
        ("UPDATE records_auditentry SET actor_name = 'mallory' WHERE sequence = 3", 3, "content"),
        ("UPDATE records_auditentry SET detail = '{}' WHERE sequence = 2", 2, "body"),
        ("DELETE FROM records_auditentry WHERE sequence = 4", 4, "missing"),
        ("DELETE FROM records_auditentry WHERE sequence = 5", 5, "end"),
        ("DELETE FROM records_auditentry", 1, "end"),
        ("UPDATE records_auditentry SET sequence = sequence + 10 WHERE sequence = 5", 5, "missing"),
    ],
)
def test_first_bad_entry_is_named(sql, bad, reason):
    write()
    tamper(sql)

    report = chain.verify_chain()

    assert (report.bad.chain, report.bad.sequence) == (0, bad)
    assert reason in report.bad.reason


def test_rewritten_entry_breaks_the_next_one():
    write()
    second = AuditEntry.objects.get(sequence=2)
    words = second.words.replace(second.actor_name, "mallory")
    second.actor_name = "mallory"
    forged = trail.hash_entry({name: getattr(second, name) for name in trail.STORED})
    changed = f"actor_name = 'mallory', words = '{words}', hash = '{forged}'"
    tamper(f"UPDATE records_auditentry SET {changed} WHERE sequence = 2")

    assert chain.verify_chain().bad.sequence == 3


def test_entry_copies_the_name_and_the_request():
    alice = make_person("alice")
    token = request_ids.current.set("request-1234")
    try:
        entry = trail.record(AuditAction.COMMENT_ADDED, by=alice, about=trail.AuditSubject(review=7))
    finally:
        request_ids.current.reset(token)

    assert (entry.actor_name, entry.request_id, entry.review) == ("alice", "request-1234", 7)
    assert ChainEnd.objects.get().sequence == 1
