"""The Changes tab: chunks of its scroll, its list, and what a reader has viewed."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import ngettext

from applyviz.engine.objects.structs import replace
from applyviz.records.models import ObjectChange, Plan
from applyviz.web.frame.view_guard import PageRequest, is_fragment
from applyviz.web.reviews.forms.scroll import ScrollForm, ViewedForm
from applyviz.web.reviews.pages import scroll
from applyviz.web.reviews.pages.approvals import viewing
from applyviz.web.reviews.pages.plan_context import read_context
from applyviz.web.reviews.pages.review_header import present_header
from applyviz.web.reviews.pages.scroll import ScrollReader
from applyviz.web.reviews.pages.scroll_parts import ScrollChoice
from applyviz.web.reviews.pages.tabs import ReviewTab
from applyviz.web.reviews.views.plan_guard import requires_plan
from applyviz.web.reviews.views.tabs import open_tab
from applyviz.workflow.approvals import viewed_objects
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotVisibleError


@requires_plan(Action.VIEW)
def scroll_objects(request: PageRequest, plan: Plan) -> HttpResponse:
    """The next objects of the scroll, or one of them in another view; without script, the page with them."""
    if not is_fragment(request):
        return open_tab(request, plan, ReviewTab.CHANGES)
    context, choice = scroll.read_reader(plan, for_user=request.user), ScrollForm.read_choice(request.GET)
    parts: dict[str, object] = {"viewed_url": reverse("reviews:mark-viewed", args=context.address)}
    if choice.only is not None and choice.is_alone:
        return _render_alone(request, context, choice, choice.only)
    if choice.only is not None:
        one = scroll.present_one(context, choice, choice.only)
        return render(request, "reviews/changes/_object.html", {**parts, "one": replace(one, is_viewed=False)})
    chunk = scroll.present_chunk(context, choice)
    if choice.at is None:  # it is added to the objects before it
        chunk = replace(chunk, before_page="")
    return render(request, "reviews/changes/_chunk.html", {**parts, "chunk": chunk})


def _render_alone(request: PageRequest, context: ScrollReader, choice: ScrollChoice, position: int) -> HttpResponse:
    """One object alone, as a part of its page; the address becomes that of the page."""
    one, thread = scroll.present_only(context, choice, position)
    viewed_url = reverse("reviews:mark-viewed", args=context.address)
    parts = {"one": one, "thread": thread, "viewed_url": viewed_url}
    response = render(request, "reviews/changes/_object.html", parts)
    query = urlencode({name: value for name, value in request.GET.dict().items() if name != "alone"})
    response["HX-Push-Url"] = f"{reverse('reviews:show-changes', args=context.address)}?{query}"
    return response


@requires_plan(Action.VIEW)
def list_changes(request: PageRequest, plan: Plan) -> HttpResponse:
    """The list as the reader narrows it, and the scroll with it; without script, the page with both."""
    if not is_fragment(request):
        return open_tab(request, plan, ReviewTab.CHANGES)
    context, choice = scroll.read_reader(plan, for_user=request.user), ScrollForm.read_choice(request.GET)
    if choice.listed.group:
        choice = replace(choice, start=0)  # it is the page of the group, not of the scroll
    page = scroll.present_scroll(context, choice)
    if choice.listed.group:
        group = page.listing.find_group(choice.listed.group)
        more = {"group": group, "items": group.items if group else (), "listing": page.listing}
        return render(request, "reviews/changes/_items.html", more)
    response = render(request, "reviews/changes/_narrowed.html", page.parts())
    response["HX-Replace-Url"] = f"{page.changes_url}{choice.write()}"
    return response


def _find_rows(context: ScrollReader, form: ViewedForm) -> tuple[ObjectChange, ...]:
    position, group = form.cleaned_data.get("position"), form.cleaned_data.get("group")
    if group:
        return viewing.list_members(context.plan, context.changes, group)
    return tuple(change for change in context.changes if change.position == position)


@requires_plan(Action.VIEW, "POST")
def mark_viewed(request: PageRequest, plan: Plan) -> HttpResponse:
    """Mark objects as viewed or not viewed: one, several of the list, or those that were on the screen."""
    context, form = scroll.read_reader(plan, for_user=request.user), ViewedForm(request.POST)
    form.is_valid()
    if form.seen_positions:
        return _record_seen(request, context, form)
    if form.cleaned_data["shown"]:
        return _record_shown(request, context, ScrollForm.read_choice(request.POST))
    rows = _find_rows(context, form)
    if not rows:
        raise NotVisibleError(f"plan {plan.number} has no such object")
    change = viewed_objects.record_all_viewed if form.cleaned_data["viewed"] else viewed_objects.forget_viewed
    change(rows, context.plan, by=request.user)
    choice = ScrollForm.read_choice(request.POST)
    is_alone = form.cleaned_data["alone"]
    if not is_fragment(request):
        url = reverse("reviews:show-changes", args=context.address)
        named = {"only" if is_alone else "at": rows[0].position}
        return redirect(f"{url}{choice.write(**named)}#object-{rows[0].position}")
    now = scroll.read_reader(plan, for_user=request.user)
    return _render_viewed(request, now, choice, rows, form.cleaned_data.get("group"))


def _record_shown(request: PageRequest, context: ScrollReader, choice: ScrollChoice) -> HttpResponse:
    """Record the objects of the list, or of one of its groups, except those with a high risk that must be viewed."""
    rows = viewing.list_shown(context, choice.listed)
    calm = [row for row in rows if not viewed_objects.must_be_viewed(row)]
    viewed_objects.record_all_viewed(calm, context.plan, by=request.user)
    open_ones = [row for row in rows if viewed_objects.must_be_viewed(row)]
    left = sum(viewed_objects.name_object(row) not in context.viewed for row in open_ones)
    if left:
        text = ngettext(
            "%(n)d object with a high risk is not marked as viewed: view it below.",
            "%(n)d objects with high risks are not marked as viewed: view them below.",
            left,
        )
        messages.info(request, text % {"n": left})
    whole = replace(choice, listed=replace(choice.listed, group=""))
    return redirect(f"{reverse('reviews:show-changes', args=context.address)}{whole.write()}")


def _record_seen(request: PageRequest, context: ScrollReader, form: ViewedForm) -> HttpResponse:
    """Record objects that were on the screen, and those that change identically; the answer names all of them."""
    rows = viewing.list_identical(context.plan, context.changes, form.seen_positions)
    viewed_objects.record_all_viewed(rows, context.plan, by=request.user)
    if not is_fragment(request):
        return redirect("reviews:show-changes", *context.address)
    parts = {
        "viewed_url": request.path,
        "positions": ",".join(str(row.position) for row in rows),
        "has_meter": form.cleaned_data["has_meter"],
        **_count_viewed(request, scroll.read_reader(context.plan, for_user=request.user)),
    }
    return render(request, "reviews/changes/_seen_now.html", parts)


def _count_viewed(request: PageRequest, context: ScrollReader) -> dict[str, object]:
    """What counts the viewed objects: the meter and the header, where a missing view may be a blocker."""
    whole = read_context(context.plan, for_user=request.user)
    counted = [row for row in context.changes if row.operation != "unchanged"]
    return {
        "viewed": sum(viewed_objects.name_object(row) in context.viewed for row in counted),
        "to_view": len(counted),
        "header_line": present_header(whole, whole.state),
    }


def _render_viewed(
    request: PageRequest, context: ScrollReader, choice: ScrollChoice, rows: tuple[ObjectChange, ...], group: str | None
) -> HttpResponse:
    """The part of the page that was ticked, and what counts it."""
    if group:
        one: object = scroll.present_block(context, choice, group)
    else:
        one = scroll.present_one(context, choice, rows[0].position)
    parts = {
        "one": one,
        "viewed_url": request.path,
        "is_alone": choice.is_alone,
        **_count_viewed(request, context),
    }
    return render(request, "reviews/changes/_ticked.html", parts)
