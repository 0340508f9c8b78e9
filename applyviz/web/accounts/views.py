"""Signing in, reauthentication, and the person's own account: password and sessions."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz import audit_origin
from applyviz.web.accounts.forms import DemoSignInForm, NewPasswordForm, PasswordForm, ProofForm, SignInForm
from applyviz.web.frame import client_address, demo_sessions, reauthentication
from applyviz.web.frame.view_guard import PageRequest, render_refusal, requires
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.errors import NotValidError, NotVisibleError, WorkflowError
from applyviz.workflow.ops import demo
from applyviz.workflow.people import claims, sessions
from applyviz.workflow.people import sign_in as signing


class DemoAccount(Struct, frozen=True):
    """A demo account on the sign-in page, with its roles in words."""

    name: str
    roles: str


def list_demo_accounts() -> tuple[DemoAccount, ...]:
    """The demo accounts that one click signs in."""
    return tuple(DemoAccount(p.username, demo.describe_roles(p.username)) for p in demo.list_sign_ins())


def remember_session(request: HttpRequest, person: Person, before: str = "") -> None:
    """Record the session of a person, so that they can end it from another one."""
    agent = audit_origin.shorten_agent(request.headers.get("User-Agent", ""))
    key, address = request.session.session_key or "", reauthentication.find_address(request)
    sessions.remember(person, session=key, address=address, agent=agent, before=before)


class _SignIn(LoginView):
    """Django's sign-in view with an audit entry for each sign-in."""

    template_name = "accounts/login.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Start the session and record the reauthentication."""
        answer = super().form_valid(form)
        person = form.get_user()
        if isinstance(person, Person):
            signing.record_success(person, reauthentication.find_address(self.request))
            remember_session(self.request, person)
        reauthentication.remember(self.request)
        return answer

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        """Show the error, with the seconds to wait if there are any."""
        answer = super().form_invalid(form)
        seconds = getattr(form, "retry_after", 0)
        if seconds:
            answer.status_code, answer["Retry-After"] = 429, str(seconds)
        return answer

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the demo accounts that one click signs in, on a personal installation without real clusters."""
        is_here = client_address.is_from_this_machine(self.request)
        accounts = list_demo_accounts() if is_here else ()
        asks = is_here and demo.asks_for_passwords()
        return super().get_context_data(demo_accounts=accounts, demo_asks_for_passwords=asks, **kwargs)


sign_in = _SignIn.as_view()


def sign_in_as_demo(request: HttpRequest) -> HttpResponse:
    """Sign in as a demo account without a password; only from this machine, and only while everything is a sandbox."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    form = DemoSignInForm(request.POST)
    try:
        if not form.is_valid() or not client_address.is_from_this_machine(request):
            raise NotVisibleError("there is no such demo account")
        person = demo_sessions.open_session(request, form.cleaned_data["name"])
    except WorkflowError as error:
        return render_refusal(request, error.status, str(error))
    signing.record_success(person, reauthentication.find_address(request))
    remember_session(request, person)
    reauthentication.remember(request)
    return redirect("home")


@requires(Action.USE_ACCOUNT, "GET", "POST")
def reauthenticate(request: PageRequest) -> HttpResponse:
    """Ask for the password before a high-risk action, then return to it."""
    form = ProofForm(request.POST or None, initial={"next": request.GET.get("next", "")})
    back = form.read_back(request.get_host(), reverse("home"))
    if request.method == "POST" and form.is_valid():
        wrong = reauthentication.reauthenticate(request, form.cleaned_data["password"])
        if not wrong:
            return redirect(back)
        form.add_error("password", wrong)
    context = {"form": form, "back": back}
    return render(request, "accounts/reauthenticate.html", context, status=422 if request.method == "POST" else 200)


@requires(Action.USE_ACCOUNT)
def show_account(request: PageRequest) -> HttpResponse:
    """Show the person's own account: sessions, and a link to change the password."""
    here = sessions.name_row(request.session.session_key or "")
    context = {"sessions": sessions.list_open(request.user), "here": here}
    return render(request, "accounts/account.html", context)


@requires(Action.USE_ACCOUNT, "POST")
def end_sessions(request: PageRequest) -> HttpResponse:
    """Sign out of all other sessions."""
    count = sessions.sign_out_others(request.user, keep=request.session.session_key or "")
    text = ngettext("Signed out of %(count)d other session.", "Signed out of %(count)d other sessions.", count)
    messages.success(request, text % {"count": count})
    return redirect("account")


@requires(Action.USE_ACCOUNT, "GET", "POST")
def change_password(request: PageRequest) -> HttpResponse:
    """Set a new password; ends every other session of the account."""
    form = PasswordForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and _change(request, form):
        messages.success(request, _("Password changed. Your other sessions are signed out."))
        return redirect("account")
    status = 422 if request.method == "POST" else 200
    return render(request, "accounts/password.html", {"form": form}, status=status)


def _change(request: PageRequest, form: PasswordForm) -> bool:
    wrong = reauthentication.reauthenticate(request, form.cleaned_data["password"])
    if wrong:
        form.add_error("password", wrong)
        return False
    before, address = request.session.session_key or "", reauthentication.find_address(request)
    try:
        signing.change_password(request.user, new=form.cleaned_data["new"], address=address, keep_session=before)
    except NotValidError as error:
        form.add_error("new", str(error))
        return False
    update_session_auth_hash(request, request.user)
    remember_session(request, request.user, before=before)
    return True


def claim(request: HttpRequest, token: str) -> HttpResponse:
    """Set the first password of an account by its one-time link, which needs no sign-in.

    - Refuses a signed-in person, so that they cannot claim another account by mistake.
    """
    if request.method not in ("GET", "POST"):
        return HttpResponseNotAllowed(["GET", "POST"])
    if request.user.is_authenticated:
        return render_refusal(request, 403, _("You are signed in. Sign out first, then open the link again."))
    try:
        found = claims.find_claim(token)
        form = NewPasswordForm(request.POST or None)
        if request.method == "POST" and form.is_valid() and _claim(request, token, form):
            return redirect("login")
    except WorkflowError as error:
        return render_refusal(request, error.status, str(error))
    context = {"form": form, "name": found.person.get_username()}
    return render(request, "accounts/claim.html", context, status=422 if request.method == "POST" else 200)


def _claim(request: HttpRequest, token: str, form: NewPasswordForm) -> bool:
    try:
        address = reauthentication.find_address(request)
        person = claims.claim_account(token, password=form.cleaned_data["new"], address=address)
    except NotValidError as error:
        form.add_error("new", str(error))
        return False
    if person.is_active:
        messages.success(request, _("Account claimed. Sign in with your new password."))
    else:
        messages.warning(request, _("Account claimed. You can sign in once a second administrator confirms it."))
    return True
