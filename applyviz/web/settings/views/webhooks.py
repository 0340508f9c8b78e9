"""Webhooks, for administrators: list, add, change, delete, test, and the delivery log."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from applyviz.web.components.forms import show_refusal
from applyviz.web.components.pagers import ListPage, cut_page
from applyviz.web.frame.view_guard import PageRequest, requires
from applyviz.web.notifications.forms import EditWebhookForm, WebhookForm
from applyviz.web.notifications.pages import present_deliveries, present_webhook
from applyviz.web.settings.views.settings_page import render_settings
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotValidError
from applyviz.workflow.notifications import webhooks

_PER_PAGE = 50


@requires(Action.MANAGE)
def list_webhooks(request: PageRequest) -> HttpResponse:
    """List all webhooks, each with its last delivery."""
    found = webhooks.list_webhooks(for_user=request.user)
    rows = [present_webhook(w, webhooks.list_deliveries(w, for_user=request.user).first()) for w in found]
    return render_settings(request, "webhooks", {"rows": rows})


@requires(Action.MANAGE, "GET", "POST")
def add_webhook(request: PageRequest) -> HttpResponse:
    """Add a webhook."""
    form = WebhookForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with show_refusal(form, "url", only=NotValidError):
            made = webhooks.add_webhook(**form.cleaned_data, by=request.user)
            messages.success(request, _("Webhook added. Send a test message to check it."))
            return redirect("settings:show-webhook", made.pk)
    return render_settings(request, "add_webhook", {"form": form}, status=422 if form.errors else 200)


@requires(Action.MANAGE, "GET", "POST")
def show_webhook(request: PageRequest, number: int) -> HttpResponse:
    """Show one webhook with its log; a POST changes it."""
    webhook = webhooks.get_webhook(number, for_user=request.user)
    initial = {name: getattr(webhook, name) for name in ("name", "url", "events", "is_enabled")}
    form = EditWebhookForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        with show_refusal(form, "url", only=NotValidError):
            webhooks.edit_webhook(webhook, **form.cleaned_data, by=request.user)
            messages.success(request, _("Webhook saved."))
            return redirect("settings:show-webhook", number)
    cut = cut_page(webhooks.list_deliveries(webhook, for_user=request.user), request.GET.get("page"), _PER_PAGE)
    page = ListPage.of(cut, present_deliveries(cut.object_list))
    context = {"webhook": present_webhook(webhook), "number": number, "form": form, "page": page}
    return render_settings(request, "webhook", context, status=422 if form.errors else 200)


@requires(Action.MANAGE, "POST")
def delete_webhook(request: PageRequest, number: int) -> HttpResponse:
    """Delete a webhook."""
    webhooks.delete_webhook(webhooks.get_webhook(number, for_user=request.user), by=request.user)
    messages.warning(request, _("Webhook deleted."))
    return redirect("settings:list-webhooks")


@requires(Action.MANAGE, "POST")
def try_webhook(request: PageRequest, number: int) -> HttpResponse:
    """Send a test message."""
    webhooks.try_webhook(webhooks.get_webhook(number, for_user=request.user), by=request.user)
    messages.info(request, _("Test message queued. See the deliveries below for the result."))
    return redirect("settings:show-webhook", number)


@requires(Action.MANAGE, "POST")
def deliver_again(request: PageRequest, number: int, delivery: int) -> HttpResponse:
    """Retry a delivery that was given up."""
    webhooks.deliver_again(webhooks.get_webhook(number, for_user=request.user), delivery, by=request.user)
    return redirect("settings:show-webhook", number)
