"""Choices of programs that were taken without effect, refused without help, or dropped: each counts or is a problem."""

from __future__ import annotations

import pytest

from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.requests.options import Propagation, Prune, PruneMode
from applyviz.records.models import Cluster, Plan
from applyviz.workflow.plans import planner, presets
from applyviz.workflow.plans.presets import PresetDraft
from tests.stories import Team, config_map
from tests.web.api.test_api import Program, body

pytestmark = pytest.mark.django_db
KEPT = "core/PersistentVolumeClaim"


@pytest.fixture
def program():
    return Program(Team().alice)


def problems(answer):
    assert answer.status_code == 422, answer.content
    return {one["field"]: one["message"] for one in answer.json()["error"]["problems"]}


@pytest.mark.core(1)
@pytest.mark.parametrize("nothing", [[], ""])
def test_next_plan_takes_replacements_back(program, nothing):
    program.post("reviews/", body(config_map(a="1"), replace=["Job", "ConfigMap/default/settings"]))
    planner.make_plan(Plan.objects.get().pk)

    assert program.post("reviews/1/plans/", {"propagation": "Orphan"}).status_code == 201
    planner.make_plan(Plan.objects.get(number=2).pk)
    assert program.post("reviews/1/plans/", {"replace": nothing}).status_code == 201

    kept, taken_back = (options_from_json(Plan.objects.get(number=number).options).replacement for number in (2, 3))
    assert (kept.kinds, kept.objects) == (("Job",), ("ConfigMap/default/settings",))
    assert (taken_back.kinds, taken_back.objects) == ((), ())


@pytest.mark.parametrize("written", ["orphan", "Orphan"])
def test_propagation_is_written_as_kubectl_and_as_the_server_write_it(program, written):
    assert program.post("reviews/", body(config_map(a="1"), propagation=written)).status_code == 201

    assert options_from_json(Plan.objects.get().options).propagation is Propagation.ORPHAN


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("propagation", "now", "Now is none of Background, Foreground, Orphan"),
        ("mode", "Client", "Client is none of server, client"),
        ("prune", "all", "all is none of none, allowlist, applyset"),
        ("operation", "prune", "prune is none of apply, delete, patch, set-last-applied, clear-managed-fields"),
        (
            "without",
            ["Node/main"],
            "Node/main is no object such as batch/Job/default/migrate or core/Node//main",
        ),
    ],
)
def test_problem_names_what_can_be_chosen(program, field, value, told):
    found = problems(program.post("reviews/", body(config_map(a="1"), **{field: value})))

    assert found[field] == told


@pytest.mark.parametrize(
    ("chosen", "field"),
    [
        ({"prune": {"selector": "app=x"}, "selector": "app=y"}, "selector"),
        ({"prune": {"all": True}, "prune_allowlist": "core/v1/Secret"}, "prune_allowlist"),
        ({"prune": {"applyset": "secrets/a"}, "applyset": "secrets/b"}, "applyset"),
        ({"without": ["Job/default/a"], "leave_out": "Job/default/b", "leave_out_reason": "x"}, "leave_out"),
    ],
)
def test_choice_in_both_forms_is_a_problem(program, chosen, field):
    assert list(problems(program.post("reviews/", body(config_map(a="1"), mode="client", **chosen)))) == [field]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({}, Prune(PruneMode.ALLOWLIST, excepted=(KEPT,))),
        ({"prune": {"all": True}}, Prune(PruneMode.ALLOWLIST, is_all=True, excepted=(KEPT,))),
        ({"prune": {"applyset": "secrets/a"}}, Prune(PruneMode.APPLYSET, applyset="secrets/a", excepted=(KEPT,))),
        (
            {"prune": {"all": True, "except": ["core/Secret"]}},
            Prune(PruneMode.ALLOWLIST, is_all=True, excepted=("core/Secret",)),
        ),
        ({"prune": "none"}, Prune()),
        ({"prune": None}, Prune()),
        ({"operation": "delete"}, Prune()),
    ],
)
def test_kinds_that_a_preset_never_prunes_stay_with_another_selector(program, chosen, expected):
    options = {"mode": "client", "prune": "allowlist", "selector": "app=shop", "prune_except": KEPT}
    draft = PresetDraft(slug="shop", name="Shop", cluster=Cluster.objects.get(), options=options)
    presets.add_preset(draft, by=None)

    answer = program.post("reviews/", {"files": body(config_map(a="1"))["files"], "preset": "shop", **chosen})

    assert answer.status_code == 201, answer.content
    assert options_from_json(Plan.objects.get().options).prune == expected
