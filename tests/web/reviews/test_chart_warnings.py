"""Warnings of helm: on the Overview and in the change record, in the API and of the gate, without credentials."""

from __future__ import annotations

import html
import io
import re

import pytest
from django.urls import reverse

from applyviz.records.models import Plan
from applyviz.sources.rendering.job import Rendered
from applyviz.workflow.plans import charts, planner
from scripts import gate
from tests.stories import Team
from tests.web.api.test_api import Program, body
from tests.web.api.test_charts import ARCHIVE
from tests.web.reviews.test_chart_review import OUTPUT

pytestmark = pytest.mark.django_db
SAID = 'level=INFO msg="skipping unknown hooks" hookTypes=no-such\nlevel=WARN msg="db is hunter-two"\n'


def test_warnings_of_helm_are_shown_where_the_chart_is(monkeypatch, client):
    monkeypatch.setattr(charts, "make_runner", lambda socket: lambda job, limits: Rendered(0, OUTPUT, SAID))
    team = Team().wire_up(monkeypatch)
    program = Program(team.alice)
    sent = {**body(), "files": [ARCHIVE], "chart": ARCHIVE["name"], "chart_values": "adminPassword: hunter-two"}

    made = program.post("reviews/", sent)
    assert made.status_code == 201, made.content
    planner.make_plan(Plan.objects.get().pk)

    warnings = ["skipping unknown hooks hookTypes=no-such", "db is ••••••"]
    answer = program.get("reviews/1/?count=200").json()
    assert answer["source"]["chart"]["warnings"] == warnings
    printed = io.StringIO()
    gate.print_plan(answer, answer["objects"], printed)
    assert f"Helm: {warnings[0]}\n" in printed.getvalue()
    client.force_login(team.alice)
    record = client.get(reverse("reviews:show-record", args=[1, 1])).content.decode()
    shown = html.unescape(re.sub(r"<wbr>", "", record))
    assert all(f"<li>{text}</li>" in shown for text in warnings)
    assert "hunter-two" not in shown
    overview = client.get(reverse("reviews:show-overview", args=[1, 1])).content.decode()
    assert "2 warnings of Helm" in overview


def test_null_character_of_a_chart_is_drawn_before_it_is_stored(monkeypatch):
    def run(job, _limits):
        return Rendered(0, b'notes: "a\\u0000b"\n' if "--show-only" in job.arguments else OUTPUT, "")

    monkeypatch.setattr(charts, "make_runner", lambda socket: run)
    chart = {"Chart.yaml": 'name: shop\nversion: 1.0.0\nappVersion: "7\\0"\n', "templates/NOTES.txt": "hello"}
    files = [{"name": f"shop/{name}", "content": text} for name, text in chart.items()]

    made = Program(Team().alice).post("reviews/", {**body(), "files": files, "chart": "shop"})

    assert made.status_code == 201, made.content
    facts = Plan.objects.get().revision.provenance["chart"]
    assert (facts["notes"], facts["app_version"]) == ("a␀b", "7␀")
