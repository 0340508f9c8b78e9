"""Looking into the history: search, the life of an object, verification, export, and who may do which."""

import json

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.records.enums import AuditAction
from applyviz.records.models import ReviewScope
from applyviz.web.components.object_links import link_object
from applyviz.workflow.audit import chain, trail
from applyviz.workflow.evidence import history
from tests.builders import grant_role
from tests.web import builders, rows
from tests.workflow.test_audit import tamper

LIST, VERIFY = reverse("history:list-entries"), reverse("history:verify-chain")
FRONTEND = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "shop", "frontend")
LIFE = link_object("shop", "apps", "Deployment", "shop", "frontend")


def export_url(form):
    return reverse("history:export-entries", args=[form])


def count_rows():
    """The rows of every table of the product; a refused action leaves each as it was."""
    return {model.__name__: model._default_manager.count() for model in apps.get_app_config("records").get_models()}


def read(response):
    return b"".join(response.streaming_content).decode()


@pytest.fixture
def entries(alice):
    trail.record(
        AuditAction.REVIEW_CREATED, by=alice, about=trail.AuditSubject(cluster="shop"), detail={"title": "First"}
    )
    about = trail.AuditSubject(cluster="shop", ref=FRONTEND, run=3, field_manager="ci")
    trail.record(AuditAction.OBJECT_RESULT, by=None, about=about, detail={"outcome": "applied"})


@pytest.mark.parametrize("text", ["FRONT", "first", "applied", "alice"])
def test_text_is_looked_for_anywhere_in_an_entry(as_viewer, entries, text):
    page = as_viewer.get(LIST, {"text": text}).content.decode()

    assert page.count('aria-label="Entry ') == 1


@pytest.mark.parametrize("text", ["Größe", 'say "yes"', "50%"])
def test_text_is_found_as_people_write_it(as_viewer, alice, text):
    about = trail.AuditSubject(cluster="shop")
    trail.record(AuditAction.COMMENT_ADDED, by=alice, about=about, detail={"note": f"the {text} of it"})
    trail.record(AuditAction.COMMENT_ADDED, by=alice, about=about, detail={"note": "another"})

    assert as_viewer.get(LIST, {"text": text}).content.decode().count('aria-label="Entry ') == 1


def test_numbers_beyond_every_history_are_no_error(as_auditor, entries):
    huge = "9" * 40

    assert as_auditor.get(f"{LIST}{huge}/").status_code == 404
    assert as_auditor.get(LIST, {"before": huge, "review": huge, "text": "x"}).status_code == 200
    assert as_auditor.post(VERIFY, {"after": huge}).status_code == 200


def test_search_finds_rare_words_far_back(as_viewer, entries, monkeypatch):
    monkeypatch.setattr(history, "_NEAR", 0)

    page = as_viewer.get(LIST, {"text": "First"}).content.decode()

    assert page.count('aria-label="Entry ') == 1


def test_search_goes_on_behind_what_the_other_filters_leave_out(alice, monkeypatch):
    monkeypatch.setattr(history, "_NEAR", 0)
    for cluster in [*["shop"] * 3, *["box"] * 10]:
        trail.record(
            AuditAction.COMMENT_ADDED, by=alice, about=trail.AuditSubject(cluster=cluster), detail={"note": "Tulip"}
        )
    chosen = {"text": "tulip comment", "cluster": "shop"}
    numbers = [entry.pk for entry in history.find_entries(chosen)]

    first = history.find_page(chosen, before=None, count=2)
    second = history.find_page(chosen, before=first[-1].pk, count=2)

    assert ([entry.pk for entry in first], [entry.pk for entry in second]) == (numbers[:2], numbers[2:])
    assert len(numbers) == 3


def test_entries_link_person_cluster_manager_object_and_run(as_viewer, entries):
    page = as_viewer.get(LIST).content.decode()

    wanted = [f"{LIST}people/alice/", f"{LIST}clusters/shop/", f"{LIST}managers/ci/", LIFE, "/runs/3/"]
    assert [link for link in wanted if f'href="{link}"' not in page] == []


@pytest.mark.parametrize("count", [1, 3])
def test_search_asks_the_database_a_fixed_number_of_times(as_viewer, alice, count, django_assert_num_queries):
    for _n in range(count):
        trail.record(AuditAction.SIGNED_IN, by=alice, about=trail.AuditSubject())

    with django_assert_num_queries(11):
        as_viewer.get(LIST, {"text": "alice"})


def test_life_of_an_object_holds_plans_results_and_entries(as_viewer, entries, plan, bob):
    rows.make_run(plan, bob, outcome="not-attempted")

    page = as_viewer.get(LIFE).content.decode()

    wanted = [
        "planned: update</span>",
        "/reviews/1/plans/1/changes/?at=0#object-0",
        "not attempted</span>",
        "/runs/1/objects/0/",
        "applied</span>",
        reverse("history:show-entry", args=[2]),
    ]
    assert [text for text in wanted if text not in page] == []
    assert page.index("applied</span>") < page.index("planned: update</span>")


def test_result_that_the_history_tells_stands_there_once(as_viewer, plan, bob):
    run = rows.make_run(plan, bob)
    about = trail.AuditSubject(cluster="shop", ref=FRONTEND, run=run.number)
    trail.record(AuditAction.OBJECT_RESULT, by=None, about=about, detail={"outcome": "applied"})

    assert as_viewer.get(LIFE).content.decode().count("applied</span>") == 1


def test_life_of_an_object_goes_on_without_a_gap(as_viewer, entries):
    about = trail.AuditSubject(cluster="shop", ref=FRONTEND)
    for _n in range(70):
        trail.record(AuditAction.OBJECT_INTENT, by=None, about=about)

    first = as_viewer.get(LIFE)
    second = as_viewer.get(LIFE + first.context["page"].older_url)

    pages = [[event.links[-1].url for event in answer.context["page"].events] for answer in (first, second)]
    assert [len(page) for page in pages] == [50, 21]
    assert len(set(pages[0] + pages[1])) == 71


@pytest.mark.parametrize("count", [1, 3])
def test_life_asks_the_database_a_fixed_number_of_times(as_viewer, alice, count, django_assert_num_queries):
    for _n in range(count):
        rows.make_plan(alice, [builders.build_change()])
        trail.record(AuditAction.OBJECT_INTENT, by=alice, about=trail.AuditSubject(cluster="shop", ref=FRONTEND))

    with django_assert_num_queries(8):
        as_viewer.get(LIFE)


def test_life_leaves_out_what_reviews_of_other_places_did(plan, bob, entries):
    """A review that touches more than a person sees does not exist for them, here as in every list."""
    about = trail.AuditSubject(cluster="shop", ref=FRONTEND, review=1, plan=1)
    trail.record(AuditAction.RISK_ACKNOWLEDGED, by=bob, about=about)
    rows.make_run(plan, bob, outcome="not-attempted")
    near = User.objects.create_user("nadia")
    grant_role(near, "viewer", cluster="shop", namespace="shop")
    browser = Client()
    browser.force_login(near)

    def find():
        page = browser.get(LIFE).content.decode()
        return [text for text in ("planned: update", "not attempted", "acknowledged", "applied</span>") if text in page]

    ReviewScope.objects.create(review=plan.review, cluster=plan.target.cluster, namespace="shop")
    assert find() == ["planned: update", "not attempted", "acknowledged", "applied</span>"]
    ReviewScope.objects.create(review=plan.review, cluster=plan.target.cluster, namespace="elsewhere")
    assert find() == ["applied</span>"]


@pytest.mark.parametrize(
    ("address", "status"),
    [
        (LIFE, 404),
        (LIFE.replace("frontend", "other"), 404),
        (LIFE.replace("apps", "core"), 404),
        (LIFE.replace("end", "%00"), 400),  # no request with a NUL is read
    ],
)
def test_object_that_nobody_knows_has_no_page(as_viewer, db, address, status):
    assert as_viewer.get(address).status_code == status


def test_addresses_of_objects():
    assert link_object("box", "", "Namespace", "", "shop") == "/history/objects/box/core/Namespace/-/shop/"
    assert (
        link_object("box", "rbac", "ClusterRole", "", "system:a b")
        == "/history/objects/box/rbac/ClusterRole/-/system:a%20b/"
    )
    assert [link_object(*parts) for parts in (("box", "", "A", "", "b/c"), ("", "", "A", "", "b"))] == ["", ""]


@pytest.mark.parametrize("before", ["nonsense", "2026-99-99T00:00", "2026-01-01T00:00:00"])
def test_moment_that_cannot_be_read_is_now(as_viewer, entries, before):
    assert len(as_viewer.get(LIFE, {"before": before}).context["page"].events) == 1


def test_export_is_the_current_filter_and_a_file(as_auditor, entries):
    answer = as_auditor.get(export_url("jsonl"), {"kind": "Deployment"})
    lines = read(answer).splitlines()

    assert [(json.loads(line)["chain"], json.loads(line)["sequence"]) for line in lines] == [(3, 1)]
    assert answer["Content-Disposition"] == 'attachment; filename="history-selection-2.jsonl"'
    assert read(as_auditor.get(export_url("csv"))).startswith('"chain","sequence","action",')


def test_export_in_another_form_is_not_found(as_auditor, entries):
    assert as_auditor.get(export_url("xlsx")).status_code == 404


def test_list_offers_export_and_verification_to_those_who_may(as_auditor, as_viewer, entries):
    def offers(browser):
        page = browser.get(LIST, {"kind": "Deployment"}).content.decode()
        return [address in page for address in (f"{export_url('jsonl')}?kind=Deployment", VERIFY)]

    assert (offers(as_auditor), offers(as_viewer)) == ([True, True], [False, False])


def test_who_may_read_verify_and_export(as_auditor, as_bob, as_alice, as_viewer, as_charlie, entries):
    addresses = (LIST, LIFE, VERIFY, export_url("csv"), export_url("jsonl"))

    def answers(browser):
        return [browser.get(address).status_code for address in addresses]

    assert answers(as_auditor) == answers(as_bob) == [200] * 5
    assert answers(as_alice) == answers(as_viewer) == [200, 200, 403, 403, 403]
    assert answers(as_charlie) == [404] * 5


def test_auditor_reads_all_and_changes_nothing(as_auditor, plan):
    read_addresses = ("/", "/reviews/", "/reviews/1/", "/clusters/", "/clusters/shop/")
    writes = ("/reviews/new/", "/reviews/1/plans/1/replan/", "/reviews/1/close/", "/reviews/1/plans/1/apply/")

    assert [as_auditor.get(address).status_code for address in read_addresses] == [200] * 5
    before = count_rows()
    assert [as_auditor.post(address).status_code for address in writes] == [403] * 4
    assert count_rows() == before


def test_verification_says_intact_with_the_head(as_auditor, entries):
    page = as_auditor.post(VERIFY).content.decode()

    assert ("All 2 entries are intact." in page, page.count(str(chain.find_checkpoint()))) == (True, 2)


def test_verification_names_the_first_bad_entry(as_auditor, entries):
    tamper("UPDATE records_auditentry SET actor_name = 'mallory' WHERE sequence = 1")

    page = as_auditor.post(VERIFY, headers={"HX-Request": "true"}).content.decode()

    assert ("<html" in page, reverse("history:show-entry", args=[1]) in page) == (False, True)
    assert "its content is not what was written" in page


def test_long_verification_goes_on_in_slices(as_auditor, entries, monkeypatch):
    monkeypatch.setattr("applyviz.web.history.pages.verification.SLICE", 1)

    first = as_auditor.post(VERIFY, headers={"HX-Request": "true"}).content.decode()
    after = first.split('name="after" value="')[1].split('"')[0]
    given = {"after": after, "checked": "1"}
    monkeypatch.setattr("applyviz.web.history.pages.verification.SLICE", 2)
    last = as_auditor.post(VERIFY, given, headers={"HX-Request": "true"}).content.decode()

    assert ("1 of 2 entries" in first, 'name="checked" value="1"' in first) == (True, True)
    assert ("All 2 entries are intact." in last, 'name="after"' in last) == (True, False)


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (f"1:{'0' * 64}", "it is not the published checkpoint"),
        (f"9:{'0' * 64}", "are missing"),
        ("<b>", "sequence:hash"),
    ],
)
def test_history_is_held_to_a_published_head(as_auditor, entries, head, said):
    page = as_auditor.post(VERIFY, {"head": head}).content.decode()

    assert (said in page, "entries are intact" in page, "<b>" in page) == (True, False, False)
