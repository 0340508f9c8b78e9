"""Notifications of the signed-in person: the bell, the list, marking as read, settings."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from applyviz.web.components.pagers import ListPage, cut_page
from applyviz.web.frame.view_guard import PageRequest, requires
from applyviz.web.notifications.forms import ChoicesForm, ReadForm
from applyviz.web.notifications.pages import present_choices, present_notices
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.notifications import choices, inbox
from applyviz.workflow.notifications.texts import find_path
from applyviz.workflow.ops import health

_PER_PAGE = 50


@requires(Action.VIEW)
def show_bell(request: PageRequest) -> HttpResponse:
    """How many are unread, and for administrators what is wrong; asked by every page after it is there."""
    context: dict[str, object] = {"count": inbox.count_unread(for_user=request.user)}
    if access.can(request.user, Action.MANAGE):
        context["problems"] = health.read_health(for_user=request.user).problems
    return never_cache(render)(request, "notifications/_bell.html", context)


@requires(Action.VIEW)
def list_notifications(request: PageRequest) -> HttpResponse:
    """List all notifications, newest first."""
    found = inbox.list_notifications(for_user=request.user)
    cut = cut_page(found, request.GET.get("page"), _PER_PAGE)
    page = ListPage.of(cut, present_notices(cut.object_list))
    newest = max((one.pk for one in cut.object_list), default=0)
    unread = inbox.count_unread(for_user=request.user)
    context = {"page": page, "newest": newest, "unread": unread}
    return render(request, "notifications/list.html", context)


@requires(Action.VIEW, "POST")
def open_notification(request: PageRequest, number: int) -> HttpResponse:
    """Mark one as read and redirect to its subject."""
    return redirect(find_path(inbox.read_one(number, by=request.user).notification_event))


@requires(Action.VIEW, "POST")
def read_all(request: PageRequest) -> HttpResponse:
    """Mark as read what the page showed."""
    form = ReadForm(request.POST)
    if form.is_valid():
        inbox.read_all(by=request.user, up_to=form.cleaned_data["up_to"])
    return redirect("notifications:list-notifications")


@requires(Action.VIEW, "GET", "POST")
def edit_choices(request: PageRequest) -> HttpResponse:
    """Edit the person's notification settings."""
    form = ChoicesForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        choices.choose(form.read(), by=request.user)
        messages.success(request, _("Settings saved."))
        return redirect("notifications:edit-choices")
    rows = present_choices(choices.list_choices(request.user))
    context = {"rows": rows, "can_mail": choices.can_mail(request.user)}
    return render(request, "notifications/choices.html", context)
