"""Presets: saved in the settings, offered to who may use them, filling the form, and named by the review."""

from __future__ import annotations

import html
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.requests.options import ApplyMode, PruneMode
from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry, Plan, Preset, Review, Team
from applyviz.web.reviews.forms.reviews import NewReviewForm, OptionFields
from applyviz.web.reviews.pages.sources.presets import LABELS
from applyviz.workflow.plans.presets import CLUSTER, FIELDS
from tests.builders import add_member
from tests.web import rows

LIST, ADD = reverse("settings:list-presets"), reverse("settings:add-preset")
REVIEW = reverse("reviews:add-review")
GOOD = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: flags\ndata:\n  a: b\n"
OPTIONS = {
    "slug": "shop",
    "name": "Shop, production",
    "description": "The web shop.",
    "team": "*",
    "cluster": "shop",
    "namespace": "shop",
    "mode": "client",
    "field_manager": "ci",
    "prune": "allowlist",
    "selector": "app=shop",
    "replace": "batch/Job",
}


@pytest.fixture
def cluster(db):
    return rows.make_cluster()


def read(answer) -> str:
    return html.unescape(re.sub(r"<wbr>", "", answer.content.decode()))


def save(browser, **values) -> Preset:
    answer = browser.post(ADD, OPTIONS | values)
    assert answer.status_code == 302, read(answer)
    return Preset.objects.latest("pk")


def read_form(answer) -> dict[str, str]:
    """Return what a browser would send of the form of a new review."""
    form = answer.context["form"]
    given = {name: form[name].value() for name in form.fields if name not in ("manifests", "folder", "again")}
    return {name: "on" if value is True else str(value) for name, value in given.items() if value not in (None, False)}


def test_who_knows_only_yaml_chooses_a_preset_and_adds_a_file(as_dana, as_alice, cluster):
    save(as_dana)
    page = as_alice.get(REVIEW, {"preset": "shop"})
    given = read_form(page)
    answer = as_alice.post(REVIEW, {**given, "manifests": SimpleUploadedFile("a.yaml", GOOD)})

    assert answer.status_code == 302, read(answer)
    review = Review.objects.get()
    options = options_from_json(Plan.objects.get().options)
    assert review.title == "Shop, production"
    assert (options.mode, options.field_manager, options.namespace) == (ApplyMode.CLIENT, "ci", "shop")
    assert (options.prune.mode, options.selector) == (PruneMode.ALLOWLIST, "app=shop")
    assert options.replacement.kinds == ("batch/Job",)
    assert (review.preset, review.preset_version, review.preset_changes) == (Preset.objects.get(), 1, [])
    made = AuditEntry.objects.get(action=AuditAction.REVIEW_CREATED).detail
    assert (made["preset"], made["preset version"], made["changed from preset"]) == ("shop", 1, [])


def test_page_with_a_preset_folds_every_option(as_dana, as_alice, cluster):
    save(as_dana)
    plain, filled = read(as_alice.get(REVIEW)), read(as_alice.get(REVIEW, {"preset": "shop"}))

    assert "Shop, production" in plain
    assert "Title and options" not in plain
    before, _, after = filled.partition("Title and options")
    assert 'name="manifests"' in before
    assert 'name="namespace"' in after
    assert 'name="namespace"' not in before
    assert (
        "namespace shop of Shop, client-side apply, as ci, replaces batch/Job, prunes by allowlist (app=shop)" in after
    )
    assert '<details class="filled panel">' in before


def test_review_says_what_its_author_changed(as_dana, as_alice, as_viewer, cluster):
    save(as_dana)
    given = read_form(as_alice.get(REVIEW, {"preset": "shop"})) | {"field_manager": "me", "prune": "none"}
    as_alice.post(REVIEW, {**given, "text": GOOD.decode()})
    record = reverse("reviews:show-record", args=[Review.objects.get().number, 1])

    assert Review.objects.get().preset_changes == [
        {"field": "field_manager", "preset": "ci", "used": "me"},
        {"field": "prune", "preset": "allowlist", "used": "none"},
    ]
    shown = read(as_alice.get(reverse("reviews:show-review", args=[Review.objects.get().number]), follow=True))
    assert "Shop, production, version 1; changed: Field manager, Prune" in shown
    assert "<del>ci</del> → me" in read(as_alice.get(record))
    # Who may not use the preset learns which options were changed, and not what the preset says.
    hidden = read(as_viewer.get(record))
    assert "Field manager" in hidden
    assert "<del>ci</del>" not in hidden


def test_preset_is_not_read_after_the_form(as_dana, as_alice, cluster):
    save(as_dana)
    given = read_form(as_alice.get(REVIEW, {"preset": "shop"}))
    as_alice.post(REVIEW, {**given, "text": GOOD.decode()})
    before = Plan.objects.get().options
    edited = as_dana.post(reverse("settings:show-preset", args=["shop"]), OPTIONS | {"version": 1, "selector": "a=b"})

    assert edited.status_code == 302
    assert Plan.objects.get().options == before
    assert Review.objects.get().preset_version == 1
    assert Preset.objects.get().version == 2


def test_edit_of_an_old_version_is_refused(as_dana, cluster):
    save(as_dana)
    page = reverse("settings:show-preset", args=["shop"])
    as_dana.post(page, OPTIONS | {"version": 1, "name": "First"})
    second = as_dana.post(page, OPTIONS | {"version": 1, "name": "Second"})

    assert second.status_code == 422
    assert "changed or archived in the meantime" in read(second)
    assert Preset.objects.get().name == "First"


def test_audit_entries_name_what_changed(as_dana, cluster):
    save(as_dana)
    as_dana.post(reverse("settings:show-preset", args=["shop"]), OPTIONS | {"version": 1, "namespace": "test"})
    as_dana.post(reverse("settings:archive-preset", args=["shop"]))
    told = [entry.detail for entry in AuditEntry.objects.filter(action=AuditAction.PRESET_CHANGED).order_by("pk")]

    assert [one["what"] for one in told] == ["added", "changed", "archived"]
    assert told[0]["changes"]["namespace"] == {"before": "", "after": "shop"}
    assert told[1]["changes"] == {"namespace": {"before": "shop", "after": "test"}}
    assert told[2]["changes"] == {}


@pytest.mark.long
def test_archived_preset_is_no_longer_offered(as_dana, as_alice, cluster):
    save(as_dana)
    given = read_form(as_alice.get(REVIEW, {"preset": "shop"}))
    as_dana.post(reverse("settings:archive-preset", args=["shop"]))
    late = as_alice.post(REVIEW, {**given, "text": GOOD.decode()})

    assert late.status_code == 422
    assert "no longer offered to you" in read(late)
    assert as_alice.get(REVIEW, {"preset": "shop"}).status_code == 404
    assert "Shop, production" not in read(as_alice.get(REVIEW))
    assert "No presets yet" in read(as_dana.get(LIST))
    save(as_dana)  # the slug is free again


def test_preset_of_a_team_is_for_its_members(as_dana, as_alice, alice, cluster):
    team = Team.objects.create(slug="pay", name="Payments", created_at=rows.NOW)
    save(as_dana, team="pay")

    assert as_alice.get(REVIEW, {"preset": "shop"}).status_code == 404
    add_member(team, alice, since=rows.NOW)
    assert as_alice.get(REVIEW, {"preset": "shop"}).status_code == 200


def test_preset_without_a_cluster_lets_the_author_choose(as_dana, as_alice, cluster):
    save(as_dana, cluster="")
    page = as_alice.get(REVIEW, {"preset": "shop"})

    assert '<details class="filled panel" open>' in read(page)
    assert "Choose the cluster." in read(page)


def test_preset_that_names_the_source_needs_no_file(as_dana, as_alice, cluster):
    save(as_dana, git_repository="https://git.example/team/shop", git_ref="main", git_path="deploy")
    page = read(as_alice.get(REVIEW, {"preset": "shop"}))

    assert "git repository git.example/team/shop (main) deploy" in page
    assert "git.example/team/shop (main) deploy" in read(as_dana.get(LIST))


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"slug": "not a slug"}, "valid “slug”"),
        ({"name": ""}, "required"),
        ({"links": "https://x.example/a.yaml?token=abc"}, "no link with a query"),
        ({"git_ref": "main"}, "Enter the address of the repository"),
        ({"chart_version": "1.2.3"}, "Name the chart to render"),
        ({"selector": ""}, "Enter a selector or choose all objects"),
        ({"mode": "server"}, "apply client-side, or prune by ApplySet"),
        ({"replace": "job"}, "is no kind such as batch/Job"),
        ({"patch_objects": "deployment/web"}, "belongs to the operation Patch"),
    ],
)
def test_preset_is_checked_like_a_review(as_dana, cluster, values, told):
    answer = as_dana.post(ADD, OPTIONS | values)

    assert answer.status_code == 422
    assert told in read(answer)
    assert Preset.objects.count() == 0


def test_slug_is_taken_once(as_dana, cluster):
    save(as_dana)
    again = as_dana.post(ADD, OPTIONS)

    assert again.status_code == 422
    assert "already a preset with this slug" in read(again)


def test_form_of_a_review_becomes_a_preset(as_dana, cluster):
    filled = {**OPTIONS, "title": "Shop v2", "text": "secret: hunter2", "chart_values": "password: hunter2"}
    page = as_dana.post(ADD, {**filled, "from_review": "on"})

    assert page.status_code == 200
    form = page.context["form"]
    assert (form["namespace"].value(), form["selector"].value(), form["title"].value()) == (
        "shop",
        "app=shop",
        "Shop v2",
    )
    assert not form["takes_client_side"].value()
    assert "hunter2" not in read(page)
    assert Preset.objects.count() == 0


def test_options_of_another_operation_are_dropped(as_dana, cluster):
    preset = save(as_dana, operation="delete", mode="client", applyset="secrets/x", takes_from="helm")

    assert {n: preset.options[n] for n in ("operation", "prune", "selector", "applyset", "replace", "takes_from")} == {
        "operation": "delete", "prune": "none", "selector": "", "applyset": "", "replace": "", "takes_from": "",
    }  # fmt: skip


def test_settings_are_for_administrators(as_alice, as_viewer, as_charlie, as_dana, cluster):
    save(as_dana)
    for address in (LIST, ADD, reverse("settings:show-preset", args=["shop"])):
        assert [one.get(address).status_code for one in (as_alice, as_viewer, as_charlie)] == [403, 403, 404]


def test_every_option_of_the_form_can_be_in_a_preset(db):
    without = {"chart_values", "manifests", "folder", "text", "paths", "again", "patch"}
    options = set(NewReviewForm.base_fields) - without - {"title", "reason", "ticket", "preset"}

    assert options == {CLUSTER, *FIELDS}
    assert set(LABELS) == options
    assert set(OptionFields.base_fields) - {"patch"} == set(FIELDS)
