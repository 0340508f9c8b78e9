"""The review: its frame, its tabs, and their states."""

import re

import pytest
from django.urls import reverse

from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.planning.model.resources import ResourceSum
from applyviz.engine.planning.model.summary import PlanSummary
from applyviz.engine.risks.immutable import IMMUTABLE_FIELD
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.engine.risks.reach import CRD_CHANGED
from applyviz.engine.risks.removals import REMOVAL_WILL_NOT_HAPPEN
from applyviz.web.components.object_links import link_alone
from applyviz.web.reviews.views.tabs import COOKIE
from applyviz.workflow.approvals import acknowledgments
from tests.builders import make_policy
from tests.web import builders, reading, rows

HTMX = {"HX-Request": "true"}


def tab(plan, name: str) -> str:
    return reverse(f"reviews:show-{name}", args=[plan.review.number, plan.number])


def url(plan) -> str:
    return reverse("reviews:show-review", args=[plan.review.number])


def test_changes_show_header_strip_and_first_object(as_alice, refused_plan):
    answer = as_alice.get(tab(refused_plan, "changes"))

    page = answer.content.decode()
    assert answer.status_code == 200
    assert [
        text
        for text in ("Upgrade the shop", "1 blocked by conflicts", "Resolve 1 conflict", "unresolved", "hotfix-3")
        if text not in page
    ] == []


def test_review_names_both_values_owners_and_reason(as_alice, plan):
    page = as_alice.get(tab(plan, "changes")).content.decode()

    wanted = ("v0.8.0", "v0.10.1", "kube-controller-manager", "Update · scale", "removal blocked", "RollingUpdate")
    assert [text for text in wanted if text not in page] == []


def test_blockers_link_to_the_very_conflict_and_to_the_broken_object(as_bob, alice):
    conflicting, first = builders.build_change(), ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), "shop", "first")
    risks = (Risk(CRD_CHANGED, RiskLevel.HIGH),)
    risky = replace(conflicting, ref=first, operation=Operation.UPDATE, conflicts=(), fields=(), risks=risks)
    broken = replace(risky, ref=first._replace(name="broken"), operation=Operation.ERROR, error="no", risks=())
    page = reading.read(as_bob, url(rows.make_plan(alice, [risky, broken, conflicting])))

    shown, found = reading.follow(as_bob, page, "1 object with unresolved conflicts")
    _page, target = reading.follow(as_bob, page, "1 object has errors")

    assert (found[-1].name, reading.attribute(found[-1], "id")) == ("fieldset", "conflict-2-4")
    (row,) = (e for e in reading.find_all(shown, "div") if reading.attribute(e, "id") == "object-2-field-4")
    (field, *_more) = reading.find_all(row, "details")
    assert (reading.attribute(field, "open") is not None, "image" in reading.text_of(field)) == (True, True)
    assert (reading.attribute(target[-1], "id"), "broken" in reading.text_of(target[-1])) == ("object-1", True)


def test_blocked_plan_cannot_be_approved(as_bob, refused_plan):
    page = as_bob.get(url(refused_plan)).content.decode()

    assert reverse("reviews:confirm-plan", args=[refused_plan.review.number, 1]) not in page


def test_author_is_told_that_another_approves(as_alice, plan):
    page = as_alice.get(url(plan)).content.decode()

    assert "Only approvers can approve." in page


def test_approver_gets_a_link_to_confirm(as_bob, plan):
    page = as_bob.get(url(plan)).content.decode()

    assert f'href="{reverse("reviews:confirm-plan", args=[plan.review.number, 1])}"' in page


def test_plan_that_is_being_made_polls_and_its_fragment_ends_with_it(as_alice, alice):
    plan = rows.make_plan(alice, [builders.build_change()], state="planning")
    address = tab(plan, "changes")

    page = as_alice.get(address).content.decode()
    fragment = as_alice.get(address, headers=HTMX).content.decode()
    rows.keep_details(plan, [builders.build_change()])
    type(plan).objects.filter(pk=plan.pk).update(state="complete", digest=rows.DIGEST)
    finished = as_alice.get(address, headers=HTMX).content.decode()

    assert 'hx-trigger="look, every' in page
    assert "8 objects being planned" in page
    assert ("being planned" in finished, '<hx-partial hx-target="#changes"' in finished) == (False, True)
    assert "<span data-progress-done>1</span> of 9 objects planned" in page
    assert ("<html" in fragment, 'hx-trigger="look, every' in fragment) == (False, True)
    assert 'hx-trigger="look, every' not in finished


def test_tabs_get_their_numbers_with_the_end_of_planning(as_alice, alice):
    plan = rows.make_plan(alice, [builders.build_change()], state="planning")
    address = tab(plan, "overview")

    page = as_alice.get(address).content.decode()
    type(plan).objects.filter(pk=plan.pk).update(
        state="complete", digest=rows.DIGEST, counts={"create": 2, "update": 36}
    )
    finished = as_alice.get(address, headers=HTMX).content.decode()

    parts = [part.partition("</hx-partial>")[0] for part in finished.split("<hx-partial ")]
    (links,) = (part for part in parts if part.startswith('hx-target="#tab-links"'))
    assert 'id="tab-links"' in page
    assert re.findall(r'count">(\d+)<', links)[:2] == ["38", "38"]


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("planning", ["Risks are listed when the plan is complete.", "Restarts are listed when the plan is complete."]),
        ("failed", ["Unknown: the plan is not complete.", "Unknown: the plan is not complete."]),
    ],
)
def test_plan_that_is_not_complete_claims_no_number(as_alice, alice, state, said):
    plan = rows.make_plan(alice, [builders.build_change()], state=state)

    page = reading.read(as_alice, tab(plan, "overview"))

    cards = [
        (reading.text_of(reading.find_all(card, "header")[0]), reading.text_of(reading.find_all(card, "p")[0]))
        for card in reading.find_all(page, "section")
        if reading.attribute(card, "aria-labelledby") in ("risks-title", "pods-title")
    ]
    (about,) = (one for one in reading.find_all(page, "p") if reading.attribute(one, "class") == "target")
    assert ("requested" in reading.text_of(about), "planned" in reading.text_of(about)) == (True, False)
    (links,) = (nav for nav in reading.find_all(page, "nav") if reading.attribute(nav, "id") == "tab-links")
    assert cards == list(zip(["Risks", "Pods that restart"], said, strict=True))
    assert [reading.text_of(a) for a in reading.find_all(links, "a")][1:5] == ["Changes", "Graph", "Owners", "Requests"]


@pytest.mark.core(1)
@pytest.mark.parametrize(("operation", "is_assessed"), [(Operation.ERROR, False), (Operation.UPDATE, True)])
def test_object_with_an_error_is_not_said_to_have_no_risk(as_alice, as_bob, alice, operation, is_assessed):
    calm = replace(builders.build_change(), operation=Operation.UPDATE, conflicts=(), open_fields=(), risks=())
    risks = () if is_assessed else (Risk(IMMUTABLE_FIELD, RiskLevel.HIGH),)
    other = replace(calm, ref=calm.ref._replace(name="other"), operation=operation, risks=risks)
    plan = rows.make_plan(alice, [calm, other])

    for name in ("overview", "risks"):
        page = reading.text_of(reading.read(as_alice, tab(plan, name)))

        assert ("No risks found in planned objects. Objects with errors show" in page) == (not is_assessed)
        assert ("No risks found." in page) == is_assessed
        assert ("No risks in planned objects" in page) == (not is_assessed)
    url = reverse("reviews:confirm-plan", args=[plan.review.number, plan.number])
    sheet = reading.text_of(reading.read(as_bob, url))
    assert ("High risks none in planned objects" in sheet) == (not is_assessed)


def test_failed_plan_tells_the_reason_and_offers_another(as_alice, alice):
    plan = rows.make_plan(alice, [], state="failed", error="the cluster did not answer")

    page = as_alice.get(url(plan)).content.decode()

    assert "the cluster did not answer" in page
    assert f'action="{reverse("reviews:replan", args=[plan.review.number, plan.number])}"' in page


def test_problems_are_told_with_file_line_and_column(as_alice, alice):
    problem = {"reason": "mapping values are not allowed here", "file": "flags.yaml", "line": 7, "column": 12}
    plan = rows.make_plan(alice, [builders.build_change()], problems=(problem,))

    assert "flags.yaml:7:12: mapping values are not allowed here" in as_alice.get(url(plan)).content.decode()


def test_identical_changes_are_read_once(as_alice, alice):
    one = replace(builders.build_change(), operation=Operation.UPDATE, conflicts=(), risks=())
    many = [replace(one, ref=one.ref._replace(name=f"service-{n}")) for n in range(4)]
    plan = rows.make_plan(alice, many)

    page = as_alice.get(tab(plan, "changes")).content.decode()

    assert "Identical changes" in page
    assert "4 Deployments with the same change" in page
    assert page.count("data-scroll-object") == 1


def test_review_is_hidden_from_outsiders(as_charlie, plan):
    assert as_charlie.get(url(plan)).status_code == 404


def test_review_sends_visitors_to_the_login(client, plan):
    assert client.get(url(plan)).headers["Location"] == f"/login/?next={url(plan)}"


def test_unknown_review_is_not_found(as_alice):
    assert as_alice.get("/reviews/99/").status_code == 404


def test_review_refuses_other_methods(as_alice, plan):
    assert as_alice.post(url(plan)).status_code == 405


QUERIES = {"overview": 15, "changes": 15, "graph": 13, "owners": 13, "requests": 13, "activity": 15}


@pytest.mark.core(4)
@pytest.mark.parametrize("objects", [3, 20])
@pytest.mark.parametrize("name", list(QUERIES))
@pytest.mark.parametrize("operation", [Operation.UPDATE, Operation.BLOCKED])
def test_tab_asks_the_database_a_fixed_number_of_times(
    as_bob, alice, objects, name, operation, django_assert_max_num_queries
):
    """However many objects there are; a conflict costs the link to it."""
    change = replace(builders.build_change(), operation=operation)
    plan = rows.make_plan(alice, [replace(change, ref=change.ref._replace(name=f"o{n}")) for n in range(objects)])
    as_bob.get(tab(plan, name))
    more = 0 if operation is Operation.UPDATE else 1

    with django_assert_max_num_queries(QUERIES[name] + more):
        as_bob.get(tab(plan, name))


@pytest.mark.parametrize(("waits", "told"), [(False, "rollouts not watched"), (True, "rollouts watched")])
def test_track_says_whether_rollouts_were_awaited(as_viewer, plan, bob, waits, told):
    run = rows.make_run(plan, bob)
    type(run).objects.filter(pk=run.pk).update(state="applied", rules={"waits_for_rollout": waits})

    assert told in as_viewer.get(url(plan)).content.decode()


def test_picture_says_what_its_underline_means(as_viewer, alice, plan):
    risk = Risk(REMOVAL_WILL_NOT_HAPPEN, RiskLevel.HIGH, builders.REPLICAS, {"owners": "x"})
    risky = rows.make_plan(alice, [replace(builders.build_change(), risks=(risk,))])

    broken = replace(builders.build_change(), risks=(risk,), operation=Operation.ERROR, error="Forbidden")
    failed = rows.make_plan(alice, [broken])  # objects with errors are not assessed

    pages = [as_viewer.get(url(one)).content.decode() for one in (plan, risky, failed)]

    assert ["Red bar: high risk" in page for page in pages] == [False, True, False]


def shown_tab(browser, address: str) -> str:
    """The tab that an address opens."""
    page = reading.read(browser, address)
    (nav,) = (e for e in reading.find_all(page, "nav") if reading.attribute(e, "aria-label") == "Review")
    (current,) = reading.find_all(nav, "a", has="aria-current")
    return reading.text_of(current).split()[0]


def test_review_opens_the_overview_first_and_then_the_tab_that_was_used_last(as_alice, plan):
    first = shown_tab(as_alice, url(plan))
    opened = [shown_tab(as_alice, tab(plan, name)) for name in ("overview", "requests", "activity", "changes")]

    assert first == "Overview"
    assert opened == ["Overview", "Requests", "Activity", "Changes"]
    assert shown_tab(as_alice, url(plan)) == "Changes"
    assert as_alice.cookies[COOKIE]["path"] == f"/reviews/{plan.review.number}/"  # another review begins anew
    assert shown_tab(as_alice, reverse("reviews:show-latest-overview", args=[plan.review.number])) == "Overview"


def test_unknown_tab_in_the_cookie_opens_the_overview(as_alice, plan):
    as_alice.cookies[COOKIE] = "nonsense"

    assert shown_tab(as_alice, url(plan)) == "Overview"


def test_count_of_the_strip_leads_to_those_objects(as_alice, refused_plan):
    page = reading.read(as_alice, tab(refused_plan, "overview"))
    (strip,) = (e for e in reading.find_all(page, "section") if reading.attribute(e, "id") == "strip")

    (link,) = (a for a in reading.find_all(strip, "a") if "blocked" in reading.text_of(a))

    assert reading.text_of(link) == "! 1 blocked"
    assert reading.attribute(link, "href") == f"{tab(refused_plan, 'changes')}?op={Operation.BLOCKED.value}"


def next_act(browser, plan) -> str:
    """The text of the one next act."""
    page = reading.read(browser, tab(plan, "overview"))
    (found,) = (e for e, _above in reading.walk(page) if reading.attribute(e, "data-next-act") is not None)
    return reading.text_of(found)


def test_next_act_is_what_this_person_can_do(as_alice, as_bob, as_viewer, refused_plan, alice):
    risks = (Risk(CRD_CHANGED, RiskLevel.HIGH),)
    risky = replace(builders.build_change(), operation=Operation.UPDATE, conflicts=(), risks=risks)
    risky_plan = rows.make_plan(alice, [risky])

    acts = [next_act(browser, one) for one in (refused_plan, risky_plan) for browser in (as_alice, as_bob, as_viewer)]

    assert acts == [
        "Resolve 1 conflict",
        "Approve plan 1",
        "Approve plan 1",
        "Acknowledge 1 risk",
        "Acknowledge 1 risk",
        "Approve plan 1",
    ]


def test_approver_is_told_which_objects_to_view_and_then_approves(as_bob, bob, alice):
    risks = (Risk(REMOVAL_WILL_NOT_HAPPEN, RiskLevel.HIGH, builders.REPLICAS, {"owners": "x"}),)
    risky = replace(builders.build_change(), operation=Operation.UPDATE, conflicts=(), risks=risks)
    plan = rows.make_plan(alice, [risky])
    acknowledgments.acknowledge_risks(plan, REMOVAL_WILL_NOT_HAPPEN, by=alice)

    before = next_act(as_bob, plan)
    as_bob.post(reverse("reviews:mark-viewed", args=[plan.review.number, 1]), {"seen": "0"})

    assert (before, next_act(as_bob, plan)) == ("View 1 high-risk object", "Approve plan 1…")


def test_requests_are_listed_with_method_and_parameters(as_viewer, plan):
    page = as_viewer.get(tab(plan, "requests")).content.decode()

    assert "PATCH" in page
    assert reverse("reviews:keep-requests", args=[plan.review.number, 1]) in page
    assert link_alone(plan, 0, "requests").replace("&", "&amp;") in page


def test_requests_come_in_pages(as_viewer, alice):
    change = builders.build_change()
    one = replace(change, operation=Operation.UPDATE, conflicts=(), risks=())
    plan = rows.make_plan(alice, [replace(one, ref=one.ref._replace(name=f"o{n}")) for n in range(60)])

    pages = [as_viewer.get(tab(plan, "requests"), {"page": n}).content.decode() for n in (1, 2, 9)]

    assert ["1 to 50 of 60 objects" in pages[0], "51 to 60 of 60" in pages[1], "51 to 60 of 60" in pages[2]] == [
        True
    ] * 3


def test_every_tab_tells_how_far_planning_is(as_alice, alice):
    plan = rows.make_plan(alice, [builders.build_change()], state="planning")

    for name in ("overview", "changes", "requests", "activity"):
        page = as_alice.get(tab(plan, name)).content.decode()
        moved = as_alice.get(tab(plan, name), headers=HTMX).content.decode()
        assert "<span data-progress-done>1</span> of 9 objects planned" in page
        assert ("<html" in moved, f'hx-get="{tab(plan, name)}"' in moved, 'hx-target="#strip"' in moved) == (
            False,
            True,
            True,
        )


def test_overview_sums_requests_and_limits_by_namespace(as_viewer, alice):
    sums = (
        ResourceSum("shop", "requests", "cpu", "0.25", "1.5"),
        ResourceSum("shop", "limits", "memory", "0", "1610612736"),
    )
    plan = rows.make_plan(alice, [builders.build_change()], impact=PlanSummary(resources=sums))

    page = reading.lines_of(reading.read(as_viewer, tab(plan, "overview")))

    assert "CPU requests 0.25 1.5" in page
    assert "Memory limits 0 1.5 GiB" in page


def main_button(browser, plan) -> tuple[str, str, str]:
    """The text of the main button, its address, and the line beside it."""
    page = reading.read(browser, reverse("reviews:show-plan", args=[plan.review.number, plan.number]))
    (go,) = (e for e in reading.find_all(page, "div") if reading.attribute(e, "class") == "go")
    (act,) = (e for name in ("a", "button", "span") for e in reading.find_all(go, name, has="data-next-act"))
    why = "".join(reading.text_of(e) for e in reading.find_all(go, "p"))
    return reading.text_of(act), reading.attribute(act, "href") or "", why.replace(" .", ".")


def test_superseded_plan_leads_to_the_latest(as_alice, as_bob, plan):
    rows.add_plan(plan, [builders.build_change()])

    for browser in (as_alice, as_bob):
        text, address, _why = main_button(browser, plan)
        assert (text, address) == ("Go to plan 2", reverse("reviews:show-plan", args=[plan.review.number, 2]))


def test_main_button_is_what_the_author_can_do_and_whom_an_approver_waits_for(as_alice, as_bob, alice):
    plan = rows.make_plan(alice, [replace(builders.build_change(), operation=Operation.ERROR, error="no")])
    manifests = reverse("reviews:replace-manifests", args=[plan.review.number])

    assert main_button(as_alice, plan) == ("Upload new manifests", manifests, "1 object has errors")
    assert main_button(as_bob, plan) == ("Approve plan 1", "", "1 object has errors. Waiting for alice.")


def test_plan_under_another_policy_is_planned_again_by_its_author(as_alice, as_bob, plan):
    make_policy(approvals=2)

    assert main_button(as_alice, plan)[0] == "Re-plan"
    assert main_button(as_bob, plan)[2].endswith(": re-plan. Waiting for alice.")
