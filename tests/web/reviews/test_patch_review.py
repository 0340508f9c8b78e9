"""Patch reviews from the form to the run page: what is entered becomes patch documents, and every page says patch."""

import pytest
import yaml
from django.test import Client

from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.requests.options import ApplyMode, SetAction
from applyviz.records.enums import RunState
from applyviz.records.models import ApplyRun, Review
from applyviz.workflow.plans import calculation, planner
from tests.stories import config_map, secret

pytestmark = pytest.mark.django_db
PATCH = {"action": SetAction.PATCH}
BASE = {
    "title": "Patch the shop", "cluster": "box", "namespace": "default", "mode": "server",
    "field_manager": "applyviz", "operation": "patch",
}  # fmt: skip


def sign_in(person):
    client = Client()
    client.force_login(person)
    return client


@pytest.fixture
def page(team):
    return sign_in(team.alice)


def read(client, address):
    answer = client.get(address)
    assert answer.status_code == 200, address
    return " ".join(answer.content.decode().split())


def send_form(page, **fields):
    answer = page.post("/reviews/new/", {**BASE, **fields})
    assert answer.status_code == 302, answer.content.decode()
    review = Review.objects.latest("number")
    planner.make_plan(review.plans.get().pk)
    return review


def refuse_form(page, **fields):
    answer = page.post("/reviews/new/", {**BASE, **fields})
    assert answer.status_code == 422
    return {name: [str(error) for error in errors] for name, errors in answer.context["form"].errors.items()}


ENTERED = {
    "patch_objects": "configmap/settings\ncm other, configmap/settings",
    "patch_type": "merge",
    "patch": "data:\n  a: '2'\n",
}


def test_entered_patch_becomes_one_document_per_object(team, page):
    team.apply(config_map(a="1"), config_map("other", a="1"))

    review = send_form(page, **ENTERED)

    plan = review.plans.get()
    options = options_from_json(plan.options)
    assert (options.action, options.mode, options.field_manager) == (SetAction.PATCH, ApplyMode.CLIENT, "applyviz")
    (file,) = calculation.load_bundle(plan.revision).files
    documents = list(yaml.safe_load_all(file.data))
    assert [one["target"]["name"] for one in documents] == ["settings", "other"]
    assert {str(one["patch"]) for one in documents} == {"{'data': {'a': '2'}}"}
    assert dict(plan.changes.values_list("name", "operation")) == {"settings": "update", "other": "update"}


@pytest.mark.long
def test_file_with_patch_documents_needs_no_other_field(team, page):
    team.apply(config_map(a="1"))
    target = {"apiVersion": "v1", "kind": "ConfigMap", "name": "settings"}

    review = send_form(page, text=yaml.safe_dump({"kind": "Patch", "target": target, "patch": {"data": {"b": "2"}}}))

    assert review.plans.get().changes.get().operation == "update"


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"patch": "a: 1", "text": "x"}, {"patch_objects": ["Name the objects that the patch is for."]}),
        ({"patch_objects": "cm/a"}, {"patch": ["Enter the patch."]}),
        ({**ENTERED, "operation": "apply", "text": "x"}, {
            "patch_objects": ["It belongs to the operation Patch."], "patch": ["It belongs to the operation Patch."]}),
    ],
)  # fmt: skip
def test_part_of_a_patch_that_is_missing_is_named_at_its_field(page, fields, errors):
    assert refuse_form(page, **fields) == errors


def test_patch_review_without_a_patch_is_refused(page):
    (error,) = refuse_form(page)["__all__"]

    assert error.startswith("Add at least one manifest")


def test_name_that_is_no_object_is_named_with_how_to_write_it(page):
    (error,) = refuse_form(page, **{**ENTERED, "patch_objects": "widget/main"})["patch_objects"]

    assert error.startswith("there is no kind widget: expected deployment/web, or Kind.version.group/name")


def test_text_that_is_no_yaml_is_a_problem_with_its_line(page):
    answer = page.post("/reviews/new/", {**BASE, **ENTERED, "patch": "data: [1"})

    assert answer.status_code == 422
    assert "patch.yaml" in answer.content.decode()


def test_text_of_a_patch_cannot_change_its_target(team, page):
    team.apply(config_map(a="1"), config_map("other", a="1"))
    text = 'data: {b: "2"}\ntarget: {apiVersion: v1, kind: ConfigMap, name: other}'

    review = send_form(page, patch_objects="cm/settings", patch_type="merge", patch=text)

    assert [(row.name, row.operation) for row in review.plans.get().changes.all()] == [("settings", "error")]


def test_pages_speak_of_a_patch_and_show_its_request_and_the_command(team, page):
    team.apply(config_map(a="1"))
    review = send_form(
        page, patch_objects="cm/settings", patch_type="json", patch='[{"op":"add","path":"/data/b","value":"2"}]'
    )

    bob = sign_in(team.bob)
    overview, changes = (read(page, f"/reviews/{review.number}/plans/1/{tab}/") for tab in ("overview", "changes"))
    assert "patch" in overview
    assert "set by the patch" in changes
    requests = read(page, f"/reviews/{review.number}/plans/1/changes/?only=0&view=requests")
    assert "application/json-patch+json" in requests
    assert "kubectl patch configmap settings --namespace=default" in requests
    plan = review.plans.get()
    run = team.work(team.start(plan))
    assert run.state == RunState.APPLIED
    assert "Patched" in read(bob, f"/reviews/{review.number}/plans/1/overview/")
    assert ApplyRun.objects.count() == 2


@pytest.mark.core(1)
@pytest.mark.parametrize("operation", ["test", "copy", "move"])
def test_operation_that_reads_live_values_is_refused_for_a_secret(team, page, operation):
    team.apply(secret(password="p"))
    body = f'[{{"op": "{operation}", "path": "/data/b", "from": "/data/password", "value": "cA=="}}]'

    answer = page.post("/reviews/new/", {**BASE, "patch_objects": "secret/login", "patch_type": "json", "patch": body})

    assert answer.status_code == 422
    assert f"patch[0].op cannot be {operation} for a Secret" in answer.content.decode()


def test_values_of_a_patched_secret_are_masked_everywhere(team, page):
    team.apply(secret(password="first"))
    body = "- {op: replace, path: /data/password, value: c2Vjb25kLXZhbHVl}"
    review = send_form(page, patch_objects="secret/login", patch_type="json", patch=body)

    for tab in ("overview/", "changes/", "requests/", "changes/?only=0&view=yaml", "changes/?only=0&view=requests"):
        text = read(page, f"/reviews/{review.number}/plans/1/{tab}")
        assert "c2Vjb25kLXZhbHVl" not in text
        assert "second-value" not in text
