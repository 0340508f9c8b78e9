"""Acknowledging risks on the page: offered to who may, linked from what blocks, only what was shown, undone."""

import re

import pytest
from django.urls import reverse

from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.engine.risks.restarts import PODS_RESTART
from applyviz.records.models import Acknowledgment
from applyviz.web.components.object_links import link_alone
from applyviz.workflow.approvals import acknowledgments
from applyviz.workflow.plans import live_values
from applyviz.workflow.plans.changes import read_masked
from tests.builders import make_policy, map_person
from tests.web import builders, rows

KIND = PODS_RESTART.slug


def make_dangerous(alice, *names, level=RiskLevel.HIGH):
    change = builders.build_change()
    change = replace(
        change,
        operation=Operation.UPDATE,
        conflicts=(),
        open_fields=(),
        risks=(Risk(PODS_RESTART, level, facts={"strategy": "Recreate"}),),
    )
    return rows.make_plan(alice, [replace(change, ref=change.ref._replace(name=name)) for name in names])


@pytest.fixture
def dangerous(alice):
    return make_dangerous(alice, "one", "two")


def url(plan, name="acknowledge"):
    return reverse(f"reviews:{name}", args=[plan.review.number, plan.number])


def link_object(plan, position):
    return f"{url(plan, 'show-changes')}?at={position}#object-{position}"


def show(browser, plan, position=0):
    address = link_alone(plan, position)
    return browser.get(address).content.decode()


def test_blocker_leads_to_the_risk(as_bob, dangerous):
    page = show(as_bob, dangerous)

    assert f'<a href="{url(dangerous, "show-risks")}#risk-{KIND}">1 risk to acknowledge</a>' in page
    assert "Acknowledge for this and the listed object" in page
    assert 'name="shown" value="1"' in page


def test_a_secret_that_is_hidden_from_the_reader_is_not_offered_with_others(as_bob, bob, alice, monkeypatch):
    change = replace(builders.build_change(), operation=Operation.UPDATE, conflicts=(), open_fields=())
    change = replace(change, risks=(Risk(PODS_RESTART, RiskLevel.HIGH, facts={"strategy": "Recreate"}),))
    secret = replace(change, ref=ObjectRef(GroupVersionKind("", "v1", "Secret"), "shop", "login"))
    plan = rows.make_plan(alice, [change, secret])
    assert "Acknowledge for this and the listed object" in show(as_bob, plan)
    map_person(plan.target.cluster, bob, "bob@example")
    monkeypatch.setattr(live_values, "list_allowed", lambda *names, by: [])

    page = show(as_bob, plan)

    assert ('name="one"' in page, "Acknowledge for this and the listed object" in page) == (True, False)


def test_note_is_taken_for_one_object_and_taken_back(as_bob, dangerous):
    answer = as_bob.post(url(dangerous), {"kind": KIND, "position": 0, "note": "at night"})

    assert answer.headers["Location"].endswith(f"/changes/?only=0#risk-{KIND}")
    assert [(a.object_key, a.note) for a in Acknowledgment.objects.all()] == [("apps/Deployment/shop/one", "at night")]
    page = show(as_bob, dangerous)
    assert "at night" in page
    assert "Undo" in page

    as_bob.post(url(dangerous, "withdraw-acknowledgment"), {"kind": KIND, "position": 0})
    assert Acknowledgment.objects.exclude(withdrawn_at=None).count() == 1


def test_note_is_taken_for_all_at_once(as_bob, dangerous):
    as_bob.post(url(dangerous), {"kind": KIND, "position": 0, "all": "1", "shown": ["1"]})

    assert Acknowledgment.objects.count() == 2
    assert "to acknowledge" not in show(as_bob, dangerous)


def test_what_was_not_shown_is_not_acknowledged(as_bob, alice):
    """A plan with an object of the same risk that the page did not list: the button does not reach it."""
    plan = make_dangerous(alice, "one", "two", "three")
    page = show(as_bob, plan)
    assert "Deployment/two" in page
    assert "all pods stop before new ones start" in page

    as_bob.post(url(plan), {"kind": KIND, "position": 0, "all": "1", "shown": ["2", "x", "-1"]})

    assert {a.object_key.rpartition("/")[2] for a in Acknowledgment.objects.all()} == {"one", "three"}


def test_many_objects_are_acknowledged_in_the_list(as_bob, alice):
    make_policy(many_objects=1)
    plan = make_dangerous(alice, "one", "two", level=RiskLevel.INFO)
    page = as_bob.get(url(plan, "show-risks")).content.decode()
    assert "2 objects change in one run; the policy limit for a large change is 1." in page
    assert 'id="risk-many-objects"' in page

    answer = as_bob.post(url(plan), {"kind": "many-objects", "position": -1})

    assert answer.headers["Location"].endswith("#risk-many-objects")
    assert acknowledgments.find_open(plan) == ()


def test_viewer_sees_it_and_may_not(as_viewer, as_charlie, dangerous):
    page = show(as_viewer, dangerous)

    assert "This must be acknowledged" in page
    assert url(dangerous) not in page
    form = {"kind": KIND, "position": 0}
    assert [b.post(url(dangerous), form).status_code for b in (as_viewer, as_charlie)] == [403, 404]


@pytest.mark.parametrize("form", [{}, {"kind": "nothing"}, {"kind": KIND, "position": 7}])
def test_button_of_a_stale_page_is_refused(as_bob, dangerous, form):
    assert as_bob.post(url(dangerous), form).status_code == 409


def test_taking_note_takes_no_get(as_bob, dangerous):
    assert [as_bob.get(url(dangerous, n)).status_code for n in ("acknowledge", "withdraw-acknowledgment")] == [405] * 2


HTMX = {"HX-Request": "true"}


def test_list_shows_each_object_with_its_sentence_and_lines(as_viewer, dangerous):
    page = as_viewer.get(url(dangerous, "show-risks")).content.decode()
    part = as_viewer.get(url(dangerous, "show-risks"), headers=HTMX).content.decode()

    wanted = ("Downtime", "Deployment/one", "all pods stop before new ones start")
    assert [text for text in wanted if text not in page.replace("<wbr>", "")] == []
    assert ("<html" in page, "<html" in part, 'id="risk-pods-restart"' in part) == (True, False, True)
    assert url(dangerous) not in page, "a viewer is offered no form"


def test_counts_of_risks_agree_everywhere(as_alice, dangerous, alice):
    acknowledgments.acknowledge_risks(dangerous, PODS_RESTART, by=alice, positions=[0])

    def count() -> list[bool]:
        overview = as_alice.get(url(dangerous, "show-overview")).content.decode()
        listed = as_alice.get(url(dangerous, "show-risks")).content.decode()
        done = acknowledgments.find_open(dangerous) == ()
        return [
            (">1 risk to acknowledge<" in page) is not done and (f"{int(done)} of 1 acknowledged" in page)
            for page in (overview, listed)
        ] + [f"{int(done)} of 1 high risk acknowledged" in listed, ("✓</span> acknowledged" in overview) is done]

    half = count()
    acknowledgments.acknowledge_risks(dangerous, PODS_RESTART, by=alice, positions=[1])

    assert (half, count()) == ([True] * 4, [True] * 4)


def test_acknowledging_in_the_drawer_answers_with_all_that_counts(as_bob, dangerous):
    form = {"kind": KIND, "position": 0, "back": "risks", "tab": "overview"}

    answer = as_bob.post(url(dangerous), form, headers=HTMX).content.decode()

    targets = ("#review-header", "#strip", "#risks")
    assert [f'hx-target="{target}"' in answer for target in targets] == [True] * 3
    assert "Acknowledged for 1 object." in answer
    assert "acknowledged by bob" in answer
    undone = as_bob.post(url(dangerous, "withdraw-acknowledgment"), form, headers=HTMX).content.decode()
    assert ("Acknowledgment undone." in undone, "acknowledged by bob" in undone) == (True, False)


def test_acknowledging_in_the_list_without_script_leads_back_to_it(as_bob, dangerous):
    answer = as_bob.post(url(dangerous), {"kind": KIND, "position": 0, "back": "risks"})

    assert answer.headers["Location"] == f"{url(dangerous, 'show-risks')}#risk-{KIND}"


def test_all_that_the_list_named_is_acknowledged_at_once(as_bob, alice):
    plan = make_dangerous(alice, "one", "two", "three")
    risks = [f"{KIND}:0,2", "x", "nothing:1", "rbac:-2", f"{KIND}:1,", f"{KIND}:1,x"]

    answer = as_bob.post(url(plan, "acknowledge-all"), {"risk": risks, "note": "read"})

    assert answer.headers["Location"] == url(plan, "show-risks")
    found = {(a.object_key.rpartition("/")[2], a.note) for a in Acknowledgment.objects.all()}
    assert found == {("one", "read"), ("three", "read")}


def test_naming_no_risk_acknowledges_nothing(as_bob, as_viewer, dangerous):
    forms = [{}, {"risk": [f"{KIND}:7"]}]

    assert [as_bob.post(url(dangerous, "acknowledge-all"), form).status_code for form in forms] == [409, 409]
    assert as_viewer.post(url(dangerous, "acknowledge-all"), {"risk": [f"{KIND}:0"]}).status_code == 403
    assert not Acknowledgment.objects.exists()


def test_same_kind_at_two_levels_has_two_places(as_bob, alice):
    change = replace(builders.build_change(), operation=Operation.UPDATE, conflicts=(), open_fields=())
    levels = ((RiskLevel.HIGH, "Recreate"), (RiskLevel.MEDIUM, "RollingUpdate"))
    plan = rows.make_plan(
        alice,
        [
            replace(
                change,
                ref=change.ref._replace(name=level.value),
                risks=(Risk(PODS_RESTART, level, facts={"strategy": strategy, "pods": "3"}),),
            )
            for level, strategy in levels
        ],
    )

    page = as_bob.get(url(plan, "show-risks")).content.decode()

    assert [page.count(f'id="risk-{KIND}{end}"') for end in ("", "-medium")] == [1, 1]
    assert page.count("data-acknowledge") == 1


def test_acknowledging_is_counted_in_risks_as_in_the_header_of_the_page(as_bob, alice):
    plan = make_dangerous(alice, *(f"o{n:02}" for n in range(60)))
    listed = as_bob.get(url(plan, "show-risks")).content.decode()
    everywhere = f"{KIND}:{','.join(map(str, range(60)))}"

    def send(*risks: str) -> str:
        answer = as_bob.post(url(plan, "acknowledge-all"), {"risk": risks}, headers=HTMX).content.decode()
        return re.findall('class="said">([^<]*)<', answer)[0]

    assert ("Acknowledge 2 risks" in listed, "Acknowledge all 2 risks…" in listed) == (True, True)
    assert send(everywhere, "many-objects:-1") == "Acknowledged 2 risks."


def test_acknowledging_a_risk_of_the_plan_names_the_plan(as_bob, alice):
    plan = make_dangerous(alice, *(f"o{n:02}" for n in range(60)))
    form = {"kind": "many-objects", "position": -1, "back": "risks"}

    answer = as_bob.post(url(plan), form, headers=HTMX).content.decode()

    assert "Acknowledged for the plan." in answer


@pytest.mark.long
def test_long_risk_is_folded_names_every_object_and_is_acknowledged_for_all(as_bob, alice):
    plan = make_dangerous(alice, *(f"o{n:03}" for n in range(60)))

    page = as_bob.get(url(plan, "show-risks")).content.decode()
    sent = re.findall(r'name="risk" value="([^"]+)"', page)

    assert ("Acknowledge for 60 objects" in page, "and 10 more objects" in page) == (True, True)
    assert re.findall(r'<a href="([^"]+)">Deployment/o059', page) == [link_object(plan, 59)]
    everywhere = f"{KIND}:{','.join(map(str, range(60)))}"
    assert sent == [everywhere, "many-objects:-1", everywhere]
    answer = as_bob.post(url(plan, "acknowledge-all"), {"risk": sent[:2]}, headers=HTMX).content.decode()
    assert (Acknowledgment.objects.count(), 'name="risk"' in answer) == (61, False)
    assert answer.count("✓") >= 10


def test_folded_risk_says_that_it_is_acknowledged_once_each_object_is(as_bob, alice):
    names = [f"o{n}" for n in range(8)]
    plan = make_dangerous(alice, *names)
    positions = [",".join(map(str, some)) for some in (range(7), (7,))]

    marks = []
    for some in positions:
        as_bob.post(url(plan, "acknowledge-all"), {"risk": f"{KIND}:{some}"}, headers=HTMX)
        page = as_bob.get(url(plan, "show-risks")).content.decode()
        [summary] = re.findall(rf'<h4 id="risk-title-{KIND}">.*?</summary>', page, re.DOTALL)
        marks.append("acknowledged" in summary)

    assert marks == [False, True]


def test_blocked_objects_are_one_medium_risk_that_leads_to_the_conflict(as_alice, as_viewer, refused_plan):
    pages = [browser.get(url(refused_plan, "show-risks")).content.decode() for browser in (as_alice, as_viewer)]

    assert ["#conflict-" in page and ">Resolve <" in page for page in pages] == [True, False]
    assert all("Blocked by conflict" in page for page in pages)


def test_superseded_plan_shows_no_acknowledgment_of_the_next_one(as_bob, dangerous, bob):
    changes = [read_masked(row) for row in dangerous.changes.all()]
    following = rows.add_plan(dangerous, changes)
    acknowledgments.acknowledge_risks(following, PODS_RESTART, by=bob)

    old, new = (as_bob.get(url(plan, "show-risks")).content.decode() for plan in (dangerous, following))
    after_it = rows.add_plan(following, changes)

    assert ("acknowledged by bob" in old, "acknowledged by bob" in new) == (False, True)
    assert "acknowledged by bob" in as_bob.get(url(after_it, "show-risks")).content.decode()
