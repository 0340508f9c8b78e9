"""Signing in with a limit on failures, and proving once more that it is you."""

from __future__ import annotations

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from applyviz.web import proof
from applyviz.web.forms.accounts import ProofForm, SignInForm
from applyviz.web.views.doors import PageRequest, needs
from applyviz.workflow import signing
from applyviz.workflow.access import Action, Person


class _SignIn(LoginView):
    """Django's own view, which also writes down who signed in."""

    template_name = "accounts/login.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Start the session and remember the proof."""
        answer = super().form_valid(form)
        person = form.get_user()
        if isinstance(person, Person):
            signing.record_success(person, proof.find_address(self.request))
        proof.remember(self.request)
        return answer


sign_in = _SignIn.as_view()


@needs(Action.LOOK, "GET", "POST")
def prove(request: PageRequest) -> HttpResponse:
    """Ask for the password before something dangerous, then go back there."""
    form = ProofForm(request.POST or None, initial={"next": request.GET.get("next", "")})
    back = form.read_back(request.get_host(), reverse("home"))
    if request.method == "POST" and form.is_valid():
        if signing.prove(request.user, form.cleaned_data["password"], proof.find_address(request)):
            proof.remember(request)
            return redirect(back)
        form.add_error("password", _("This is not your password, or you tried too often."))
    context = {"form": form, "back": back}
    return render(request, "accounts/prove.html", context, status=422 if request.method == "POST" else 200)
