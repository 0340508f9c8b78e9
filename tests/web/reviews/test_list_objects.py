"""Narrowing the list of objects, with script and without; ticks; long groups."""

import re

import pytest
from django.urls import reverse

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.engine.risks.removals import REMOVAL_WILL_NOT_HAPPEN
from applyviz.records.models import ViewedObject
from applyviz.web.components.object_links import link_alone
from applyviz.web.reviews.pages import object_groups, object_list
from applyviz.web.reviews.pages.search.row_words import describe_object
from tests.web import builders, rows

HTMX = {"HX-Request": "true"}


def _change(name: str, namespace: str = "shop", operation: Operation = Operation.UPDATE, **values):
    change = replace(builders.build_change(), operation=operation, **{"conflicts": (), "risks": (), **values})
    fields = change.fields if operation is Operation.BLOCKED else change.fields[:1]
    return replace(change, ref=change.ref._replace(name=name, namespace=namespace), fields=fields)


@pytest.fixture
def many(alice):
    risk = Risk(REMOVAL_WILL_NOT_HAPPEN, RiskLevel.HIGH, builders.REPLICAS, {"owners": "x"})
    return rows.make_plan(
        alice,
        [
            _change("cart"),
            _change("mail", "office", Operation.CREATE),
            replace(builders.build_change(), ref=builders.build_change().ref._replace(name="refused")),
            _change("risky", risks=(risk,)),
            _change("calm", operation=Operation.UNCHANGED),
        ],
    )


def url(plan) -> str:
    return reverse("reviews:list-changes", args=[plan.review.number, plan.number])


def names(answer) -> list[str]:
    return sorted(list_names(answer.content.decode()))


def list_names(page: str) -> list[str]:
    """The names in the list, in its order."""
    return re.findall(r'data-item="\d+">.*?<span class="name"\s+title="[^"]*">([^<]+)</span>', page, re.DOTALL)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["calm", "cart", "mail", "refused", "risky"]),
        ("q=CART", ["cart"]),
        ("q=office+mail", ["mail"]),
        ("op=create", ["mail"]),
        ("ns=office", ["mail"]),
        ("kind=Service", []),
        ("manager=kubectl-set", ["refused"]),
        ("manager=nobody", []),
        ("risk=removal-will-not-happen", ["refused", "risky"]),
        ("risk=removal-will-not-happen&q=ris", ["risky"]),
        ("risk=nonsense", ["calm", "cart", "mail", "refused", "risky"]),
        ("only=conflicts", ["refused"]),
        ("only=risks", ["refused", "risky"]),
        ("only=unseen", ["cart", "mail", "refused", "risky"]),
        ("op=nonsense&only=nonsense", ["calm", "cart", "mail", "refused", "risky"]),
    ],
)
def test_list_holds_what_is_asked_for(as_bob, many, query, expected):
    fragment = as_bob.get(f"{url(many)}?{query}", headers=HTMX)
    page = as_bob.get(f"{url(many)}?{query}")

    assert (names(fragment), "<html" in fragment.content.decode()) == (expected, False)
    assert "<html" in page.content.decode()
    assert names(page) == expected


def is_ticked(page):
    """Whether the object that stands alone is viewed."""
    (box,) = re.findall(r'<input type="checkbox" name="viewed" id="viewed-object-0"([^>]*)>', page)
    return " checked" in f" {' '.join(box.split())}"


def test_opening_an_object_ticks_nothing_off(as_bob, many):
    address = link_alone(many, 0)

    opened = as_bob.get(address).content.decode()

    assert (is_ticked(opened), ViewedObject.objects.count()) == (False, 0)


def test_box_of_an_object_alone_ticks_the_object_off_for_this_person(as_bob, as_viewer, many):
    marking = reverse("reviews:mark-viewed", args=[many.review.number, 1])
    address = link_alone(many, 0)

    answer = as_bob.post(marking, {"position": "0", "viewed": "on", "alone": "on"})
    pages = [browser.get(url(many)).content.decode() for browser in (as_bob, as_viewer)]

    assert answer.headers["Location"] == f"{address}#object-0"
    assert ['value="1" max="4"' in pages[0], 'value="0" max="4"' in pages[1]] == [True, True]
    assert is_ticked(as_bob.get(address).content.decode())


def test_blocker_links_to_a_high_risk_and_goes_when_it_was_seen(as_bob, many):
    risky = f"{reverse('reviews:show-changes', args=[many.review.number, 1])}?at=3#object-3"

    before = as_bob.get(reverse("reviews:show-review", args=[many.review.number])).content.decode()
    marking = reverse("reviews:mark-viewed", args=[many.review.number, 1])
    seen = as_bob.post(marking, {"seen": "3", "has_meter": "on"}, headers=HTMX).content.decode()

    assert f'<a href="{risky}">view 1 high-risk object first</a>' in before
    assert ('hx-partial hx-target="#review-header"' in seen, "high-risk object first" in seen) == (True, False)
    assert ('data-seen-now="3"' in seen, 'value="1" max="4"' in seen) == (True, True)


@pytest.mark.long
def test_long_group_comes_in_pages(as_bob, alice):
    plan = rows.make_plan(alice, [_change(f"o{n:03}", operation=Operation.CREATE) for n in range(160)])

    cut = as_bob.get(url(plan), headers=HTMX)
    later = as_bob.get(f"{url(plan)}?group=create&start=150", headers=HTMX)
    page = as_bob.get(f"{url(plan)}?group=create&start=150")

    assert "Show 10 more" in cut.content.decode()
    assert (len(names(cut)), names(later)) == (150, [f"o{n:03}" for n in range(150, 160)])
    assert names(page) == names(later)
    assert "more" not in later.content.decode().split("</a>")[-1]


def test_first_page_of_what_is_folded_away_is_short(as_bob, alice):
    plan = rows.make_plan(alice, [_change(f"o{n:03}", operation=Operation.UNCHANGED) for n in range(30)])

    cut = as_bob.get(url(plan), headers=HTMX)
    later = as_bob.get(f"{url(plan)}?group=unchanged&start=9", headers=HTMX)
    narrowed = as_bob.get(f"{url(plan)}?kind=Deployment", headers=HTMX)

    assert ("Show 21 more" in cut.content.decode(), len(names(cut))) == (True, 9)
    assert (names(later), len(names(narrowed))) == ([f"o{n:03}" for n in range(9, 30)], 30)


def test_namespace_is_cut_before_the_name_and_all_can_be_read_in_full(as_bob, many):
    """Each part of a name has its own class, by which CSS shortens it, and its full text as a title."""
    page = as_bob.get(url(many), headers=HTMX).content.decode()

    row = re.search(r'data-item="\d+">(?:(?!</li>).)*title="mail"(?:(?!</li>).)*</li>', page, re.DOTALL)
    assert row
    assert re.search(r'class="where" title="office">office</span>', row[0])
    assert re.search(r'class="kind"\s+title="Deployment">Deployment</span>', row[0])


def test_tree_stands_by_namespace_and_kind(as_bob, many):
    answer = as_bob.get(f"{url(many)}?layout=tree", headers=HTMX).content.decode()

    assert re.findall(r"<h([34])>([^<]+)</h", answer.partition("<hx-partial")[0]) == [
        ("3", "office"),
        ("4", "Deployment"),
        ("3", "shop"),
        ("4", "Deployment"),
    ]
    assert list_names(answer) == ["mail", "calm", "cart", "refused", "risky"]


def test_choice_goes_into_the_address_of_the_page(as_bob, many):
    answer = as_bob.get(f"{url(many)}?view=diff&q=cart&kind=Deployment", headers=HTMX)

    assert answer["HX-Replace-Url"] == "/reviews/1/plans/1/changes/?q=cart&kind=Deployment&view=diff"


def test_alike_changes_stand_together_with_their_exceptions(as_bob, alice):
    change = builders.build_change()
    odd = replace(_change("odd"), fields=change.fields[:1] + change.fields[2:3])
    plan = rows.make_plan(alice, [*(_change(f"o{n}") for n in range(4)), odd])

    answer = as_bob.get(url(plan), headers=HTMX).content.decode()

    assert "app.kubernetes.io/version: v0.8.0 → v0.10.1" in answer
    assert "4 Deployments with the same change" in answer
    assert re.search(r"Similar, with other changes: <a\s+href=[^>]+>Deployment/odd</a>", answer)


def test_group_carries_the_highest_risk_of_its_objects(as_bob, alice):
    """A folded group hides the marks of its objects."""
    high = Risk(REMOVAL_WILL_NOT_HAPPEN, RiskLevel.HIGH, builders.REPLICAS, {"owners": "x"})
    medium = replace(high, level=RiskLevel.MEDIUM)
    alike = [_change(name, risks=(medium,)) for name in ("one", "two")]
    objects = [*alike, _change("risky", risks=(high,)), _change("calm", operation=Operation.UNCHANGED)]
    page = as_bob.get(url(rows.make_plan(alice, objects)), headers=HTMX).content.decode()
    marks = {
        key: re.findall(r'class="level tone-(\w+)"', head)
        for key, head in re.findall(
            r'data-group="([^"]+)">\s*<summary class="group-head">(.*?)</summary>', page, re.DOTALL
        )
    }

    assert {key.partition("-")[0]: found for key, found in marks.items()} == {
        "attention": ["remove"],
        "alike": ["warn"],
        "unchanged": [],
    }


def test_list_is_hidden_from_outsiders(as_charlie, many):
    assert as_charlie.get(url(many)).status_code == 404


@pytest.mark.core(1)
@pytest.mark.parametrize("objects", [3, 300])
def test_list_asks_the_database_a_fixed_number_of_times(as_bob, alice, objects, django_assert_num_queries):
    plan = rows.make_plan(alice, [_change(f"o{n}") for n in range(objects)])
    as_bob.get(url(plan), headers=HTMX)

    with django_assert_num_queries(7):
        as_bob.get(url(plan), headers=HTMX)


@pytest.mark.long
@pytest.mark.parametrize("objects", [3, 300])
def test_switching_asks_the_database_a_fixed_number_of_times(as_bob, alice, objects, django_assert_num_queries):
    plan = rows.make_plan(alice, [_change(f"o{n}") for n in range(objects)])
    scroll = reverse("reviews:scroll-objects", args=[plan.review.number, 1])
    address = f"{scroll}?only=1&view=fields&alone=on"
    as_bob.get(address, headers=HTMX)

    with django_assert_num_queries(8):
        as_bob.get(address, headers=HTMX)


def test_page_is_sent_packed(as_bob, many):
    answer = as_bob.get(url(many), headers={"Accept-Encoding": "gzip"})

    assert answer.headers["Content-Encoding"] == "gzip"


def test_page_compares_and_arranges_each_object_once(as_bob, many, monkeypatch):
    compared, arranged = [], []
    monkeypatch.setattr(object_list, "describe_object", lambda row: compared.append(row.name) or describe_object(row))
    monkeypatch.setattr(object_groups, "_rank_risk", lambda row: arranged.append(row.name) or 0)

    page = as_bob.get(reverse("reviews:show-changes", args=[many.review.number, many.number]), {"q": "cart"})

    assert names(page) == ["cart"]
    assert sorted(compared) == sorted(set(compared)) != []
    assert arranged == ["cart"]
