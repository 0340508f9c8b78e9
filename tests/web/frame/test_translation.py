"""Every word that the product itself says goes through the catalogue: pages are drawn in a language that marks them.

A marked page has `⟦…⟧` around each translated text. What stands outside must be data: names, code, values, times.
"""

import json
import re
from html.parser import HTMLParser

import pytest
from django.urls import reverse
from django.utils import translation

from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.records.enums import AuditAction
from applyviz.records.models import ObjectChange, Review
from applyviz.web.reviews.pages.tabs import ReviewTab
from applyviz.web.reviews.pane.object_content import ObjectView
from applyviz.web.templatetags import skeletons
from applyviz.workflow.audit import trail
from tests.builders import grant_role, make_policy

OPEN, CLOSE = "⟦", "⟧"
SPOKEN = {"title", "aria-label", "placeholder", "alt", "data-label"}
# What these hold is data or code in every language.
DATA_ELEMENTS = {"script", "style", "code", "pre", "kbd", "textarea", "time"}
# `told`: what a run or a cluster said at its time stays in the words of that time.
DATA_CLASSES = {"mono", "owner", "code", "value", "schema-words", "brand", "zone", "server-text"}
FRONTEND = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "shop", "frontend")


class Reader(HTMLParser):
    """Collects what a page says outside of the marks."""

    VOID = {"input", "img", "link", "meta", "br", "wbr", "hr", "progress", "use", "path", "rect", "circle"}

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.bare: list[str] = []
        self._depth = 0
        self._open: list[bool] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        given = {name: value or "" for name, value in attrs}
        for name in SPOKEN & given.keys():
            self._note(re.sub(f"{OPEN}.*{CLOSE}", "", given[name], flags=re.DOTALL))
        if tag not in self.VOID:
            classes = set(given.get("class", "").split())
            self._open.append(tag in DATA_ELEMENTS or bool(classes & DATA_CLASSES))

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if tag not in self.VOID and self._open:
            self._open.pop()

    def handle_data(self, data):
        said = ""
        for piece in re.split(f"([{OPEN}{CLOSE}])", data):
            if piece in (OPEN, CLOSE):
                self._depth += 1 if piece == OPEN else -1
            elif not self._depth:
                said += piece + " "
        if not any(self._open):
            self._note(said)

    def _note(self, text):
        if re.search(r"[A-Za-z]{3}", text):
            self.bare.append(" ".join(text.split()))


@pytest.fixture
def marked(monkeypatch):
    """Puts marks around everything that is translated; nothing drawn without them is used again."""
    monkeypatch.setattr(skeletons, "_skeletons", {})
    catalogue = translation._trans  # type: ignore[attr-defined]  # private in Django's stubs
    for name in ("gettext", "ngettext", "pgettext", "npgettext"):
        real = getattr(catalogue, name)
        monkeypatch.setattr(
            catalogue, name, lambda *words, real=real: f"{OPEN}{real(*words)}{CLOSE}" if words[0] else ""
        )


def read(browser, address):
    answer = browser.get(address)
    assert (address, answer.status_code) == (address, 200)
    return Reader(answer.content.decode()).bare


def list_words(*texts):
    return {word.lower() for text in texts for word in re.findall(r"[A-Za-z]{3,}", text)}


def list_addresses(number, run):
    yield from (reverse(name) for name in ("home", "reviews:list-reviews", "clusters:list-clusters"))
    for tab in ReviewTab:
        yield reverse(f"reviews:show-{tab}", args=[number, 1])
    yield reverse("reviews:show-risks", args=[number, 1])
    changes = reverse("reviews:show-changes", args=[number, 1])
    yield from (f"{changes}?only=0&view={view.value}" for view in ObjectView)
    yield reverse("reviews:confirm-plan", args=[number, 1])
    yield reverse("reviews:show-record", args=[number, 1])
    yield reverse("runs:show-run", args=[run.number])
    yield from (reverse(f"history:{n}") for n in ("list-entries", "verify-chain", "show-evidence", "list-retention"))
    yield reverse("history:show-object", args=["shop", "apps", "Deployment", "shop", "frontend"])
    yield from (reverse(f"settings:{n}") for n in ("list-policies", "add-policy", "show-calendar", "list-people"))
    yield from (reverse("settings:list-teams"), reverse("notifications:list-notifications"))


def test_pages_say_nothing_past_the_catalogue(as_bob, bob, refused_plan, run, marked):
    for role in ("administrator", "auditor", "author"):
        grant_role(bob, role)
    make_policy()
    trail.record(
        AuditAction.OBJECT_RESULT, by=bob, about=trail.AuditSubject(cluster="shop", ref=FRONTEND, run=run.number)
    )
    Review.objects.update(title="Zzyzx", reason="Qwxyz")
    documents = ObjectChange.objects.values_list("document", flat=True)
    known = "alice bob shop strict zzyzx qwxyz applyviz utc Nov update scale approver administrator auditor author"
    data = list_words(*map(json.dumps, documents), known)

    numbers = (refused_plan.review.number, run.plan.review.number)
    bare = {
        address: [text for text in read(as_bob, address) if list_words(text) - data]
        for address in sorted({address for number in numbers for address in list_addresses(number, run)})
    }

    assert {address: texts for address, texts in bare.items() if texts} == {}


def test_reader_hears_what_is_past_the_catalogue():
    page = f'<p>{OPEN}said{CLOSE} <b title="bare title">bare word</b></p><code>data</code>{OPEN}a <i>b</i>{CLOSE}'

    assert Reader(page).bare == ["bare title", "bare word"]
