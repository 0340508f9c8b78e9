"""Four hundred hostile texts wherever a text of people or clusters stands: pages keep the elements they have.

Rule: a page with hostile texts may hold only the kinds of elements and attributes that the same page holds
with harmless ones, and every address in it leads into the product.
"""

from html.parser import HTMLParser

import pytest
from django.urls import reverse

from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason
from applyviz.engine.objects import paths
from applyviz.engine.objects.errors import Conflict, SourcePosition
from applyviz.engine.objects.exchange import APPLY_PATCH, Request
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation, Versions
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.engine.risks.removals import REMOVAL_WILL_NOT_HAPPEN
from applyviz.records.enums import AuditAction
from applyviz.web.components.object_links import link_alone
from applyviz.web.reviews.pages.tabs import ReviewTab
from applyviz.web.reviews.pane.object_content import ObjectView
from applyviz.workflow.approvals import comments
from applyviz.workflow.audit import trail
from tests.web import builders, rows
from tests.web.payloads import PAYLOADS

# The same texts without the characters that mean something, so that they are as long and break as often.
HARMLESS = tuple(text.translate(str.maketrans("<>\"'&`[]()!{}", "abcdefghijklm")) for text in PAYLOADS)
ADDRESSES = {"href", "src", "action", "formaction", "hx-get", "hx-post", "hx-push-url", "srcdoc", "data"}
# What shows hidden characters, and where a long word may break: the only elements that a text adds.
ADDED = {("wbr", ()), ("span", ("class", "title"))}


class Census(HTMLParser):
    """The kinds of elements of a page, and the addresses that lead somewhere else."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.kinds: set[tuple[str, tuple[str, ...]]] = set()
        self.strange: list[str] = []
        self.mentions = page.count("window.hit")
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.kinds.add((tag, tuple(sorted(name for name, _ in attrs))))
        for name, value in attrs:
            if name.startswith(("on", "hx-on")) or (name in ADDRESSES and not self._stays(value or "")):
                self.strange.append(f"{tag} {name}={value}")

    def _stays(self, address: str) -> bool:
        is_local = address == "true" or address.startswith(("/", "#", "?", "https://"))
        return is_local and not address.startswith("//")


def build_plan(texts):
    """Changes that hold each text as a key, a value, a field manager, a name, an error and a risk's fact."""
    labels = dict(zip(texts, reversed(texts), strict=True))
    owners = [Owner(text, "Apply", "v1") for text in texts]
    fields = tuple(
        FieldReason(
            paths.fields("data", text), FieldOperation.CHANGED, Reason.MANIFEST_SETS, text, (owner,), (owner,),
            SourcePosition(text, n + 1, 1),
        )
        for n, (text, owner) in enumerate(zip(texts, owners, strict=True))
    )  # fmt: skip
    ref = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), "shop", "settings")
    live = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "labels": labels}, "data": labels}
    after = {**live, "data": {key: value + value for key, value in labels.items()}}
    change = replace(
        builders.build_change(),
        ref=ref,
        versions=Versions(live, after, live, after, after),
        requests=(Request("PATCH", f"/api/{texts[7]}", {texts[8]: texts[9]}, APPLY_PATCH, after, ref, texts[10]),),
        fields=fields,
        conflicts=tuple(
            Conflict(o.manager, "Apply", "v1", "", f.path, o.manager) for f, o in zip(fields[:20], owners, strict=False)
        ),
        risks=tuple(Risk(REMOVAL_WILL_NOT_HAPPEN, RiskLevel.MEDIUM, f.path, {"owners": f.detail}) for f in fields[:20]),
        warnings=texts,
    )
    named = [
        replace(
            change,
            ref=ObjectRef(GroupVersionKind(text, "v1", text), text, text),
            operation=Operation.ERROR,
            error=text,
            fields=(),
            conflicts=(),
            risks=(),
            requests=(),
            versions=Versions(None, None, None, None, None),
        )
        for text in texts
    ]
    return [change, *named]


def fill_history(author, texts):
    """One entry of the history and one comment for each text."""
    for text in texts:
        about = trail.AuditSubject(
            cluster="shop", field_manager=text[:100], ref=ObjectRef(GroupVersionKind("", "v1", text), text, text)
        )
        trail.record(AuditAction.OBJECT_RESULT, by=author, about=about, detail={text: text})


def read_pages(browser, author, texts):
    """The census of every page that shows the texts, by the name of the page."""
    plan = rows.make_plan(author, build_plan(texts), title=texts[3][:200])
    number = plan.review.number
    # Some payloads spell the word in another way; the page of one field is that of a payload which shows it.
    telling = next((n for n, text in enumerate(texts) if n >= len(texts) // 3 and "window.hit" in text), 0)
    type(plan.review).objects.filter(pk=plan.review.pk).update(reason=" ".join(texts), ticket=texts[18][:60])
    for text in texts:
        comments.add_comment(plan, by=author, content=comments.check_content(text))
    fill_history(author, texts)
    addresses = {
        "home": reverse("home"),
        "reviews": reverse("reviews:list-reviews"),
        "risks": reverse("reviews:show-risks", args=[number, 1]),
        **{f"tab {tab}": reverse(f"reviews:show-{tab}", args=[number, 1]) for tab in ReviewTab},
        "tree": reverse("reviews:list-changes", args=[number, 1]) + "?layout=tree",
        **{
            f"objects {start}": reverse("reviews:list-changes", args=[number, 1]) + f"?group=attention&start={start}"
            for start in range(0, len(texts), 150)
        },
        "versions": link_alone(plan, 0) + "&show=all&compare=1",
        "history": reverse("history:list-entries"),
        "search": reverse("history:list-entries") + "?text=window.hit",
        "named": link_alone(plan, 25),
        "field": reverse("reviews:show-field", args=[number, 1, 0, telling]),
        **{view.value: link_alone(plan, 0, view.value) for view in ObjectView},
    }
    part = {"HX-Request": "true"}
    answers = {n: browser.get(a, headers=part if n.startswith("objects") else {}) for n, a in addresses.items()}
    assert {name: answer.status_code for name, answer in answers.items()} == dict.fromkeys(addresses, 200)
    return {name: Census(answer.content.decode()) for name, answer in answers.items()}


@pytest.mark.parametrize("step", [13, pytest.param(1, marks=pytest.mark.long)])
def test_four_hundred_payloads_stay_text_on_every_page(as_bob, alice, step):
    harmless = read_pages(as_bob, alice, HARMLESS[::step])
    hostile = read_pages(as_bob, alice, PAYLOADS[::step])

    assert len(set(PAYLOADS)) == 400
    assert [name for name, page in hostile.items() if page.mentions == 0] == []
    assert {name: page.strange for name, page in hostile.items() if page.strange} == {}
    grown = {name: page.kinds - harmless[name].kinds - ADDED for name, page in hostile.items()}
    assert {name: kinds for name, kinds in grown.items() if kinds} == {}


def test_census_sees_what_it_looks_for():
    page = Census('<a href="javascript:x">a</a><p onclick="x">b</p><script>c</script><img src="//elsewhere/x">')

    assert ("script", ()) in page.kinds
    assert page.strange == ["a href=javascript:x", "p onclick=x", "img src=//elsewhere/x"]
