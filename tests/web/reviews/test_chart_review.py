"""Charts in the form: rendered for the cluster, hooks left out, provenance and release notes without credentials."""

from __future__ import annotations

import html
import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry, Plan, Review
from applyviz.sources.rendering.job import Rendered
from applyviz.workflow.plans import charts
from applyviz.workflow.plans.chart_notes import mask_notes
from tests.charts import archive, folder
from tests.web import rows
from tests.web.reviews.test_add_review import CHECK, URL, fill

OUTPUT = b"""---
# Source: shop/crds/things.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: crd}
---
# Source: shop/templates/settings.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
---
# Source: shop/templates/secret.yaml
apiVersion: v1
kind: Secret
metadata: {name: admin}
stringData: {key: rendered-key}
---
# Source: shop/templates/migrate.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: migrate, annotations: {helm.sh/hook: pre-upgrade}}
"""
NOTES = "notes: " + json.dumps("Thank you.\nPassword hunter-two, key rendered-key, cmVuZGVyZWQta2V5\n<b>x</b>")


@pytest.fixture
def jobs(monkeypatch):
    """A program in place of helm; the jobs that it was given."""
    found = []

    def run(job, limits):
        found.append(job)
        return Rendered(0, NOTES.encode() if "--show-only" in job.arguments else OUTPUT, "")

    monkeypatch.setattr(charts, "make_runner", lambda socket: run)
    return found


def bring_archive(**values):
    upload = SimpleUploadedFile("shop-1.2.3.tgz", archive())
    return fill(manifests=[upload], chart="shop-1.2.3.tgz", **values)


def bring_folder(more=None, **values):
    files = {**folder(), **(more or {})}
    uploads = [SimpleUploadedFile(name.rpartition("/")[2], data) for name, data in files.items()]
    return fill(folder=uploads, paths=json.dumps(list(files)), **values)


def test_chart_is_rendered_for_the_cluster_and_its_hooks_are_left_out(as_alice, jobs):
    cluster = rows.make_cluster()
    cluster.version = "v1.36.3"
    cluster.save()

    as_alice.post(URL, bring_archive(chart_release="web", chart_values="adminPassword: hunter-two"))

    plan = Plan.objects.get()
    arguments = jobs[0].arguments
    assert arguments[:2] == ("template", "web")
    assert arguments[arguments.index("--kube-version") + 1] == "v1.36.3"
    assert "apps/v1/Deployment" in arguments
    names = [(file.name, file.provenance["template"]) for file in plan.revision.files.all()]
    assert names[0] == ("shop/crds/things.yaml", "shop/crds/things.yaml")
    assert len(names) == 4
    options = options_from_json(plan.options)
    assert options.left_out == ("core/ConfigMap//migrate",)
    assert options.left_out_reason == "Helm hooks: apply does not run them"
    facts = plan.revision.provenance["chart"]
    assert (facts["chart"], facts["chart_version"], facts["release"]) == ("shop", "1.2.3", "web")
    entry = AuditEntry.objects.filter(action=AuditAction.PLAN_REQUESTED).get()
    assert entry.detail["chart"]["chart"] == "shop"
    assert "notes" not in entry.detail["chart"]


@pytest.mark.parametrize("values", ["adminPassword: hunter-two", ""])
def test_release_notes_hold_no_credential(as_alice, jobs, values):
    """Without values, it is the one in the chart's own."""
    rows.make_cluster()

    as_alice.post(URL, bring_archive(chart_values=values))

    notes = Plan.objects.get().revision.provenance["chart"]["notes"]
    assert notes == "Thank you.\nPassword ••••••, key ••••••, ••••••\n<b>x</b>"


def test_sources_of_a_review_show_the_release_notes(as_alice, jobs):
    rows.make_cluster()

    as_alice.post(URL, bring_archive(chart_values="adminPassword: hunter-two"))

    page = as_alice.get(reverse("reviews:show-activity", args=[Review.objects.get().number, 1])).content.decode()

    assert ("Release notes" in page, "Thank you.\nPassword ••••••" in page, "hunter-two" in page) == (True, True, False)


def test_change_record_shows_the_chart(as_alice, jobs):
    rows.make_cluster()
    as_alice.post(URL, bring_archive())

    page = as_alice.get(reverse("reviews:show-record", args=[Review.objects.get().number, 1])).content.decode()

    text = html.unescape(page).replace("\u200b", "").replace("<wbr>", "")
    for said in ("Helm chart", "shop-1.2.3.tgz", "Release notes", "CRD of the chart, from shop/crds/things.yaml"):
        assert said in text
    assert "&lt;b&gt;x" in page


def test_hooks_are_applied_if_a_person_says_so(as_alice, jobs):
    rows.make_cluster()

    as_alice.post(URL, bring_archive(chart_hooks="on"))

    assert options_from_json(Plan.objects.get().options).left_out == ()


def test_folder_is_rendered_beside_other_manifests_and_with_values_files(as_alice, jobs):
    rows.make_cluster()
    more = {"extra.yaml": b"{apiVersion: v1, kind: ConfigMap, metadata: {name: extra}}", "prod.yaml": b"color: red"}

    as_alice.post(URL, bring_folder(more, chart="shop", chart_values_files="prod.yaml"))

    files = list(Plan.objects.get().revision.files.values_list("name", flat=True))
    assert files[0] == "extra.yaml"
    assert "prod.yaml" not in files
    assert dict(jobs[0].files)["values/1.yaml"] == b"color: red"


def test_next_plan_renders_the_chart_again_for_the_same_cluster(as_alice, jobs):
    rows.make_cluster()
    as_alice.post(URL, bring_archive())
    Plan.objects.update(state="failed")

    url = reverse("reviews:replace-manifests", args=[Review.objects.get().number])
    as_alice.post(url, bring_archive(chart_values="color: red"))

    assert options_from_json(Plan.objects.get(number=2).options).left_out == ("core/ConfigMap//migrate",)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"chart": "nope"}, "nope is no chart: there is no nope/Chart.yaml in the upload"),
        ({"chart": "nope.tgz"}, "the chart nope.tgz is not in the upload"),
        ({"chart": "", "chart_version": "1"}, "Name the chart to render."),
        ({"chart": "shop", "chart_repository": "https://charts.example/x"}, "enter the exact version of the chart"),
        ({"chart": "shop", "chart_release": "Bad_Name"}, "is not usable"),
        ({"chart": "shop", "chart_values_files": "gone.yaml"}, "the values file gone.yaml is not in the upload"),
    ],
)
def test_refusals_say_what_to_do(as_alice, jobs, values, said):
    rows.make_cluster()

    answer = as_alice.post(URL, bring_folder(**values))

    assert answer.status_code == 422
    assert said in html.unescape(answer.content.decode()).replace("<wbr>", "")
    assert Review.objects.count() == 0


def test_chart_that_is_not_named_is_told(as_alice):
    rows.make_cluster()

    page = html.unescape(as_alice.post(CHECK, bring_folder()).content.decode())
    archived = as_alice.post(CHECK, fill(manifests=[SimpleUploadedFile("shop-1.2.3.tgz", archive())]))

    assert "this is a Helm chart, not manifests. To render it, enter shop as the chart" in page
    assert "YAML syntax" not in page
    assert "shop-1.2.3.tgz is the archive of a Helm chart" in archived.content.decode()


def test_notes_are_masked_in_every_form():
    assert (
        mask_notes("user admin, token abcd1234", (), [b"token: abcd1234", b"user: admin"]) == "user admin, token ••••••"
    )
    assert mask_notes("postgres://u:hunter2@db/x", (), [b"a: ["]) == "postgres://u:••••••@db/x"
