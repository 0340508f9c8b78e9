"""The lists `patches` and `moves` of a body, and managedFields before and after in the answer."""

from __future__ import annotations

import pytest

from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.requests.options import ApplyMode, ClearPatch, Handover, SetAction, TakenField, TakenManager
from applyviz.records.enums import Role
from applyviz.records.models import Plan, Review
from applyviz.workflow.plans import planner
from tests.builders import make_person
from tests.stories import SETTINGS, config_map, secret
from tests.web.api.test_api import Program, body
from tests.web.reviews.test_hand_over import SCALER, WEB

pytestmark = pytest.mark.django_db
KEY, MAP = ("apps", "Deployment", "default", "web"), ("", "ConfigMap", "default", "settings")
REPLICAS = ("f:spec", "f:replicas")
TARGET, SETTINGS_MAP = "Deployment/default/web", "ConfigMap/default/settings"


def bare(**values):
    """A body without files."""
    return {name: value for name, value in body("", **values).items() if name != "files"}


def move(what, target="", **more):
    return {"what": what, **({"target": target} if target else {}), **more}


def post(program, given, path="reviews/"):
    """Open a review or its next plan, let the plan be made; the answer to a read of it."""
    made = program.post(path, given)
    assert made.status_code == 201, made.json()
    planner.make_plan(Plan.objects.order_by("pk").last().pk)
    return program.get(f"reviews/{made.json()['review']['number']}/").json()


def options():
    return options_from_json(Plan.objects.order_by("pk").last().options)


def name_owners(entries):
    return {(entry["manager"], entry["operation"]) for entry in entries}


def problems_of(answer):
    assert answer.status_code == 422, answer.json()
    return [(problem.get("field"), problem["message"]) for problem in answer.json()["error"]["problems"]]


def test_replicas_are_handed_over_with_managed_fields_before_and_after(team, program):
    team.apply(WEB, SCALER)

    plan = post(program, body(WEB, SCALER, moves=[move("hand-over", TARGET, fields=[".spec.replicas"])]))

    assert options().handovers == (Handover(KEY, REPLICAS, "handover-to-hpa"),)
    (web,) = [one for one in plan["objects"] if one["kind"] == "Deployment"]
    owners = web["managed_fields"]
    assert name_owners(owners["before"]) == {("applyviz", "Apply")}
    assert name_owners(owners["after"]) == {("applyviz", "Apply"), ("handover-to-hpa", "Apply")}
    fields = {one["manager"]: one["fieldsV1"] for one in owners["after"]}
    assert fields["handover-to-hpa"] == {"f:spec": {"f:replicas": {}}}
    assert "f:replicas" not in fields["applyviz"]["f:spec"]
    (scaler,) = [one for one in plan["objects"] if one["kind"] != "Deployment"]
    assert scaler["managed_fields"]["before"] == scaler["managed_fields"]["after"] != []
    run = team.work(team.start(Plan.objects.order_by("pk").last()))
    live = team.live("/apis/apps/v1/namespaces/default/deployments/web")
    assert (run.state, live["spec"]["replicas"]) == ("applied", 3)


@pytest.mark.long
def test_next_plan_has_exactly_the_moves_of_its_body(team, program):
    team.apply(WEB, SCALER)
    post(program, body(WEB, SCALER, moves=[move("hand-over", TARGET, fields=["spec.replicas"], managers=["keda"])]))
    assert [one.manager for one in options().handovers] == ["keda"]

    post(program, {}, "reviews/2/plans/")
    assert [one.manager for one in options().handovers] == ["keda"]
    given = [move("give", "apps/Deployment/default/web", fields=[".spec.replicas"], managers=["kubectl-scale"])]
    post(program, {"moves": given}, "reviews/2/plans/")
    assert [one.manager for one in options().handovers] == ["kubectl-scale"]
    post(program, {"moves": []}, "reviews/2/plans/")
    assert options().handovers == ()


@pytest.mark.long
def test_dropped_count_is_handed_over_by_the_first_plan(team, program):
    team.apply(WEB, mode=ApplyMode.CLIENT, field_manager="kubectl-client-side-apply")
    dropped = WEB.replace("  replicas: 3\n", "")

    post(program, body(dropped, moves=[move("hand-over", TARGET, fields=[".spec.replicas"])]))

    run = team.work(team.start(Plan.objects.order_by("pk").last()))
    live = team.live("/apis/apps/v1/namespaces/default/deployments/web")
    assert (run.state, live["spec"]["replicas"]) == ("applied", 3)


def test_live_field_is_taken_by_the_first_plan(team, program):
    team.apply(config_map(a="1"))
    team.edit(SETTINGS, {"data": {"b": "x"}})

    post(
        program,
        body(config_map(a="1"), moves=[move("take", SETTINGS_MAP, fields=["data.b"], managers=["kubectl-edit"])]),
    )

    team.work(team.start(Plan.objects.order_by("pk").last()))
    live = team.live()
    assert live["data"] == {"a": "1", "b": "x"}
    assert name_owners(live["metadata"]["managedFields"]) == {("applyviz", "Apply")}


@pytest.mark.long
def test_fields_are_given_client_side_by_last_applied(team, program):
    team.apply(config_map(a="1", b="2"), mode=ApplyMode.CLIENT, field_manager="kubectl-client-side-apply")

    plan = post(
        program,
        body(
            config_map(a="1", b="2"),
            mode="client",
            field_manager="kubectl-client-side-apply",
            moves=[move("give", SETTINGS_MAP, fields=[".data.b"])],
        ),
    )

    assert "last-applied forgets data.b" in plan["objects"][0]["risks"][0]["text"]
    team.work(team.start(Plan.objects.order_by("pk").last()))
    assert team.live()["data"] == {"a": "1", "b": "2"}


@pytest.mark.long
@pytest.mark.core(1)
@pytest.mark.parametrize("is_next", [False, True])
@pytest.mark.parametrize("managers", [[], ["kubectl-edit"]])
def test_hand_edit_is_taken_by_the_first_plan_or_a_later_one(team, program, is_next, managers):
    team.apply(config_map(a="1"))
    team.edit(SETTINGS, {"data": {"a": "2"}})
    moves = [move("take", SETTINGS_MAP, fields=[".data.a"], managers=managers)]

    if is_next:
        post(program, body(config_map(a="1")))
        plan = post(program, {"moves": moves}, "reviews/2/plans/")
    else:
        plan = post(program, body(config_map(a="1"), moves=moves))

    named = "kubectl-edit" if managers or is_next else ""  # without a plan, the others are found by the plan
    assert options().taken_fields == (TakenField(MAP, ("f:data", "f:a"), named, is_live=True),)
    assert plan["objects"][0]["conflicts"] == []
    team.work(team.start(Plan.objects.order_by("pk").last()))
    live = team.live()
    assert (live["data"]["a"], name_owners(live["metadata"]["managedFields"])) == ("2", {("applyviz", "Apply")})


@pytest.mark.core(1)
@pytest.mark.parametrize("is_next", [False, True])
def test_field_that_another_manager_owns_with_the_same_value_is_taken_from_it(team, program, is_next):
    team.apply(config_map(a="1"))
    team.apply(config_map(a="1"), field_manager="second")
    moves = [move("take", SETTINGS_MAP, fields=[".data.a"], managers=["second"])]

    if is_next:
        post(program, body(config_map(a="1")))
        post(program, {"moves": moves}, "reviews/3/plans/")
    else:
        post(program, body(config_map(a="1"), moves=moves))

    assert options().taken_fields == (TakenField(MAP, ("f:data", "f:a"), "second", is_live=True),)


@pytest.mark.long
def test_managers_give_up_their_fields_to_server_side_apply_and_back(team, program):
    team.apply(config_map(a="1"), mode=ApplyMode.CLIENT, field_manager="kubectl-client-side-apply")
    team.edit(SETTINGS, {"data": {"a": "2"}}, manager="helm")

    plan = post(program, body(config_map(a="1"), moves=[move("to-server-side", managers=["helm"])]))

    found = options()
    assert (found.mode, found.takes_from, found.takes_client_side) == (ApplyMode.SERVER, ("helm",), True)
    owners = plan["objects"][0]["managed_fields"]
    assert name_owners(owners["before"]) == {("kubectl-client-side-apply", "Update"), ("helm", "Update")}
    assert name_owners(owners["after"]) == {("applyviz", "Apply")}
    team.work(team.start(Plan.objects.order_by("pk").last()))

    given = [move("to-client-side", SETTINGS_MAP, managers=["applyviz"])]
    plan = post(program, body(config_map(a="1"), field_manager="kubectl-client-side-apply", moves=given))
    assert (options().mode, options().takes_from) == (ApplyMode.CLIENT, ())
    assert options().taken_managers == (TakenManager(MAP, "applyviz"),)
    owners = plan["objects"][0]["managed_fields"]
    assert name_owners(owners["after"]) == {("kubectl-client-side-apply", "Update")}


def test_records_are_written_for_the_targets(team, program):
    team.apply(config_map(a="1"))

    plan = post(program, bare(moves=[move("clear-managed-fields", SETTINGS_MAP)], clear_patch="json"))

    assert (options().action, options().clear_patch) == (SetAction.CLEAR_OWNERSHIP, ClearPatch.JSON)
    (settings,) = plan["objects"]
    assert settings["managed_fields"]["before"] != []
    assert settings["managed_fields"]["after"] == []
    plan = post(program, body(config_map(a="1"), moves=[move("set-last-applied", SETTINGS_MAP)]))
    assert options().action is SetAction.SET_LAST_APPLIED
    (settings,) = plan["objects"]
    assert (settings["operation"], settings["risks"][0]["text"][:21]) == ("update", "last-applied then has")


@pytest.mark.long
def test_patches_are_planned_in_one_review(team, program):
    team.apply(WEB, config_map(a="1"), config_map("other", a="1"))
    patches = [
        {"type": "merge", "target": SETTINGS_MAP, "patch": '{"data": {"a": "2"}}'},
        {"target": TARGET, "subresource": "scale", "patch": {"spec": {"replicas": 5}}},
        {
            "type": "json",
            "target": "core/ConfigMap/default/other",
            "subresource": "",
            "patch": '[{"op": "add", "path": "/metadata/labels", "value": {"tier": "front"}}]',
        },
    ]

    plan = post(program, bare(patches=patches))

    assert (plan["operation"], plan["counts"]["operations"]) == ("patch", {"update": 3})
    assert {one["method"] for one in plan["objects"]} == {
        "JSON merge patch",
        "strategic merge patch",
        "JSON patch",
    }
    changed = {field["path"]: field["after"] for one in plan["objects"] for field in one["fields"]}
    assert (changed[".data.a"], changed[".spec.replicas"], changed[".metadata.labels.tier"]) == ('"2"', "5", "front")
    run = team.work(team.start(Plan.objects.order_by("pk").last()))
    live = team.live("/apis/apps/v1/namespaces/default/deployments/web")
    assert (run.state, team.live()["data"]) == ("applied", {"a": "2"})
    assert live["spec"]["replicas"] == 5
    assert team.live(SETTINGS.replace("settings", "other"))["metadata"]["labels"] == {"tier": "front"}


@pytest.mark.long
def test_patches_come_beside_files_that_hold_patches(team, program):
    team.apply(WEB, config_map(a="1"))
    document = "kind: Patch\ntarget: {apiVersion: v1, kind: ConfigMap, name: settings}\npatch: {data: {b: '1'}}\n"

    plan = post(program, body(document, patches=[{"target": TARGET, "patch": "spec: {replicas: 2}"}]))

    assert {one["name"]: one["operation"] for one in plan["objects"]} == {"settings": "update", "web": "update"}


REFUSED = {
    "no list": ({"patches": {}}, ("patches", "a list")),
    "no object": ({"patches": ["x"]}, ("patches[0]", "must be an object")),
    "patch of nothing": ({"patches": [{"target": TARGET}]}, ("patches[0].patch", "must be the patch")),
    "patch of no object": ({"patches": [{"target": "web", "patch": "{}"}]}, ("patches[0].target", "names no object")),
    "patch of no kind": ({"patches": [{"target": "Wib/a/b", "patch": "{}"}]}, ("patches[0].target", "no kind Wib")),
    "odd type": (
        {"patches": [{"target": TARGET, "patch": "{}", "type": "x"}]},
        ("patches[0].type", "one of strategic"),
    ),
    "odd subresource": (
        {"patches": [{"target": TARGET, "patch": "{}", "subresource": "log"}]},
        ("patches[0].subresource", "one of status, scale"),
    ),
    "odd part": ({"patches": [{"target": TARGET, "patch": "{}", "typ": "x"}]}, ("patches[0]", "no field 'typ'")),
    "patch in an apply": (
        {"patches": [{"target": TARGET, "patch": "{}"}], "operation": "apply"},
        ("patches[0]", "belong to the operation patch"),
    ),
    "two patches": (
        {"patches": [{"target": TARGET, "patch": "{}"}], "patch": "{}"},
        ("patches[0]", "not in both"),
    ),
    "one object twice": (
        {"patches": [{"target": TARGET, "patch": "{}"}, {"target": "apps/Deployment/default/web", "patch": "{}"}]},
        ("patches[1].target", "patched by patches[0] too"),
    ),
    "odd what": ({"moves": [{"what": "steal"}]}, ("moves[0].what", "one of hand-over")),
    "no what": ({"moves": [{}]}, ("moves[0].what", "one of hand-over")),
    "no target": ({"moves": [{"what": "take", "fields": ["x"]}]}, ("moves[0].target", "Deployment/NAMESPACE/NAME")),
    "no fields": ({"moves": [move("give", TARGET, managers=["a"])]}, ("moves[0].fields", "name the fields")),
    "odd fields": ({"moves": [move("give", TARGET, fields="x")]}, ("moves[0].fields", "a list of texts")),
    "fields of managers": (
        {"moves": [move("to-server-side", fields=[".spec"])]},
        ("moves[0].fields", "moves no single fields"),
    ),
    "managers of a record": (
        {"moves": [move("set-last-applied", TARGET, managers=["a"])]},
        ("moves[0].managers", "names no managers"),
    ),
    "two next managers": (
        {"moves": [move("hand-over", TARGET, fields=[".spec.replicas"], managers=["a", "b"])]},
        ("moves[0].managers", "one manager"),
    ),
    "odd manager": (
        {"moves": [move("hand-over", TARGET, fields=[".spec.replicas"], managers=["a b"])]},
        ("moves[0].managers", "names of field managers"),
    ),
    "own manager": (
        {"moves": [move("give", TARGET, fields=[".spec.replicas"], managers=["applyviz"])]},
        ("moves[0].managers", "other than that of the plan"),
    ),
    "given to nobody": (
        {"moves": [move("give", TARGET, fields=[".spec.replicas"])]},
        ("moves[0].managers", "name the manager"),
    ),
    "other object": (
        {"moves": [move("hand-over", "Deployment/default/api", fields=[".spec.replicas"])]},
        ("moves[0].target", "no object of this set"),
    ),
    "other field": (
        {"moves": [move("hand-over", TARGET, fields=[".spec.none"])]},
        ("moves[0].fields", "has no field .spec.none"),
    ),
    "live field": (
        {"moves": [move("take", TARGET, fields=['.spec.template.spec.containers[name="side"].image'])]},
        ("moves[0].fields", "by the next plan"),
    ),
    "one of several": (
        {"moves": [move("to-server-side", TARGET)]},
        ("moves[0].managers", "every object of the set"),
    ),
    "both ways": (
        {"moves": [move("to-server-side"), move("to-client-side")]},
        ("moves[0].what", "mode server"),
    ),
    "other mode": ({"moves": [move("to-server-side")], "mode": "client"}, ("moves[0].what", "client is asked for")),
    "record and field": (
        {"moves": [move("hand-over", TARGET, fields=[".spec.replicas"]), move("set-last-applied")]},
        ("moves[0].what", "operation apply"),
    ),
    "said twice": (
        {"moves": [move("to-server-side", managers=["helm"])], "take_from": "helm"},
        ("moves[0]", "not in both"),
    ),
    "cleared beside files": (
        {"moves": [move("clear-managed-fields", TARGET)]},
        ("moves[0]", "leave files out"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_problem_names_its_entry_and_nothing_is_opened(program, name):
    given, (field, text) = REFUSED[name]

    found = problems_of(program.post("reviews/", body(WEB, SCALER, **given)))

    assert [text in message for where, message in found if where == field][:1] == [True], found
    assert not Review.objects.exists()


@pytest.mark.long
def test_next_plan_neither_changes_sides_nor_writes_records(team, program):
    team.apply(WEB)
    post(program, body(WEB))
    number = Review.objects.order_by("pk").last().number

    for what in ("to-client-side", "clear-managed-fields", "set-last-applied"):
        given = {"moves": [move(what, TARGET)]}
        assert problems_of(program.post(f"reviews/{number}/plans/", given)) == [
            ("moves[0].what", f"{what} needs a review of its own")
        ]
    found = problems_of(
        program.post(f"reviews/{number}/plans/", {"moves": [move("take", TARGET, fields=[".spec.replicas"])]})
    )
    assert "another manager has set none of these fields" in found[0][1]
    assert Plan.objects.filter(review__number=number).count() == 1


def test_owners_of_a_secret_are_not_shown_to_who_may_not_read_it(team, program):
    team.apply(secret(password="one"))
    post(program, body(secret(password="two")))
    reader = Program(team.bob)
    assert reader.get("reviews/2/").json()["objects"][0]["managed_fields"]["before"]
    number = Review.objects.order_by("pk").last().number
    blind = Program(make_person("vera", Role.VIEWER))

    (shown,) = blind.get(f"reviews/{number}/").json()["objects"]

    assert (shown["operation"], shown["managed_fields"]) == ("not-shown", None)
