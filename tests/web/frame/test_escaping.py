"""Text of manifests, field managers and errors does nothing on a page, and hidden characters are shown."""

import re

import pytest
from django.urls import reverse
from django.utils.safestring import mark_safe

from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason
from applyviz.engine.objects import paths
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation, Versions
from applyviz.web.components.object_links import link_alone
from applyviz.web.reviews.pane.object_content import ObjectView
from applyviz.web.templatetags import applyviz as filters
from applyviz.web.templatetags.applyviz import breakable, visible, visible_text
from tests.web import builders, rows

PAYLOADS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</textarea><svg onload=alert(1)>",
    "javascript:alert(1)",
    "{{ 7|add:7 }}{% debug %}",
]


def build_hostile(payload: str):
    path = paths.fields("data", payload)
    owner = Owner(payload, "Apply", "v1")
    obj = {"kind": payload, "metadata": {"name": payload}, "data": {payload: payload}}
    after = {**obj, "data": {payload: f"{payload}{payload}"}}
    reason = FieldReason(path, FieldOperation.CHANGED, Reason.MANIFEST_SETS, payload, (owner,), (owner,))
    change = builders.build_change()
    return replace(
        change,
        ref=change.ref._replace(name=payload, namespace=payload),
        operation=Operation.ERROR,
        error=payload,
        warnings=(payload,),
        versions=Versions(None, after, obj, after, after),
        fields=(reason,),
        conflicts=(),
        risks=(),
    )


@pytest.mark.core(1)
@pytest.mark.parametrize("payload", PAYLOADS)
def test_payload_is_text_in_every_view(as_viewer, alice, payload):
    plan = rows.make_plan(alice, [build_hostile(payload)], title=payload[:200])

    for view in ObjectView:
        page = as_viewer.get(link_alone(plan, 0, view.value)).content.decode()

        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "<svg onload" not in page
        assert "' onmouseover='" not in page
        assert 'href="javascript:' not in page
        head = page.partition('class="object-head"')[2].partition("</header>")[0]
        assert "14" not in re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", head)


def test_ticket_becomes_a_link_only_over_https(as_viewer, plan):
    type(plan.review).objects.filter(pk=plan.review.pk).update(ticket="javascript:alert(1)")
    page = as_viewer.get(reverse("reviews:show-review", args=[plan.review.number])).content.decode()

    assert "javascript:alert(1)" in page
    assert 'href="javascript:' not in page


def test_hidden_characters_are_shown_by_number():
    shown = str(visible("a\u202eb\u200bc"))

    assert shown == (
        'a<span class="invisible" title="right-to-left override">U+202E</span>'
        'b<span class="invisible" title="zero width space">U+200B</span>c'
    )


def test_visible_leaves_lines_and_letters_alone():
    assert str(visible("größer\n\t<b>")) == "größer\n\t&lt;b&gt;"


def test_each_character_of_a_text_is_judged_once(monkeypatch):
    judged = []
    monkeypatch.setattr(filters, "is_hidden", lambda character: judged.append(character) or character == "\u200b")
    text = "größer\n\u200b<b>" * 500

    assert str(visible(text)).count("U+200B") == visible_text(text).count("U+200B") == 500
    assert sorted(judged) == sorted([*set(text)] * 2)


def test_text_that_is_marked_as_safe_is_escaped_where_it_has_several_lines():
    assert str(visible(mark_safe("<b>\n\u200b"))) == (
        '&lt;b&gt;\n<span class="invisible" title="zero width space">U+200B</span>'
    )


def test_breakable_escapes_before_it_breaks():
    assert str(breakable("a.b/<i>")) == "a.<wbr>b/<wbr>&lt;i&gt;"
    assert str(breakable("system:node https://a")) == "system:<wbr>node https://a"
