"""Filters that forgive, changed fields that are found, and the chart of activity."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry
from applyviz.web.history.pages.daily_activity import choose_days
from applyviz.workflow.audit import trail
from applyviz.workflow.evidence import history, report
from applyviz.workflow.evidence.name_filters import find_names, widen_names
from tests.web import reading

LIST = reverse("history:list-entries")
VERIFIER = Path(__file__).parents[3] / "scripts" / "verify_export.py"


def ref(kind: str, name: str, namespace: str = "shop-eu-1", group: str = "apps") -> ObjectRef:
    return ObjectRef(GroupVersionKind(group, "v1", kind), namespace, name)


def write(about: ObjectRef, *changes: tuple[str, str, str], cluster: str = "prod-eu-1", run: int | None = None) -> int:
    told = [{"path": path, "before": before, "after": after} for path, before, after in changes]
    subject = trail.AuditSubject(cluster=cluster, ref=about, field_manager="applyviz", run=run)
    detail = {"outcome": "verified", "changes": told}
    return trail.record(AuditAction.OBJECT_RESULT, by=None, about=subject, detail=detail).pk


@pytest.fixture
def written(alice) -> dict[str, int]:
    """Three writes and an act of a person."""
    image = ('.spec.template.spec.containers[name="web"].image', "web:1.4", "web:1.5")
    return {
        "deployment": write(ref("Deployment", "checkout"), (".spec.replicas", "2", "3"), image),
        "autoscaler": write(ref("HorizontalPodAutoscaler", "cart"), (".spec.maxReplicas", "5", "9"), cluster="staging"),
        "settings": write(ref("ConfigMap", "settings", "billing", ""), (".data.LOG_LEVEL", "info", "debug")),
        "review": trail.record(
            AuditAction.REVIEW_CREATED, by=alice, about=trail.AuditSubject(cluster="staging"), detail={"title": "One"}
        ).pk,
    }


def shown(browser: Client, written: dict[str, int], **query: str) -> set[str]:
    """The entries that a filter lists, by the names of the fixture."""
    page = reading.read(browser, f"{LIST}?{'&'.join(f'{k}={v}' for k, v in query.items())}")
    links = {reading.attribute(a, "href") for a in reading.find_all(page, "a")}
    return {name for name, number in written.items() if reverse("history:show-entry", args=[number]) in links}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"kind": "deployment"}, {"deployment"}),
        ({"kind": "dep"}, {"deployment"}),
        ({"kind": "deployments"}, {"deployment"}),
        ({"kind": "autoscaler"}, {"autoscaler"}),
        ({"kind": "hpa"}, {"autoscaler"}),
        ({"kind": "configmap"}, {"settings"}),
        ({"cluster": "PROD"}, {"deployment", "settings"}),
        ({"cluster": "eu"}, {"deployment", "settings"}),
        ({"namespace": "shop"}, {"deployment", "autoscaler"}),
        ({"namespace": "eu", "kind": "dep"}, {"deployment"}),
        ({"person": "Ali"}, {"review"}),
        ({"name": "check"}, {"deployment"}),
        ({"name": "CHECKOUT"}, {"deployment"}),
        ({"manager": "apply"}, {"deployment", "autoscaler", "settings"}),
        ({"kind": "nothing"}, set()),
    ],
)
def test_names_are_found_as_people_write_them(as_viewer, written, query, found):
    assert shown(as_viewer, written, **query) == found


def test_very_name_wins_over_its_beginnings(as_viewer, written):
    longer = write(ref("Deployment", "checkout-canary"), (".spec.replicas", "1", "2"))

    assert shown(as_viewer, written | {"longer": longer}, name="checkout") == {"deployment"}
    assert find_names(["Secret", "SecretStore"], "Secret") == ("Secret",)
    assert find_names(["Secret", "SecretStore"], "secrets") == ("Secret",)
    assert find_names(["Secret", "SecretStore"], "store") == ("SecretStore",)
    assert find_names(["Secret"], "-") == ()
    assert widen_names({"kind": "x", "run": 3}) == {"kind": (), "run": 3}


@pytest.mark.parametrize(
    ("field", "found"),
    [
        (".spec.replicas", {"deployment"}),
        ("spec.replicas", {"deployment"}),
        ("SPEC REPL", {"deployment"}),
        ("containers[web].image", {"deployment"}),
        ("data.LOG_LEVEL", {"settings"}),
        ("replicas.spec", set()),
        ("status", set()),
        ("100%", set()),
    ],
)
def test_entries_are_found_by_the_path_of_a_changed_field(as_viewer, written, field, found):
    assert shown(as_viewer, written, field=field) == found


def test_values_that_changed_are_found_by_text_and_the_wanted_field_is_named(as_viewer, written):
    assert shown(as_viewer, written, text="debug") == {"settings"}

    page = reading.lines_of(reading.read(as_viewer, f"{LIST}?field=containers.image"))

    assert 'spec.template.spec.containers[name="web"].image: web:1.4 → web:1.5, +1 field' in page


@pytest.mark.parametrize("query", ["text=needle", "field=data.password"])
def test_content_of_a_secret_answers_no_filter_and_no_chart(as_viewer, db, query):
    secret = write(ref("Secret", "login", "shop", ""), (".data.password", "needle", "other"), cluster="prod-eu-1")

    page = reading.read(as_viewer, f"{LIST}?{query}")

    assert shown(as_viewer, {"secret": secret}, **dict([query.split("=")])) == set()
    assert next(reading.text_of(b) for b in reading.find_all(page, "b")) == "0 entries in 30 days"


def test_live_changes_of_hidden_secrets_are_not_counted(as_viewer, db):
    about = trail.AuditSubject(cluster="prod-eu-1", ref=ref("Secret", "login", "shop", ""))
    trail.record(AuditAction.LIVE_CHANGED, by=None, about=about, detail={"fields": ["x"]})

    page = reading.read(as_viewer, LIST)

    assert next(reading.text_of(b) for b in reading.find_all(page, "b")) == "0 entries in 30 days"


def bars(browser: Client, query: str = "") -> list[tuple[str, str]]:
    page = reading.read(browser, LIST + query)
    (chart,) = (e for e in reading.find_all(page, "nav") if reading.attribute(e, "aria-label") == "Entries per day")
    found = reading.find_all(chart, "a", has="aria-label")
    return [(reading.attribute(a, "aria-label") or "", reading.attribute(a, "href") or "") for a in found]


def test_chart_counts_each_day_and_leads_to_it(as_viewer, written, monkeypatch):
    later = timezone.now() + timedelta(days=3)
    monkeypatch.setattr("applyviz.clock.host_today", later.date)

    ((label, url),) = bars(as_viewer, "?cluster=prod")
    days = {row["at__date"] for row in AuditEntry.objects.values("at__date")}

    assert label.endswith(": 2 entries")
    day = next(iter(days)).isoformat()
    assert url == f"{LIST}?cluster=prod&since={day}&until={day}"
    assert shown(as_viewer, written, cluster="prod", since=day, until=day) == {"deployment", "settings"}
    assert [text.split(": ")[1] for text, _url in bars(as_viewer, "?text=debug")] == ["1 entry"]
    assert bars(as_viewer, "?kind=nothing") == []


def test_chart_goes_on_counting_when_a_word_is_common(as_viewer, written, monkeypatch):
    monkeypatch.setattr("applyviz.workflow.evidence.daily_counts._FEW", 1)

    assert [text.split(": ")[1] for text, _url in bars(as_viewer, "?text=verified")] == ["3 entries"]


def test_older_pages_have_no_chart(as_viewer, written):
    assert "Entries per day" not in as_viewer.get(LIST, {"before": written["review"]}).content.decode()


def test_days_of_the_chart_contain_the_chosen_period():
    today = timezone.now().date()
    back = today - timedelta(days=100)

    assert choose_days(None, None, today) == (today - timedelta(days=29), today)
    assert choose_days(today, today, today) == (today - timedelta(days=29), today)
    assert choose_days(back, back, today) == (back - timedelta(days=15), back + timedelta(days=14))
    assert choose_days(back, today, today) == (today - timedelta(days=89), today)


def test_export_holds_the_changed_fields_and_still_verifies(as_auditor, written, tmp_path):
    def read(form: str, query: str = "") -> str:
        answer = as_auditor.get(reverse("history:export-entries", args=[form]) + query)
        return b"".join(answer.streaming_content).decode()

    rows = list(csv.DictReader(io.StringIO(read("csv", "?kind=dep"), newline="")))
    export = tmp_path / "export.jsonl"
    export.write_text(read("jsonl"), encoding="utf-8")
    told = [json.loads(line)["detail"].get("changes") for line in export.read_text().splitlines()]
    verified = subprocess.run([sys.executable, str(VERIFIER), str(export)], capture_output=True, text=True, check=False)

    assert [row["changed_fields"].split(";")[0] for row in rows] == [".spec.replicas: 2 → 3"]
    assert {"path": ".data.LOG_LEVEL", "before": "info", "after": "debug"} in [
        one for each in told for one in each or ()
    ]
    assert verified.returncode == 0, verified.stdout + verified.stderr


@pytest.mark.long
def test_evidence_says_who_changed_what_from_what_to_what(as_auditor, run, bob):
    write(ref("Deployment", "checkout", "shop"), (".spec.replicas", "2", "3"), cluster="shop", run=run.number)
    today = timezone.localdate()
    period = report.Period(today, today)

    page = reading.lines_of(reading.read(as_auditor, reverse("history:show-evidence")))
    lines = [json.loads(line) for line in report.export_for(bob, period, history.ExportFormat.JSONL)]
    rows = csv.DictReader(io.StringIO("".join(report.export_for(bob, period, history.ExportFormat.CSV)), newline=""))
    told = next(line for line in lines if line.get("section") == "changed-objects")

    assert "Changed objects, with their fields from → to" in page
    assert ".spec.replicas: 2 → 3" in page
    assert (told["who"], told["what"]) == (run.requested_by.get_username(), "verified")
    assert told["changes"] == [{"path": ".spec.replicas", "before": "2", "after": "3"}]
    assert [row["summary"] for row in rows if row["section"] == "changed-objects"] == [".spec.replicas: 2 → 3"]


def test_evidence_hides_what_a_run_did_to_a_hidden_secret(as_auditor, bob, run):
    write(ref("Secret", "login", "shop", ""), (".data.password", "one", "two"), run=run.number)
    today = timezone.localdate()

    lines = report.export_for(bob, report.Period(today, today), history.ExportFormat.JSONL)
    facts = [json.loads(line) for line in lines]
    (told,) = (fact for fact in facts if fact.get("section") == "changed-objects")

    assert (told["changes"], told["what"], "verified" in str(told)) == ([], "not-shown", False)


def test_set_filters_are_counted_for_the_phone_also_when_they_change(as_viewer, written):
    assert '<span id="filter-count"></span>' in as_viewer.get(LIST).content.decode().replace("\n", "")

    page = as_viewer.get(f"{LIST}?kind=Deployment&name=web").content.decode()
    part = as_viewer.get(f"{LIST}?kind=Deployment", headers={"HX-Request": "true"}).content.decode()

    assert "(2)" in page
    assert "hx-partial" not in page
    assert 'hx-target="#filter-count" hx-swap="innerHTML">(1)' in part
