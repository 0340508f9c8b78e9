"""The API: a token and nothing else opens it, every problem is named, and nothing that is sent breaks it."""

from __future__ import annotations

import json

import pytest
from django.http import JsonResponse
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.requests.options import Prune, PruneMode
from applyviz.records.enums import AuditAction, Role, TokenScope
from applyviz.records.models import ApplyRun, AuditEntry, Plan, Review
from applyviz.web.api import responses
from applyviz.web.frame import streams
from applyviz.workflow.approvals import approving
from applyviz.workflow.people import tokens
from applyviz.workflow.plans import planner
from tests.builders import grant_role, make_person, open_dangers, take_roles
from tests.stories import config_map, secret

pytestmark = pytest.mark.django_db
CANARY = "canary-7f3a91"


class Program:
    """A program that asks with a token."""

    def __init__(self, person, scope=TokenScope.APPLY):
        self.person = person
        self.token, self.text = tokens.make_token(by=person, account=person, name="ci", scope=scope, days=7)
        self.client = Client(enforce_csrf_checks=True)

    def ask(self, method, path, body=None, **headers):
        given = {"HTTP_AUTHORIZATION": f"Bearer {self.text}", **headers}
        if body is None:
            return getattr(self.client, method)(f"/api/v1/{path}", **given)
        data = body if isinstance(body, (str, bytes)) else json.dumps(body)
        return getattr(self.client, method)(f"/api/v1/{path}", data, content_type="application/json", **given)

    def get(self, path, **headers):
        return self.ask("get", path, **headers)

    def post(self, path, body, **headers):
        return self.ask("post", path, body, **headers)


def body(*texts, **values):
    files = [{"name": f"{n}.yaml", "content": text} for n, text in enumerate(texts)]
    return {"title": "Deploy", "cluster": "box", "namespace": "default", "files": files, **values}


def make(number=1):
    planner.make_plan(Plan.objects.get(review__number=number, state="planning").pk)


def test_pipeline_from_files_to_result(team, program):
    made = program.post("reviews/", body(config_map(a="1"), reason="because", ticket="T-1"))
    assert (made.status_code, made.json()["status"], made.json()["plan"]) == (201, "reading", 1)
    make()

    waiting = program.get("reviews/1/").json()
    early = program.post("reviews/1/plans/1/run/", {"digest": waiting["digest"]})
    plan = Plan.objects.get()
    approving.approve_plan(plan, by=team.bob, digest=plan.digest)
    approved = program.get("reviews/1/plans/1/").json()
    other = program.post("reviews/1/plans/1/run/", {"digest": "f" * 64})
    started = program.post("reviews/1/plans/1/run/", {"digest": approved["digest"]})
    again = program.post("reviews/1/plans/1/run/", {"digest": approved["digest"]})
    team.work(ApplyRun.objects.get())
    result = program.get(f"runs/{started.json()['number']}/").json()

    assert [d["status"] for d in (waiting, approved)] == ["needs-approval", "approved"]
    assert waiting["sentence"] == "1 to create"
    assert waiting["counts"] == {
        "operations": {"create": 1}, "certainty": {"confirmed": 1}, "conflicts": 0,
    }  # fmt: skip
    assert waiting["approvals"]["still_needed"] == ["1 approval missing"]
    assert program.get("reviews/1/").json()["approvals"] == {
        "policy": plan.policy_version, "needed": 1, "missing": 0, "given_by": ["bob"], "still_needed": [], "closed": [],
    }  # fmt: skip
    assert [(o["operation"], o["kind"], o["name"], o["line"]) for o in waiting["objects"]] == [
        ("create", "ConfigMap", "settings", 1)
    ]
    assert [r.status_code for r in (early, other, started, again)] == [409, 409, 201, 409]
    assert early.json()["error"]["message"] == "1 approval missing"
    assert (result["state"], result["objects"][0]["outcome"]) == ("applied", "applied")
    assert program.get("reviews/1/").json()["status"] == "applied"
    assert len(team.wire.effective) == 1
    entry = AuditEntry.objects.get(action=AuditAction.REVIEW_CREATED)
    assert (entry.actor_name, entry.session) == ("alice", "token")


def test_secret_values_stay_inside(team, program):
    made = program.post("reviews/", body(secret(password=CANARY)))
    make()

    page = program.get("reviews/1/").content.decode()

    assert '"kind": "Secret"' in page
    assert [text for text in (CANARY, "Y2FuYXJ5") if text in page + made.content.decode()] == []


def test_every_problem_is_named_with_its_place(program):
    sent = body("kind: ConfigMap\n  bad: [\n", "a: 1\n---\nb: 2\n", cluster="nowhere", mode="magic", colour="red")
    del sent["title"]

    refused = program.post("reviews/", sent)

    problems = refused.json()["error"]["problems"]
    assert refused.status_code == 422
    assert {p["field"] for p in problems if "field" in p} >= {"title", "mode"}
    assert "there is no field 'colour'" in [p["message"] for p in problems]
    assert sorted({(p["file"], p["line"]) for p in problems if "file" in p})[0][0] == "0.yaml"
    assert {p["file"] for p in problems if "file" in p} == {"0.yaml", "1.yaml"}
    assert not Review.objects.exists()


def test_plan_is_made_again_of_new_files(team, program):
    program.post("reviews/", body(config_map(a="1")))
    early = program.post("reviews/1/plans/", {})
    make()

    again = program.post("reviews/1/plans/", {"files": body(config_map(a="2"))["files"]})
    make()

    assert (early.status_code, again.status_code, again.json()["plan"]) == (409, 201, 2)
    assert program.get("reviews/1/plans/1/").json()["status"] == "superseded"
    fields = {f["path"]: f["after"] for f in program.get("reviews/1/").json()["objects"][0]["fields"]}
    assert fields[".data.a"] == '"2"'


def test_objects_come_in_pages(team, program):
    program.post("reviews/", body(*(config_map(f"m{n}", a="1") for n in range(5))))
    make()

    page = program.get("reviews/1/?start=3&count=1").json()

    assert ([o["name"] for o in page["objects"]], page["objects_in_all"]) == (["m3"], 5)
    assert program.get("reviews/1/?count=9999").status_code == 422


@pytest.mark.parametrize("authorization", [None, "", "Bearer", "Bearer x", "Basic {0}", "{0}", "Token {0}"])
def test_nothing_opens_but_a_bearer_token(program, authorization):
    headers = {} if authorization is None else {"HTTP_AUTHORIZATION": authorization.format(program.text)}
    answer = Client().get("/api/v1/", **headers)

    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, 'Bearer realm="applyviz"')


def test_session_opens_no_api_and_token_opens_no_page(team, program):
    browser = Client()
    browser.force_login(team.alice)

    assert browser.get("/api/v1/").status_code == 401
    assert browser.post("/api/v1/reviews/", "{}", content_type="application/json").status_code == 401
    for path in ("/", "/reviews/", "/settings/tokens/"):
        answer = Client().get(path, HTTP_AUTHORIZATION=f"Bearer {program.text}")
        assert answer.headers["Location"].startswith("/login/")
    # A session beside a token changes nothing of what the token may do.
    program.client.force_login(team.bob)
    assert program.get("").json()["account"] == "alice"
    assert "applyviz_session" not in program.get("").cookies


@pytest.mark.parametrize("scope", TokenScope)
def test_scope_bounds_what_is_possible(team, scope):
    program = Program(team.alice, scope)
    statuses = [
        program.get("").status_code,
        program.post("reviews/", body(config_map(a="1"))).status_code,
        program.post("reviews/1/plans/1/run/", {"digest": "x"}).status_code,
        program.post("runs/1/cancel/", {}).status_code,
    ]

    assert (
        statuses
        == {
            TokenScope.READ: [200, 403, 403, 403],
            TokenScope.PLAN: [200, 201, 403, 403],
            TokenScope.APPLY: [200, 201, 409, 404],
        }[scope]
    )


def test_roles_bound_the_token_too(team, program):
    program.post("reviews/", body(config_map(a="1")))
    take_roles(team.alice)
    grant_role(team.alice, Role.VIEWER, cluster="other")

    assert program.get("").status_code == 200
    assert program.get("reviews/1/").status_code == 404
    assert program.post("reviews/", body(config_map(a="1"))).status_code == 403
    take_roles(team.alice)
    assert program.get("").status_code == 404


def test_foreign_and_missing_answer_alike(team, program):
    other = Program(make_person("zoe", Role.VIEWER))
    take_roles(other.person)
    grant_role(other.person, Role.VIEWER, cluster="elsewhere")
    program.post("reviews/", body(config_map(a="1")))

    foreign, missing = other.get("reviews/1/"), other.get("reviews/4711/")

    assert (foreign.status_code, missing.status_code) == (404, 404)
    assert foreign.content.replace(b"1", b"") == missing.content.replace(b"4711", b"")


def test_author_of_the_token_cannot_approve_what_it_asked_for(team, program):
    grant_role(team.alice, Role.APPROVER)
    program.post("reviews/", body(config_map(a="1")))
    make()
    plan = Plan.objects.get()

    with pytest.raises(Exception, match="can't approve your own changes"):
        approving.approve_plan(plan, by=team.alice, digest=plan.digest)


def test_run_is_canceled_by_a_program(team, program):
    run = team.start(team.plan(config_map(a="1")))

    answer = program.post(f"runs/{run.number}/cancel/", {})

    assert (answer.status_code, team.work(run).state) == (200, "canceled")


def test_unreadable_documents_that_slipped_in_block_the_plan(team, program):
    plan = team.plan(config_map(a="1"), "kind: x\n---\n: [")
    open_dangers(plan, team.bob)

    told = program.get("reviews/1/").json()

    assert plan.problems
    assert told["status"] == "blocked"
    assert any("in the manifests" in blocker for blocker in told["blockers"])
    with pytest.raises(Exception, match="in the manifests"):
        approving.approve_plan(plan, by=team.bob, digest=plan.digest)


BAD = [
    ("{", 400), ("[]", 400), ("1", 400), ('"x"', 400), ("{} {}", 400), ("\x00", 400), ('{"title": NaN}', 400),
    ('{"title": "\\ud800"}', 400), ("[" * 100_000, 400), ("9" * 5000, 400), (b"\xff\xfe", 400),
    ('{"files": [{"name": "../a.yaml", "content": "a: 1"}]}', 422), ('{"files": "x"}', 422), ('{"files": [1]}', 422),
    ('{"files": [{"name": "a.yaml"}]}', 422), ('{"title": {"a": 1}}', 422), ('{"title": "a\\u0000b"}', 422),
]  # fmt: skip


@pytest.mark.parametrize(("sent", "status"), BAD, ids=[repr(sent)[:30] for sent, _ in BAD])
def test_bad_bodies_are_refused_with_a_reason(program, sent, status):
    answer = program.post("reviews/", sent)

    assert answer.status_code == status
    assert answer.json()["error"]["problems"][0]["message"]


def test_method_type_and_address_are_refused_as_json(program):
    form = program.client.post("/api/v1/reviews/", {"title": "x"}, HTTP_AUTHORIZATION=f"Bearer {program.text}")
    statuses = [
        program.ask("get", "reviews/").status_code,
        program.ask("delete", "reviews/1/").status_code,
        form.status_code,
        program.get("nowhere/at/all").status_code,
    ]

    assert statuses == [405, 405, 415, 404]
    assert program.get("nowhere").json()["error"]["code"] == "not-found"
    assert program.get("").headers["Cache-Control"] == "no-store"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from(
    ("title", "reason", "ticket", "cluster", "namespace", "mode", "field_manager", "kustomization", "files", "digest")
)
FILES = st.lists(
    st.fixed_dictionaries({}, optional={"name": VALUES | st.just("a.yaml"), "content": VALUES}), max_size=3
)
BODIES = st.dictionaries(NAMES | st.text(max_size=10), VALUES | FILES, max_size=8)
PATHS = st.sampled_from(
    ("reviews/", "reviews/1/plans/", "reviews/1/plans/1/run/", "runs/1/cancel/", "reviews/99999999999999999999/plans/")
)


@pytest.fixture
def fuzzed(team, program, monkeypatch):
    """A program that may ask as often as it likes, and something to ask for."""
    monkeypatch.setattr(tokens, "PER_MINUTE", 1_000_000)
    team.review({"a.yaml": config_map(a="1")})
    return program


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(path=PATHS, sent=BODIES | VALUES)
def test_any_json_is_answered(fuzzed, path, sent):
    answer = fuzzed.post(path, json.dumps(sent))

    assert answer.status_code < 500
    assert isinstance(answer.json(), dict)


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(path=PATHS, sent=st.binary(max_size=200))
def test_any_bytes_are_answered(fuzzed, path, sent):
    assert fuzzed.post(path, sent).status_code < 500


@pytest.mark.long
@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(
    query=st.dictionaries(st.sampled_from(("wait", "seen", "start", "count", "x")), st.text(max_size=30)),
    text=st.text(),
)
def test_any_query_and_token_are_answered(fuzzed, query, text):
    good = fuzzed.client.get("/api/v1/reviews/1/", query, HTTP_AUTHORIZATION=f"Bearer {fuzzed.text}")
    bad = fuzzed.client.get("/api/v1/", HTTP_AUTHORIZATION=f"Bearer {text.encode('unicode_escape').decode()}")

    assert good.status_code < 500
    assert bad.status_code in (401, 429)


def test_prune_is_asked_for_by_a_program(team, program):
    kinds = "core/v1/ConfigMap,core/v1/Secret"
    asked = {"mode": "client", "prune": "allowlist", "selector": "app=a", "prune_allowlist": kinds}

    made = program.post("reviews/", body(config_map(a="1"), **asked))
    program.post("reviews/", body(config_map(a="1"), prune="applyset", applyset="configmaps/set"))

    chosen = [options_from_json(p.options) for p in Plan.objects.order_by("review__number")]
    assert made.json()["prune"] == "ConfigMap, Secret that were applied before and match app=a"
    assert [(o.selector, o.prune) for o in chosen] == [
        ("app=a", Prune(PruneMode.ALLOWLIST, ("core/v1/ConfigMap", "core/v1/Secret"))),
        ("", Prune(PruneMode.APPLYSET, applyset="configmaps/set")),
    ]


@pytest.mark.parametrize(
    "asked",
    [
        {"prune": {"applyset": "set", "except": ["core/Secret", "apps/StatefulSet"]}},
        {"prune": "applyset", "applyset": "set", "prune_except": "core/Secret,apps/StatefulSet"},
    ],
)
def test_kinds_that_are_never_pruned_are_named_by_a_program(team, program, asked):
    made = program.post("reviews/", body(config_map(a="1"), **asked))

    assert made.json()["prune"] == "former members of ApplySet set, never core/Secret, apps/StatefulSet"


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"prune": "allowlist", "selector": "app=a"}, "prune"),
        ({"prune": "allowlist", "mode": "client", "prune_all": "true", "selector": "app=a"}, "selector"),
        ({"prune_all": "true"}, "prune_all"),
        ({"applyset": "set"}, "applyset"),
        ({"prune": "applyset", "applyset": "set", "selector": "app=a"}, "selector"),
    ],
)
def test_prune_that_contradicts_itself_is_refused(team, program, asked, field):
    refused = program.post("reviews/", body(config_map(a="1"), **asked))

    assert (refused.status_code, Review.objects.count()) == (422, 0)
    assert field in {problem["field"] for problem in refused.json()["error"]["problems"]}


def test_poll_of_a_run_reads_its_results_only_when_they_moved(team, program, monkeypatch):
    plan = team.plan(config_map("one", a="1"), config_map("two", a="1"))
    run = team.start(plan)
    reads, looks = [], []
    present = responses.present_run_with_results
    monkeypatch.setattr(responses, "present_run_with_results", lambda *a, **k: reads.append(1) or present(*a, **k))
    monkeypatch.setattr(streams, "answer_when", lambda request, look, **_: looks.append(look) or JsonResponse(look()))

    before = program.get(f"runs/{run.number}/?seen=x&wait=5").json()
    same = [looks[0]() for _ in range(3)]
    team.work(run)
    after = looks[0]()

    assert [one["mark"] for one in same] == [before["mark"]] * 3
    assert after["mark"] != before["mark"]
    assert {one["outcome"] for one in after["objects"]} == {"applied"}
    assert len(reads) == 2
