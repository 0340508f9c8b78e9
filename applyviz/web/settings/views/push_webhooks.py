"""Push webhooks of repositories, for administrators: add, new secret, remove, and the delivery log."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from applyviz.records.git_enums import ForgeKind
from applyviz.records.models import PushWebhook
from applyviz.web.components.forms import show_refusal
from applyviz.web.components.pagers import ListPage, cut_page
from applyviz.web.frame.view_guard import PageRequest, requires
from applyviz.web.settings.forms.repositories import PushWebhookForm
from applyviz.web.settings.pages.push_webhooks import present_deliveries, present_webhook
from applyviz.web.settings.views.settings_page import render_settings
from applyviz.workflow.following import push_webhooks
from applyviz.workflow.following.push_webhooks import MadeSecret
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotValidError

_PER_PAGE = 50


def _find_address(request: PageRequest, webhook: PushWebhook) -> str:
    """Return the address that the git host calls."""
    path = reverse("take-push", args=[webhook.identifier])
    root = settings.APPLYVIZ_URL.rstrip("/")
    return f"{root}{path}" if root else request.build_absolute_uri(path)


def _show_secret(request: PageRequest, made: MadeSecret) -> HttpResponse:
    """Show a secret; no other page ever shows it."""
    context = {
        "row": present_webhook(made.webhook),
        "address": _find_address(request, made.webhook),
        "secret": made.secret,
    }
    return render_settings(request, "repository_push_made", context)


@requires(Action.MANAGE, "GET", "POST")
def add_webhook(request: PageRequest) -> HttpResponse:
    """Add a push webhook."""
    form = PushWebhookForm(request.POST or None, initial={"repository": request.GET.get("repository", "")})
    if request.method == "POST" and form.is_valid():
        chosen = form.cleaned_data
        with show_refusal(form, "repository", only=NotValidError):
            made = push_webhooks.add_webhook(chosen["repository"], ForgeKind(chosen["forge"]), by=request.user)
            return _show_secret(request, made)
    return render_settings(request, "add_repository_push", {"form": form}, status=422 if form.errors else 200)


@requires(Action.MANAGE)
def show_webhook(request: PageRequest, number: int) -> HttpResponse:
    """Show one push webhook with its deliveries."""
    webhook = push_webhooks.get_webhook(number, for_user=request.user)
    found = push_webhooks.list_deliveries(webhook, for_user=request.user)
    cut = cut_page(found, request.GET.get("page"), _PER_PAGE)
    context = {
        "row": present_webhook(webhook),
        "address": _find_address(request, webhook),
        "page": ListPage.of(cut, present_deliveries(cut.object_list)),
    }
    return render_settings(request, "repository_push", context)


@requires(Action.MANAGE, "POST")
def rotate_secret(request: PageRequest, number: int) -> HttpResponse:
    """Replace the secret of a push webhook."""
    webhook = push_webhooks.get_webhook(number, for_user=request.user)
    return _show_secret(request, push_webhooks.rotate_secret(webhook, by=request.user))


@requires(Action.MANAGE, "POST")
def remove_webhook(request: PageRequest, number: int) -> HttpResponse:
    """Remove a push webhook."""
    push_webhooks.remove_webhook(push_webhooks.get_webhook(number, for_user=request.user), by=request.user)
    messages.warning(request, _("Push webhook and its secret deleted."))
    return redirect("settings:list-repositories")
