"""Signed heads: published now and then, checked here and offline, and nobody writes the history anew beside them."""

import json
import subprocess
import sys
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from applyviz.records.enums import AuditAction, NotificationKind
from applyviz.records.models import AuditEntry, Delivery, NotificationEvent, Webhook
from applyviz.records.sealing import Unsealed
from applyviz.workflow import notifications
from applyviz.workflow.audit import chain, checkpoints, trail
from applyviz.workflow.evidence import history
from applyviz.workflow.evidence.history import ExportFormat
from applyviz.workflow.foundation.errors import NotValidError
from applyviz.workflow.ops import recovery
from tests.builders import make_person
from tests.workflow.test_audit import tamper
from tests.workflow.test_history_export import VERIFIER

pytestmark = pytest.mark.django_db


@pytest.fixture
def head_file(tmp_path, settings, django_capture_on_commit_callbacks):
    """Where heads are added; what runs after a commit runs at once."""
    settings.APPLYVIZ_CHECKPOINT_FILE = str(tmp_path / "heads.jsonl")
    return tmp_path / "heads.jsonl"


def write(count=3):
    for _n in range(count):
        trail.record(AuditAction.SIGNED_IN, by=None, about=trail.AuditSubject())


def publish(run_after_commit):
    with run_after_commit(execute=True):
        return checkpoints.publish(by=None)


def check_offline(tmp_path, *options):
    path = tmp_path / "export.jsonl"
    path.write_text("".join(history.export_entries({}, ExportFormat.JSONL)), encoding="utf-8")
    command = [sys.executable, "-I", "-S", str(VERIFIER), str(path), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, (done.stdout + done.stderr).splitlines()[0]


def test_published_head_is_signed_and_told(head_file, django_capture_on_commit_callbacks):
    write()
    signed = publish(django_capture_on_commit_callbacks)
    told = AuditEntry.objects.get(action=AuditAction.HISTORY_PUBLISHED)

    assert (signed.head.sequence, signed.is_ours, checkpoints.find_published()) == (4, True, signed)
    assert head_file.read_text() == f"{signed}\n"
    assert (told.detail, told.sequence) == (json.loads(str(signed)), 5)
    assert checkpoints.read_published([str(signed), "\n"]) == [signed]


@pytest.mark.parametrize("name", ["head", "at", "signature", "key"])
def test_changed_line_is_not_ours(name):
    write()
    told = json.loads(str(checkpoints.publish(by=None)))
    other = {
        "head": f"3:{'0' * 64}",
        "at": "2026-01-01T00:00:00+00:00",
        "signature": "00" * 64,
        "key": "00" * 32,
    }

    with pytest.raises(NotValidError, match="not signed"):
        checkpoints.read_published([json.dumps(told | {name: other[name]})])


@pytest.mark.parametrize("line", ["nonsense", "{}", "[]", '{"head": 1, "at": 2, "key": 3, "signature": 4}'])
def test_what_is_no_published_head_is_said(line):
    with pytest.raises(NotValidError):
        checkpoints.read_published([line])


def test_key_belongs_to_the_key_of_digests(settings):
    before = checkpoints.public_key()
    settings.APPLYVIZ_DIGEST_KEY = "another key of thirty-two characters"

    assert (checkpoints.public_key() != before, len(before)) == (True, 64)


def test_sweep_publishes_once_an_hour_and_only_news(head_file, django_capture_on_commit_callbacks):
    write()
    now = timezone.now()

    with django_capture_on_commit_callbacks(execute=True):
        given = [checkpoints.publish_due(now=now + timedelta(minutes=m)) is not None for m in (0, 30, 61, 200)]
        write(1)
        later = [checkpoints.publish_due(now=now + timedelta(minutes=m)) is not None for m in (201, 202)]

    assert (given, later, len(head_file.read_text().splitlines())) == ([True, False, False, False], [True, False], 2)


def test_loose_chain_of_a_run_is_news(head_file, django_capture_on_commit_callbacks):
    write()
    now = timezone.now()
    checkpoints.publish_due(now=now)
    trail.record(AuditAction.OBJECT_RESULT, by=None, about=trail.AuditSubject(run=1))

    assert checkpoints.publish_due(now=now + timedelta(minutes=61)) is not None


def test_nothing_is_published_where_nobody_would_notice(settings):
    write()
    recovery.recover()
    settings.APPLYVIZ_CHECKPOINT_FILE, settings.APPLYVIZ_CHECKPOINT_MINUTES = "heads", 0
    recovery.recover()

    assert not AuditEntry.objects.filter(action=AuditAction.HISTORY_PUBLISHED).exists()


def test_webhooks_are_told_of_the_head():
    hook = Webhook.objects.create(
        name="witness",
        url="https://witness.example/",
        secret=Unsealed.of_bytes(b"a secret of a webhook"),
        events=[NotificationKind.CHECKPOINT_PUBLISHED.value],
        created_at=timezone.now(),
        created_by=make_person("boss"),
    )
    write()
    signed = checkpoints.publish_due(now=timezone.now())
    notifications.send_pending()

    notification_event = NotificationEvent.objects.get(event=NotificationKind.CHECKPOINT_PUBLISHED)
    assert Delivery.objects.get().webhook == hook
    assert {name: notification_event.facts[name] for name in ("head", "signature")} == {
        "head": str(signed.head),
        "signature": signed.signature,
    }


def test_file_that_cannot_be_written_does_not_stop_the_sweep(
    settings, tmp_path, caplog, django_capture_on_commit_callbacks
):
    settings.APPLYVIZ_CHECKPOINT_FILE = str(tmp_path / "none" / "heads")
    write()
    publish(django_capture_on_commit_callbacks)

    assert ["could not be written" in record.getMessage() for record in caplog.records] == [True]


def test_history_written_anew_contradicts_the_file(head_file, django_capture_on_commit_callbacks, capsys):
    write()
    publish(django_capture_on_commit_callbacks)
    call_command("audit", "verify", "--heads", str(head_file))
    assert "1 published checkpoints are in it" in capsys.readouterr().out
    tamper("DELETE FROM records_auditentry")
    tamper(f"UPDATE records_chainend SET sequence = 0, hash = '{'0' * 64}'")
    write(5)

    assert chain.verify_chain().is_intact
    with pytest.raises(CommandError, match="entry 4 is bad: it is not the published checkpoint"):
        call_command("audit", "verify", "--heads", str(head_file))


def test_offline_verifier_checks_signatures_and_heads(head_file, tmp_path, django_capture_on_commit_callbacks):
    for _n in range(3):
        write()
        publish(django_capture_on_commit_callbacks)
    lines = head_file.read_text().splitlines()
    given = ("--heads", str(head_file), "--key", checkpoints.public_key())

    assert check_offline(tmp_path, *given)[0] == 0
    assert check_offline(tmp_path, "--heads", str(head_file), "--key", "11" * 32)[0] == 2
    forged = json.loads(lines[1]) | {"head": json.loads(lines[0])["head"]}
    head_file.write_text("\n".join([lines[0], json.dumps(forged)]))
    assert check_offline(tmp_path, *given)[1].endswith(f"line 2 is not signed with the key: head {forged['head']}")


def test_offline_verifier_finds_a_history_written_anew(head_file, tmp_path, django_capture_on_commit_callbacks):
    write()
    publish(django_capture_on_commit_callbacks)
    tamper("DELETE FROM records_auditentry")
    tamper(f"UPDATE records_chainend SET sequence = 0, hash = '{'0' * 64}'")
    given = ("--heads", str(head_file), "--key", checkpoints.public_key())

    write(2)
    assert check_offline(tmp_path, *given) == (
        1,
        "line 3 is bad: entries 3 to 4, the published checkpoint, are missing",
    )
    write(2)
    assert check_offline(tmp_path, *given) == (1, "line 4 is bad: entry 4 is not the published checkpoint")


def test_commands_print_the_line_and_the_key(capsys):
    write()
    call_command("audit", "publish")
    call_command("audit", "key")

    line, key = capsys.readouterr().out.splitlines()
    assert (json.loads(line)["key"], checkpoints.read_published([line])[0].head.sequence) == (key, 4)
