"""The history: filters, pages, one entry."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry
from applyviz.web.history.pages.ownership_history import present_owner_times
from applyviz.workflow.audit import trail
from applyviz.workflow.live.ownership_history import FieldOwner, OwnershipPeriod, OwnersOverTime

URL = reverse("history:list-entries")
FRONTEND = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "shop", "frontend")


@pytest.fixture
def entries(alice):
    trail.record(
        AuditAction.REVIEW_CREATED, by=alice, about=trail.AuditSubject(cluster="shop"), detail={"title": "First"}
    )
    trail.record(AuditAction.OBJECT_RESULT, by=None, about=trail.AuditSubject(cluster="shop", ref=FRONTEND, run=3))


def test_history_lists_entries_newest_first(as_viewer, entries):
    page = as_viewer.get(URL).content.decode()

    assert 0 < page.index("finished a write</span>") < page.index("created a review</span>")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("kind=Deployment", ["finished a write"]),
        ("person=alice", ["created a review"]),
        ("run=3", ["finished a write"]),
        ("action=review.created", ["created a review"]),
        ("cluster=other", []),
        ("since=nonsense", ["finished a write", "created a review"]),
        ("until=2001-01-01", []),
    ],
)
def test_filters_leave_only_what_they_name(as_viewer, entries, query, found):
    page = as_viewer.get(f"{URL}?{query}").content.decode()

    both = ("finished a write", "created a review")
    assert [text for text in both if f"{text}</span>" in page] == found


def test_what_a_worker_did_stands_under_who_started_it(as_viewer, run, bob):
    trail.record(
        AuditAction.OBJECT_RESULT, by=None, about=trail.AuditSubject(cluster="shop", ref=FRONTEND, run=run.number)
    )
    entry = AuditEntry.objects.latest("id")

    listed = as_viewer.get(URL).content.decode()
    alone = as_viewer.get(reverse("history:show-entry", args=[entry.pk])).content.decode()

    assert 'href="/history/people/bob/">bob</a> <span class="sub">via' in listed
    assert "applyviz finished a write" in alone
    assert 'href="/history/people/bob/">bob</a> <span class="dim">via' in alone


def test_fragment_holds_the_entries_alone(as_viewer, entries):
    fragment = as_viewer.get(URL, headers={"HX-Request": "true"}).content.decode()

    assert ("<html" in fragment, 'id="entries"' in fragment) == (False, True)


def test_older_entries_are_a_link_away(as_viewer, alice):
    for _n in range(51):
        trail.record(AuditAction.SIGNED_IN, by=alice, about=trail.AuditSubject())

    first = as_viewer.get(URL).content.decode()
    second = as_viewer.get(URL + "?before=2").content.decode()

    assert 'href="?before=2"' in first
    assert second.count("signed in</span>") == 1


def test_entry_has_a_page_with_its_hash(as_viewer, entries):
    entry = AuditEntry.objects.order_by("id")[1]

    page = as_viewer.get(reverse("history:show-entry", args=[2])).content.decode()

    assert [text for text in (entry.hash, entry.previous_hash, "Deployment shop/frontend") if text not in page] == []


def test_unknown_entry_is_not_found(as_viewer):
    assert as_viewer.get(reverse("history:show-entry", args=[9])).status_code == 404


def test_history_is_hidden_from_outsiders(as_charlie, entries):
    assert [as_charlie.get(a).status_code for a in (URL, reverse("history:show-entry", args=[1]))] == [404, 404]


@pytest.mark.core(1)
@pytest.mark.parametrize("count", [1, 3])
def test_history_asks_the_database_a_fixed_number_of_times(as_viewer, alice, count, django_assert_num_queries):
    for _n in range(count):
        trail.record(AuditAction.SIGNED_IN, by=alice, about=trail.AuditSubject())

    with django_assert_num_queries(7):
        as_viewer.get(URL)


def test_periods_of_owners_are_bars_on_one_axis():
    start = timezone.now() - timedelta(days=20)
    first, second = FieldOwner("kubectl", "Update"), FieldOwner("ci", "Apply")
    periods = (
        OwnershipPeriod(first, start, start + timedelta(days=1), 4),
        OwnershipPeriod(second, start + timedelta(days=1), None, 9),
    )

    found = present_owner_times(OwnersOverTime(periods=periods)).periods

    assert [(row.x, row.most, row.until is None) for row in found] == [
        ("0.00%", 4, False),
        (f"{float(found[0].width[:-1]):.2f}%", 9, True),
    ]
    assert float(found[1].x[:-1]) + float(found[1].width[:-1]) == pytest.approx(100, abs=0.02)
    assert present_owner_times(OwnersOverTime()).periods == ()
