"""API tokens and service accounts of the person; a token is shown once, when it is created."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from applyviz.records.enums import TokenScope
from applyviz.web.components.forms import SearchForm, show_refusal
from applyviz.web.components.pagers import ListPage, cut_page, keep_query
from applyviz.web.frame.view_guard import PageRequest, requires
from applyviz.web.settings.forms.tokens import ServiceAccountForm, TokenForm
from applyviz.web.settings.pages.tokens import present_accounts, present_tokens
from applyviz.web.settings.views.settings_page import render_settings
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.people import tokens as use_cases

_PER_PAGE = 50
_COMMAND = "python3 gate.py --url {} --cluster CLUSTER --namespace NAMESPACE --title TITLE FILES…"


@requires(Action.VIEW)
def list_tokens(request: PageRequest) -> HttpResponse:
    """List the person's tokens and service accounts in pages, or all of them; `q` is a part of a name."""
    text = SearchForm.read(request.GET)
    cut = cut_page(use_cases.list_tokens(for_user=request.user, text=text), request.GET.get("page"), _PER_PAGE)
    found = use_cases.list_service_accounts(for_user=request.user, text=text)
    accounts = cut_page(found, request.GET.get("accounts"), _PER_PAGE)
    page = ListPage.of(
        cut, present_tokens(cut.object_list, for_user=request.user), keep_query(q=text, accounts=accounts.number)
    )
    context = {
        "text": text,
        "page": page,
        "rows": page.rows,
        "accounts": ListPage.of(
            accounts, present_accounts(accounts.object_list), keep_query(q=text, page=cut.number), "accounts"
        ),
        "sees_all": access.can(request.user, Action.VIEW_ACCOUNTS),
        "can_add": access.can(request.user, Action.MANAGE_TOKENS),
        "can_add_account": access.can(request.user, Action.WRITE),
    }
    return render_settings(request, "tokens", context)


@requires(Action.MANAGE_TOKENS, "GET", "POST")
def add_token(request: PageRequest) -> HttpResponse:
    """Create a token; only the answer to the POST ever shows it."""
    form = TokenForm(request.POST or None, for_user=request.user)
    if request.method == "POST" and form.is_valid():
        chosen = form.cleaned_data
        with show_refusal(form):
            token, text = use_cases.make_token(
                by=request.user,
                account=form.acting,
                name=chosen["name"],
                scope=TokenScope(chosen["scope"]),
                days=chosen["days"],
            )
            context = {
                "row": present_tokens([token], for_user=request.user)[0],
                "text": text,
                "command": _COMMAND.format(request.build_absolute_uri("/").rstrip("/")),
            }
            response = render_settings(request, "token_made", context)
            response["Cache-Control"] = "no-store"
            return response
    return render_settings(request, "add_token", {"form": form}, status=422 if form.errors else 200)


@requires(Action.WRITE, "GET", "POST")
def add_account(request: PageRequest) -> HttpResponse:
    """Create a service account of the person."""
    form = ServiceAccountForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with show_refusal(form):
            use_cases.make_service_account(by=request.user, **form.cleaned_data)
            messages.success(request, _("Service account created. An administrator can grant it roles."))
            return redirect("settings:list-tokens")
    return render_settings(request, "add_service_account", {"form": form}, status=422 if form.errors else 200)


@requires(Action.MANAGE_TOKENS, "POST")
def revoke_token(request: PageRequest, pk: int) -> HttpResponse:
    """Revoke a token at once."""
    use_cases.revoke_token(use_cases.get_token(pk, for_user=request.user), by=request.user)
    messages.success(request, _("Token revoked."))
    return redirect("settings:list-tokens")
