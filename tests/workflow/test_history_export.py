"""Exports of the history and their offline check: whatever is touched is found, and named."""

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.requests.options import ApplyMode
from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import AuditEntry
from applyviz.workflow.audit import chain, trail
from applyviz.workflow.evidence import history
from applyviz.workflow.evidence.history import ExportFormat
from applyviz.workflow.foundation.errors import NotAllowedError, NotVisibleError
from tests.builders import make_person
from tests.pace import measure
from tests.stories import Team, config_map, secret
from tests.workflow.test_audit import tamper

pytestmark = pytest.mark.django_db
VERIFIER = Path(__file__).resolve().parents[2] / "scripts" / "verify_export.py"


@pytest.fixture
def written():
    """Six entries as an export holds them."""
    for number in range(6):
        ref = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "shop", f"web-{number % 2}")
        about = trail.AuditSubject(cluster="box", ref=ref)
        trail.record(AuditAction.OBJECT_RESULT, by=None, about=about, detail={"n": number, "words": ["ü", None, 0.5]})
    return "".join(history.export_entries({}, ExportFormat.JSONL)).splitlines()


@pytest.fixture
def check(tmp_path):
    """Run the verifier as people do: alone, without this project on its path."""

    def run(lines, *options):
        path = tmp_path / "export.jsonl"
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        command = [sys.executable, "-I", "-S", str(VERIFIER), str(path), *options]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
        return done.returncode, (done.stdout + done.stderr).splitlines()[0]

    return run


def change(line, **values):
    return json.dumps(json.loads(line) | values, ensure_ascii=False)


def forge(line, **values):
    """The line with other content and a hash that fits it."""
    row = json.loads(line) | values
    row["at"] = AuditEntry.objects.get(pk=row["id"]).at
    return change(line, **values, hash=trail.hash_entry(row))


def test_untouched_export_is_intact(written, check):
    head = chain.find_checkpoint()

    assert check(written, "--head", str(head)) == (
        0,
        f"6 entries are intact, 0 run chains among them; last {head}",
    )


@pytest.mark.core(5)
@pytest.mark.parametrize(
    ("touch", "line", "reason"),
    [
        (lambda x: [*x[:2], change(x[2], actor_name="mallory"), *x[3:]], 3, "content of entry 3"),
        (lambda x: [*x[:2], change(x[2], at="2026-01-01T00:00:00.000000+00:00"), *x[3:]], 3, "content of entry 3"),
        (lambda x: [change(x[0], detail={"n": False}), *x[1:]], 1, "body of entry 1"),
        (lambda x: [*x[:3], forge(x[3], actor_name="mallory"), *x[4:]], 5, "entry 5 does not follow"),
        (lambda x: [*x[:3], *x[4:]], 4, "entry 4 is missing"),
        (lambda x: x[1:], 1, "entry 1 is missing"),
        (lambda x: [x[0], x[2], x[1], *x[3:]], 2, "entry 2 is missing"),
        (lambda x: [*x, x[5]], 7, "entry 6 comes after number 6"),
        (lambda x: [*x[:5], x[5][:-9]], 6, "cannot be read"),
        (lambda x: x[:4], 5, "entries 5 to 6, the published checkpoint, are missing"),
        (lambda x: [], 1, "entries 1 to 6, the published checkpoint, are missing"),
        (lambda x: [*x[:5], forge(x[5], actor_name="mallory")], 6, "not the published checkpoint"),
        (lambda x: [*x[:1], x[1][:-1] + ',"actor_name":"mallory"}', *x[2:]], 2, "duplicate key"),
        (lambda x: [*x[:1], x[1][:-1] + ',"note":"x"}', *x[2:]], 2, "too many: note"),
        (lambda x: [*x[:1], '{"detail":NaN}', *x[2:]], 2, "NaN"),
        (lambda x: [*x[:1], "[" * 200_000, *x[2:]], 2, "nested"),
        (lambda x: [*x[:1], "", *x[1:]], 2, "cannot be read"),
    ],
)
def test_first_bad_line_is_named(written, check, touch, line, reason):
    code, said = check(touch(written), "--head", str(chain.find_checkpoint()))

    assert (code, said.startswith(f"line {line} is bad: "), reason in said) == (1, True, True), said


def test_export_of_a_filter_is_checked_as_a_selection(written, check):
    lines = "".join(history.export_entries({"name": "web-1"}, ExportFormat.JSONL)).splitlines()

    assert [json.loads(line)["sequence"] for line in lines] == [2, 4, 6]
    assert check(lines)[0] == 1
    assert check(lines, "--selection")[0] == 0
    assert check([lines[1], lines[0]], "--selection") == (1, "line 2 is bad: entry 2 comes after number 4")


def test_export_goes_on_behind_a_known_entry(written, check):
    before = json.loads(written[1])

    assert check(written[2:], "--after", f"2:{before['hash']}")[0] == 0
    assert check(written[2:], "--after", f"2:{'0' * 64}") == (
        1,
        "line 1 is bad: entry 3 does not follow the entry before it",
    )


def test_verifier_says_what_it_cannot_read(tmp_path):
    command = [sys.executable, "-I", str(VERIFIER), str(tmp_path / "none.jsonl")]

    assert subprocess.run(command, capture_output=True, check=False).returncode == 2


def test_verifier_knows_the_fields_that_are_hashed(written):
    text = VERIFIER.read_text()

    assert [name for name in trail.STORED if f'"{name}"' not in text] == []


@pytest.mark.core(2)
@pytest.mark.parametrize(
    ("sql", "bad"),
    [
        ("UPDATE records_auditentry SET actor_name = 'mallory' WHERE sequence = 4", 4),
        ("DELETE FROM records_auditentry WHERE sequence = 3", 3),
        ("DELETE FROM records_auditentry WHERE sequence > 4", 5),
        ("UPDATE records_auditentry SET sequence = 7 - sequence + 100 WHERE sequence IN (2, 5)", 2),
        ("UPDATE records_chainend SET sequence = 5", 6),
        ("UPDATE records_chainend SET hash = 'f'", 6),
    ],
)
def test_command_names_the_first_bad_entry(written, sql, bad):
    tamper(sql)

    with pytest.raises(CommandError, match=f"entry {bad} is bad") as raised:
        call_command("audit", "verify")
    assert raised.value.returncode == 1


def test_published_head_finds_a_history_that_was_written_anew(written):
    published = str(chain.find_checkpoint())
    tamper("DELETE FROM records_auditentry")
    tamper(f"UPDATE records_chainend SET sequence = 0, hash = '{'0' * 64}'")
    for _n in range(6):
        trail.record(AuditAction.SIGNED_IN, by=None, about=trail.AuditSubject())

    assert chain.verify_chain().is_intact
    with pytest.raises(CommandError, match="entry 6 is bad: it is not the published checkpoint"):
        call_command("audit", "verify", "--head", published)


def test_slices_find_what_the_whole_finds(written):
    first = chain.verify_chain(limit=4)
    second = chain.verify_chain(after=first.last, limit=4)

    assert (first.entries, first.is_finished, second.entries, second.is_finished) == (4, False, 2, True)
    tamper("UPDATE records_auditentry SET cluster = 'x' WHERE sequence = 6")
    assert chain.verify_chain(after=first.last, limit=4).bad.sequence == 6


def test_head_is_printed_for_publishing(written, capsys):
    call_command("audit", "head")

    number, _, at = capsys.readouterr().out.strip().partition(" ")
    assert (number, at[:2]) == (str(chain.find_checkpoint()), "20")


def test_command_exports_a_period_to_a_file(written, tmp_path):
    path = tmp_path / "export.jsonl"
    call_command("audit", "export", "--cluster", "box", "--from", "2020-01-01", "--output", str(path))

    assert path.read_text(encoding="utf-8").splitlines() == written
    with pytest.raises(CommandError, match="exists"):
        call_command("audit", "export", "--output", str(path))
    call_command("audit", "export", "--to", "2020-01-01", "--output", str(tmp_path / "none.jsonl"))
    assert (tmp_path / "none.jsonl").read_text() == ""


def test_spreadsheets_calculate_nothing(db):
    for name in ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\uff1d1"):
        ref = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), "shop", name)
        trail.record(AuditAction.OBJECT_RESULT, by=None, about=trail.AuditSubject(ref=ref), detail={"note": "=1,\n2"})

    rows = list(csv.DictReader(io.StringIO("".join(history.export_entries({}, ExportFormat.CSV)), newline="")))

    assert [row["name"] for row in rows] == ["'=1+1", "'+1", "'-1", "'@SUM(A1)", "'\t'=1", "'\uff1d1"]
    assert [json.loads(row["detail"]) for row in rows] == [{"note": "=1,\n2"}] * 6
    assert [row["hash"] for row in rows] == list(AuditEntry.objects.order_by("id").values_list("hash", flat=True))


def test_exports_hold_no_value_of_a_secret(monkeypatch):
    team = Team().wire_up(monkeypatch)
    team.work(team.start(team.plan(config_map(a="1"), secret(password="canary-7f3a91"))))

    for form in ExportFormat:
        text = "".join(history.export_entries({}, form))
        assert [word for word in ("canary-7f3a91", "Y2FuYXJ5") if word in text] == []
        assert "object.result" in text


@pytest.mark.core(1)
@pytest.mark.parametrize("manager", ["applyviz", "ci"])
def test_history_names_the_field_manager(monkeypatch, manager):
    team = Team().wire_up(monkeypatch)
    team.work(team.start(team.plan(config_map(a="1"), field_manager=manager)))

    assert [e.action for e in history.find_entries({"manager": manager})] == ["object.result", "object.intent"]


def test_only_who_may_audit_takes_the_history_away():
    for role in (Role.AUDITOR, Role.APPROVER):
        lines = list(history.export_for(make_person(role.value, role), {}, ExportFormat.JSONL))
        told = json.loads(lines[-1])
        assert (told["action"], told["actor_name"], told["detail"]["form"]) == ("history.exported", role.value, "jsonl")
    for role in (Role.VIEWER, Role.AUTHOR):
        with pytest.raises(NotAllowedError):
            history.export_for(make_person(role.value, role), {}, ExportFormat.JSONL)
    with pytest.raises(NotVisibleError):
        history.export_for(make_person("charlie"), {}, ExportFormat.JSONL)


def test_spreadsheets_with_another_separator_calculate_nothing(db):
    for name in ("a;=1+1", "a;  @SUM(A1)", "a\t-1", "a|+1", ";=1", "a;b"):
        ref = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), "shop", name)
        trail.record(AuditAction.OBJECT_RESULT, by=None, about=trail.AuditSubject(ref=ref))
    text = "".join(history.export_entries({}, ExportFormat.CSV))

    rows = list(csv.DictReader(io.StringIO(text, newline="")))

    tamed = ["a;'=1+1", "a;  '@SUM(A1)", "a\t'-1", "a|'+1", ";'=1", "a;b"]
    assert [row["name"] for row in rows] == tamed
    assert all(line.startswith('"') and line.endswith('"') for line in text.splitlines())
    cells = [cell.strip(' "') for line in text.splitlines() for cell in re.split("[;,\t|]", line)]
    assert [cell for cell in cells if cell.startswith(("=", "+", "@"))] == []


def test_taming_is_linear_in_hostile_text():
    _, seconds = measure(history.tame, " ;" * 500_000 + "=")

    assert seconds < 2


def test_export_with_verified_owners_is_intact_offline(monkeypatch, check):
    team = Team().wire_up(monkeypatch)
    run = team.apply(config_map(a="1"), mode=ApplyMode.SERVER)

    lines = "".join(history.export_entries({}, ExportFormat.JSONL)).splitlines()

    details = {one["action"]: one["detail"] for one in map(json.loads, lines) if one["run"] == run.number}
    assert details["object.result"]["owners"]["state"] == "verified"
    assert details["run.finished"]["owners"] == {"verified": 1}
    assert check(lines)[0] == 0
    forged = [line.replace('"owners":{"verified":1}', '"owners":{"verified":2}') for line in lines]
    assert forged != lines
    assert check(forged)[0] == 1
