"""The frame of a review: header, strip, tabs, and the parts that update while its plan is calculated."""

from __future__ import annotations

from collections.abc import Sequence

from django.urls import reverse
from django.utils.translation import ngettext
from msgspec import Struct
from msgspec.structs import asdict

from applyviz.engine.objects.structs import replace
from applyviz.records.models import ObjectChange, Plan
from applyviz.web.components.notices import Progress
from applyviz.web.components.tabs import TabLink
from applyviz.web.reviews.pages.live_bar import LiveBar, present_live_bar
from applyviz.web.reviews.pages.plan_context import PlanContext
from applyviz.web.reviews.pages.plan_names import is_being_planned
from applyviz.web.reviews.pages.review_header import present_header
from applyviz.web.reviews.pages.review_parts import ReviewHeader
from applyviz.web.reviews.pages.strip import Strip, present_strip
from applyviz.web.reviews.pages.tabs import ReviewTab, link_tab, present_tabs


class Shell(Struct, frozen=True):
    """The parts around a tab; `poll_url` is empty once the plan is complete.

    - `seen_url` records what was on the screen; empty while the plan has no digest.
    """

    header_line: ReviewHeader
    strip: Strip
    tabs: tuple[TabLink, ...]
    progress: Progress | None
    poll_url: str
    events_url: str
    tab_name: str
    live: LiveBar | None
    seen_url: str

    def parts(self) -> dict[str, object]:
        """Return the parts by their names."""
        return asdict(self)


def _name_reading(plan: Plan) -> str:
    count = int(plan.revision.provenance.get("files", 0))
    text = ngettext("Reading %(count)d file and the cluster…", "Reading %(count)d files and the cluster…", count)
    return text % {"count": count}


def _present_progress(plan: Plan, changes: Sequence[ObjectChange]) -> Progress | None:
    if not is_being_planned(plan):
        return None
    done, expected = len(changes), plan.expected
    if not expected:
        return Progress(_name_reading(plan), 0, 0)
    text = ngettext("%(done)d of %(expected)d object planned", "%(done)d of %(expected)d objects planned", expected)
    return Progress(text % {"done": done, "expected": expected}, done, expected)


def present_shell(context: PlanContext, tab: ReviewTab | None) -> Shell:
    """Return the frame around one tab, or around another page of the review."""
    plan, state = context.plan, context.state
    if tab is ReviewTab.OVERVIEW and state.waiting is not None:
        # The notice of this tab has the button that cancels; the header needs no second one.
        state = replace(state, waiting=replace(state.waiting, url=""))
    events_url = reverse("reviews:plan-events", args=context.address)
    return Shell(
        header_line=present_header(context, state),
        strip=present_strip(context),
        tabs=present_tabs(context, tab),
        progress=_present_progress(plan, context.changes),
        poll_url=link_tab(plan, tab) if tab and is_being_planned(plan) else "",
        events_url=f"{events_url}?after={len(context.changes)}",
        tab_name=tab.value if tab else "",
        live=present_live_bar(plan, for_user=context.person),
        seen_url=reverse("reviews:mark-viewed", args=context.address) if plan.digest else "",
    )
