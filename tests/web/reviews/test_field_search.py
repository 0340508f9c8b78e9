"""Search in the fields of plans: in Changes and on the page of the search, by path, by value and by what happens."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from applyviz.engine.diff.marks import CLOSE, OPEN
from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason
from applyviz.engine.objects import paths
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import LeftOut, Operation, PlannedObject, Versions
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.engine.risks.planning.ownership import FORCED
from applyviz.records.enums import PlanState, Role
from applyviz.records.models import Review, ReviewScope
from applyviz.web.reviews.pages.object_list import ListChoice
from applyviz.web.reviews.pages.scroll_parts import ScrollChoice
from applyviz.web.reviews.pages.search import field_lines, in_reviews, row_words
from applyviz.web.reviews.pane.flat_rows import RowFilter
from tests.builders import grant_role
from tests.web import builders, reading, rows
from tests.web.measuring import measure_answer

REPLICAS = paths.fields("spec", "replicas")
OWNERS = paths.fields("metadata", "managedFields")
TOKEN = paths.fields("data", "token")
MARK = f"{OPEN} 0123abcd{CLOSE}"
# Processor time of an answer, among so many objects with so many fields.
SECONDS, OBJECTS, FIELDS = 0.5, 500, 20


def build(name, *fields, kind="Deployment", group="apps", operation=Operation.UPDATE):
    """An object with fields as (path, operation, live value, value after); None for no value."""
    change = replace(builders.build_change(), operation=operation, conflicts=(), open_fields=(), risks=())
    live, after = {}, {}
    for path, _operation, before, value in fields:
        for version, one in ((live, before), (after, value)):
            if one is not None:
                *above, leaf = (step.removeprefix("f:") for step in path)
                at = version
                for step in above:
                    at = at.setdefault(step, {})
                at[leaf] = one
    reasons = tuple(FieldReason(path, done, Reason.MANIFEST_SETS) for path, done, _before, _after in fields)
    ref = ObjectRef(GroupVersionKind(group, "v1", kind), "shop", name)
    return replace(change, ref=ref, fields=reasons, versions=Versions(None, after, live, after, after))


def objects() -> list[PlannedObject]:
    image = paths.fields("spec", "image")
    return [
        build("web", (REPLICAS, FieldOperation.CHANGED, 3, 5)),
        build(
            "api",
            (image, FieldOperation.CHANGED, "shop/api:1.4", "shop/api:1.5"),
            (REPLICAS, FieldOperation.CLEARED, 7, None),
        ),
        build(
            "worker", (REPLICAS, FieldOperation.KEPT, 3, 3), (image, FieldOperation.UNCHANGED, "shop/w:5", "shop/w:5")
        ),
        build("moved", (OWNERS, FieldOperation.CHANGED, [{"f:replicas": {}}], [{"f:spec": {"f:replicas": {}}}])),
        build("settings", (TOKEN, FieldOperation.CHANGED, MARK, MARK), kind="ConfigMap", group=""),
    ]


@pytest.fixture
def plan(alice):
    plan = rows.make_plan(alice, objects())
    ReviewScope.objects.create(review=plan.review, cluster=plan.target.cluster, namespace="shop")
    return plan


NAMES = ("web", "api", "worker", "moved", "settings")


def find_names(browser, plan, text, names=NAMES):
    """The objects that the list of Changes has for a text."""
    address = reverse("reviews:list-changes", args=[plan.review.number, plan.number])
    page = browser.get(address, {"q": text}, headers={"HX-Request": "true"}).content.decode()
    return [name for name in names if f"/{name}</h3>" in page.replace("</span>", "").replace("<wbr>", "")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("replicas", ["web", "api"]),
        ("spec.image", ["api"]),
        ("REPLICAS 5", ["web"]),
        ("1.5", ["api"]),
        ("removed", ["api"]),
        ("removed replicas", ["api"]),
        ("removed image", []),
        ("api 1.4", ["api"]),
        ("web 1.4", []),
        ("token", ["settings"]),
        ("masked", []),
        ("0123abcd", []),
        ("shop/w", []),
        ("kept", ["worker"]),
        ("kept replicas", ["worker"]),
        ("kept image", []),
    ],
)
def test_objects_are_found_by_their_fields(as_viewer, plan, text, found):
    assert find_names(as_viewer, plan, text) == found


def build_of_each_word() -> list[PlannedObject]:
    """One object for each word of a badge that is not the name of an operation, or has several words."""
    filled = build("room", (paths.fields("spec", "labels"), FieldOperation.CLEARED, {}, None))
    taken = build("taken", (REPLICAS, FieldOperation.CHANGED, 3, 5))
    return [
        replace(filled, fields=(replace(filled.fields[0], reason=Reason.MAKES_ROOM),)),
        replace(
            taken,
            fields=(replace(taken.fields[0], reason=Reason.TAKEN_OVER, detail="kubectl"),),
            risks=(Risk(FORCED, RiskLevel.HIGH, (), facts={"owners": "kubectl"}),),
        ),
        build("grown", (REPLICAS, FieldOperation.SET, None, 5)),
        build("held", (REPLICAS, FieldOperation.NOT_REMOVED, 3, 3)),
        replace(build("skipped"), operation=Operation.LEFT_OUT, left_out=LeftOut()),
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("filled", ["room"]),
        ("removed", []),
        ("forced", ["taken"]),
        ("forced replicas", ["taken"]),
        ("overwritten", ["taken"]),
        ("changed", ["taken"]),
        ("added", ["grown"]),
        ("set", ["grown"]),
        ("removal blocked", ["held"]),
        ("left out", ["skipped"]),
        ("fields forced", ["taken"]),
    ],
)
def test_words_of_badges_find_their_rows(as_viewer, alice, text, found):
    plan = rows.make_plan(alice, build_of_each_word())

    assert find_names(as_viewer, plan, text, ("room", "taken", "grown", "held", "skipped")) == found


def test_fields_that_stay_are_shown_to_whoever_searches_for_them(as_viewer, plan):
    address = reverse("reviews:show-changes", args=[plan.review.number, 1])
    shown = {text: as_viewer.get(address, {"q": text}).content.decode() for text in ("kept", "worker")}
    told = as_viewer.get(address, {"q": "kept", "show": "changed"}).content.decode()

    assert {text: "-field-0" in page for text, page in shown.items()} == {"kept": True, "worker": False}
    assert "-field-0" not in told
    assert 'name="show" value="changed"' in told
    assert 'name="show"' not in shown["kept"]


def test_a_plan_that_is_being_created_is_searched_by_names_only(as_viewer, alice):
    plan = rows.make_plan(alice, objects(), state=PlanState.PLANNING)

    assert (find_names(as_viewer, plan, "replicas"), find_names(as_viewer, plan, "web")) == ([], ["web"])


def test_a_secret_is_found_by_its_fields_only_by_those_who_see_them(as_viewer, as_alice, alice):
    secret = build("login", (paths.fields("data", "key"), FieldOperation.CHANGED, MARK, MARK), kind="Secret", group="")
    plan = rows.make_plan(alice, [secret])
    address = reverse("reviews:list-changes", args=[plan.review.number, 1])
    found = {}
    for name, browser in (("viewer", as_viewer), ("author", as_alice)):
        page = browser.get(address, {"q": "data.key"}, headers={"HX-Request": "true"}).content.decode()
        found[name] = 'data-scroll-object="0"' in page

    assert found == {"viewer": False, "author": True}


def search(browser, text):
    page = reading.read(browser, f"/search/?q={text}")
    sections = [s for s in reading.find_all(page, "section") if reading.attribute(s, "aria-labelledby") == "h-fields"]
    return [reading.text_of(row) for section in sections for row in reading.find_all(section, "tr")[1:]]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("replicas", ["spec. replicas ~ Changed 3 → becomes 5", "spec. replicas − Removed 7 → becomes –"]),  # noqa: RUF001
        ("removed", ["spec. replicas − Removed 7"]),  # noqa: RUF001
        ("api:1.5", ["spec. image ~ Changed shop/api:1.4 → becomes shop/api:1.5"]),
        ("data.token", ["data. token ~ Changed Config"]),
        ("managedFields", []),
        ("kept", ["spec. replicas · Kept 3"]),
        ("plicas", []),
        ("masked", []),
        ("0123abcd", []),
    ],
)
def test_search_finds_fields_of_open_reviews(as_viewer, plan, text, found):
    hits = search(as_viewer, text)

    assert len(hits) == len(found)
    assert [hit for hit, wanted in zip(hits, found, strict=True) if not hit.startswith(wanted)] == []


def test_search_calls_a_section_that_is_filled_as_changes_does(as_viewer, alice):
    rows.make_plan(alice, build_of_each_word())

    assert [hit.startswith("spec. labels ~ Filled") for hit in search(as_viewer, "filled")] == [True]
    assert search(as_viewer, "removed") == []
    assert len(search(as_viewer, "forced")) == 1


def test_a_word_of_a_badge_is_searched_among_all_objects(as_viewer, plan, monkeypatch):
    monkeypatch.setattr(in_reviews, "MOST_READ", 1)

    assert len(search(as_viewer, "removed")) == 1


def test_search_leads_to_the_object_in_changes(as_viewer, plan):
    page = as_viewer.get("/search/?q=api:1.5").content.decode()

    assert "/plans/1/changes/?q=api%3A1.5&amp;at=1#object-1" in page
    assert "/history/?text=api%3A1.5" in page


def test_search_finds_no_field_of_what_is_hidden_closed_or_a_secret(as_viewer, alice, plan):
    secret = build("login", (paths.fields("data", "key"), FieldOperation.SET, None, "plain"), kind="Secret", group="")
    rows.make_plan(alice, [secret])
    person = User.objects.create_user("part")
    grant_role(person, Role.VIEWER, cluster="shop", namespace="vault", is_cluster_scoped=False)
    browser = Client()
    browser.force_login(person)

    assert search(browser, "replicas") == []
    assert search(as_viewer, "data.key") == []
    Review.objects.filter(pk=plan.review_id).update(state="closed")
    assert search(as_viewer, "replicas") == []


def test_search_reads_the_newest_plan_and_a_limited_number_of_objects(as_viewer, alice, plan, monkeypatch):
    rows.add_plan(plan, [build("web", (REPLICAS, FieldOperation.CHANGED, 3, 9))])

    assert [hit.startswith("spec. replicas ~ Changed 3 → becomes 9") for hit in search(as_viewer, "replicas")] == [True]
    rows.make_plan(alice, objects())
    rows.make_plan(alice, objects())
    monkeypatch.setattr(in_reviews, "MOST_OBJECTS", 4)
    assert len(search(as_viewer, "replicas")) == 2
    monkeypatch.setattr(in_reviews, "MOST_READ", 1)
    assert len(search(as_viewer, "replicas")) == 1


def test_an_object_has_a_limited_number_of_lines_and_values_of_limited_length(monkeypatch):
    monkeypatch.setattr(field_lines, "MOST_LINES", 1)
    (line,) = field_lines.list_lines(
        build("web", (REPLICAS, FieldOperation.CHANGED, "x" * 999, "y" * 999), (TOKEN, FieldOperation.SET, None, "z"))
    )

    assert (line.path, len(line.before), len(line.after)) == ("spec.replicas", 200, 200)


@pytest.mark.long
def test_answers_are_quick_among_many_fields(as_viewer, alice):
    changes = [
        build(
            f"o{n}",
            *((paths.fields("spec", f"f{m}"), FieldOperation.CHANGED, "a" * 50, "b" * 50) for m in range(FIELDS)),
        )
        for n in range(OBJECTS)
    ]
    plan = rows.make_plan(alice, changes)
    address = reverse("reviews:list-changes", args=[plan.review.number, 1])
    htmx = {"HX-Request": "true"}

    taken = {
        **{f"changes {q}": measure_answer(as_viewer, f"{address}?q={q}", **htmx) for q in ("aaab", "f7", "a+b+spec")},
        **{f"search {q}": measure_answer(as_viewer, f"/search/?q={q}") for q in ("aaab", "spec.f7", "removed")},
    }

    assert {text: seconds for text, seconds in taken.items() if seconds > SECONDS} == {}


def test_words_of_badges_are_collected_once_for_all_links():
    """The Changes tab writes some two hundred links, each of which says what it shows unless a search implies it."""
    row_words._name_codes.cache_clear()
    choice = ScrollChoice(listed=ListChoice(q="kept"), show=RowFilter.KEPT)

    links = {choice.write(at=n) for n in range(200)}

    assert len(links) == 200
    assert not any("show=" in link for link in links)
    assert row_words._name_codes.cache_info().misses == 1
