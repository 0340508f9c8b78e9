"""Presets for programs: the body of a request, the gate, and the command on the server."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command

from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.requests.options import ApplyMode, PruneMode
from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import AuditEntry, Cluster, Plan, Preset, Review
from applyviz.workflow.plans import presets
from applyviz.workflow.plans.presets import PresetDraft
from tests.builders import grant_role, make_person
from tests.stories import Team, config_map
from tests.web.api.test_api import Program, body

pytestmark = pytest.mark.django_db
OPTIONS = {
    "namespace": "shop", "mode": "client", "field_manager": "ci", "takes_client_side": "", "prune": "allowlist",
    "selector": "app=shop", "replace": "batch/Job\ncore/Service",
}  # fmt: skip


@pytest.fixture
def team():
    return Team()


def save(slug="shop", **values) -> Preset:
    draft = {"name": "Web shop", "cluster": Cluster.objects.get(), "options": OPTIONS} | values
    return presets.add_preset(PresetDraft(slug=slug, **draft), by=None)


def send(program, **values):
    return program.post("reviews/", {"files": body(config_map(a="1"))["files"], "preset": "shop", **values})


def test_preset_fills_what_the_body_does_not_have(program):
    save()
    made = send(program)

    assert made.status_code == 201, made.content
    options = options_from_json(Plan.objects.get().options)
    assert (options.mode, options.field_manager, options.namespace) == (ApplyMode.CLIENT, "ci", "shop")
    assert (options.prune.mode, options.selector, options.takes_client_side) == (
        PruneMode.ALLOWLIST,
        "app=shop",
        False,
    )
    assert options.replacement.kinds == ("batch/Job", "core/Service")
    assert Review.objects.get().title == "Web shop"
    assert made.json()["review"]["preset"] == {"slug": "shop", "version": 1, "changed": []}


def test_body_wins_and_the_review_says_so(program):
    save()
    made = send(program, title="Mine", field_manager="me", prune="applyset", applyset="secrets/shop", mode="server")

    assert made.status_code == 201, made.content
    options = options_from_json(Plan.objects.get().options)
    assert (options.field_manager, options.prune.applyset, options.selector) == ("me", "secrets/shop", "")
    assert Review.objects.get().title == "Mine"
    assert set(made.json()["review"]["preset"]["changed"]) == {"mode", "field_manager", "prune", "selector"}


def test_another_operation_needs_nothing_of_an_apply(program):
    save()
    made = send(program, operation="delete")

    assert made.status_code == 201, made.content
    assert options_from_json(Plan.objects.get().options).is_deleting


def test_same_values_in_other_spelling_are_no_change(program):
    save(options={**OPTIONS, "prune": "none", "selector": ""})
    made = send(
        program, replace="core/Service, batch/Job".replace("core/Service, batch/Job", "batch/Job, core/Service")
    )

    assert made.status_code == 201, made.content
    assert made.json()["review"]["preset"]["changed"] == []


@pytest.mark.parametrize("slug", ["other", 7, None, ""])
def test_preset_that_cannot_be_used_is_named(program, slug):
    save()
    refused = send(program, preset=slug)

    assert refused.status_code == 422
    assert refused.json()["error"]["problems"][0]["field"] == "preset"


def test_preset_of_another_tool_is_for_the_page(program):
    save(options={"applied_by": "argocd"})

    assert "open them on the page" in send(program).json()["error"]["problems"][0]["message"]


def test_preset_of_a_scope_without_the_role_author_is_not_there(team, program):
    save(options={"namespace": "pay"})
    person = make_person("erin")
    grant_role(person, Role.AUTHOR, namespace="shop")

    assert send(Program(person)).status_code == 422


def run(*given) -> str:
    out = io.StringIO()
    call_command("preset", *given, stdout=out)
    return out.getvalue()


def test_preset_is_shown_changed_and_archived_on_the_server(team, tmp_path):
    save()
    shown = json.loads(run("show", "shop"))
    file = tmp_path / "preset.json"
    file.write_text(json.dumps(shown | {"name": "The shop"}))

    assert shown["options"] == OPTIONS
    assert "version 2" in run("save", str(file))
    assert run("list").startswith("shop: The shop, ")
    assert run("archive", "shop") == "shop: archived\n"
    assert "shop: The shop" in run("save", str(file))
    told = AuditEntry.objects.filter(action=AuditAction.PRESET_CHANGED).order_by("pk").values_list("detail", flat=True)
    assert [one["what"] for one in told] == ["added", "changed", "archived", "added"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"slug": "x"}, "name: This field is required"),
        ({"slug": "x", "name": "x", "options": {"modus": "client"}}, "there is no field modus"),
        ({"slug": "x", "name": "x", "options": {"deletion_seconds": 5}}, "deletion_seconds: write it as text"),
        ({"slug": "x", "name": "x", "options": {"mode": "both"}}, "mode: Select a valid choice"),
        ({"slug": "x", "name": "x", "cluster": "nowhere"}, "cluster: Select a valid choice"),
        ([], "write an object"),
    ],
)
def test_file_of_a_preset_is_checked(team, tmp_path, given, told):
    file = tmp_path / "preset.json"
    file.write_text(json.dumps(given))

    with pytest.raises(CommandError, match=told):
        run("save", str(file))
    with pytest.raises(CommandError, match="cannot be read as JSON"):
        run("save", str(tmp_path / "missing.json"))
    with pytest.raises(CommandError, match="there is no preset"):
        run("show", "x")
