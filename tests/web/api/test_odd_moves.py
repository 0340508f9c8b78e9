"""Moves that cannot be: what names an object, one field in two directions, fields of an object that is not there."""

from __future__ import annotations

import pytest

from applyviz.engine.requests.options import ApplyMode
from applyviz.records.enums import Role
from tests.builders import grant_role
from tests.stories import Team, config_map
from tests.web.api.test_api import Program, body
from tests.web.api.test_moves import TARGET, move, post, problems_of
from tests.web.reviews.test_hand_over import WEB

pytestmark = pytest.mark.django_db
REPLICAS = [".spec.replicas"]


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Program:
    team = Team().wire_up(monkeypatch)
    grant_role(team.alice, Role.OPERATOR)
    return Program(team.alice)


@pytest.mark.parametrize("field", [".metadata.name", ".metadata", ".kind", "apiVersion"])
def test_what_names_an_object_does_not_change_hands(program: Program, field: str) -> None:
    answer = program.post("reviews/", body(WEB, moves=[move("hand-over", TARGET, fields=[field])]))

    ((where, text),) = problems_of(answer)
    assert (where, f"has no field {field}" in text) == ("moves[0].fields", True)


@pytest.mark.parametrize(
    "others",
    [
        move("hand-over", TARGET, fields=REPLICAS, managers=["b"]),
        move("give", TARGET, fields=REPLICAS, managers=["c"]),
        move("take", TARGET, fields=REPLICAS),
    ],
)
def test_field_moves_in_one_direction(program: Program, others: dict[str, object]) -> None:
    first = move("hand-over", TARGET, fields=REPLICAS, managers=["a"])

    answer = program.post("reviews/", body(WEB, moves=[first, others]))

    assert problems_of(answer) == [
        ("moves[1].fields", "moves[0] moves .spec.replicas elsewhere: name each field once"),
    ]


@pytest.mark.parametrize("mode", list(ApplyMode))
def test_object_that_does_not_exist_is_not_created_without_its_field(program: Program, mode: ApplyMode) -> None:
    manager = "kubectl-client-side-apply" if mode is ApplyMode.CLIENT else "applyviz"
    given = body(config_map(a="1"), mode=mode.value, field_manager=manager)
    moves = [move("hand-over", "ConfigMap/default/settings", fields=[".data.a"])]

    plan = post(program, {**given, "moves": moves})

    (settings,) = plan["objects"]
    assert (settings["operation"], plan["status"]) == ("error", "blocked")
    assert "does not exist yet, so no field has a value to keep" in settings["error"]
