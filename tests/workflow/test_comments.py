"""Comments on a review, an object and a field."""

import pytest

from applyviz.records.models import AuditEntry
from applyviz.workflow import comments
from applyviz.workflow.errors import NotValidError, NotVisibleError
from tests.web import builders, rows
from tests.web.conftest import _person, alice  # noqa: F401 the cast


@pytest.fixture
def plan(alice):  # noqa: F811 the cast
    return rows.make_plan(alice, [builders.build_change()])


def test_comment_names_what_it_is_about(alice, plan):  # noqa: F811 the cast
    row = plan.changes.get()

    for about in ({}, {"row": row}, {"row": row, "field": 1}):
        comments.add_comment(plan, by=alice, text=" why? ", **about)

    assert [(c.text, c.object_key, c.path) for c in comments.list_comments(plan)] == [
        ("why?", "", ""),
        ("why?", "apps/Deployment/shop/frontend", ""),
        ("why?", "apps/Deployment/shop/frontend", ".spec.replicas"),
    ]


def test_history_tells_of_a_comment_without_its_text(alice, plan):  # noqa: F811 the cast
    made = comments.add_comment(plan, by=alice, text="the password is swordfish", row=plan.changes.get(), field=1)

    entry = AuditEntry.objects.get(action="comment.added")
    assert (entry.name, entry.detail) == ("frontend", {"comment": made.pk, "field": ".spec.replicas"})


@pytest.mark.parametrize(("text", "field"), [("  ", None), ("x" * 10_001, None), ("why?", 99)])
def test_comment_that_cannot_be_used_is_refused(alice, plan, text, field):  # noqa: F811 the cast
    with pytest.raises(NotValidError):
        comments.add_comment(plan, by=alice, text=text, row=plan.changes.get(), field=field)


def test_outsider_may_not_comment(plan):
    with pytest.raises(NotVisibleError):
        comments.add_comment(plan, by=_person("charlie"), text="hello")
