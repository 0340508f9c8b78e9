"""Home, and the choice of the theme."""

from __future__ import annotations

from django import forms
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from applyviz.web.frame.view_guard import PageRequest, is_fragment, requires
from applyviz.web.home.first_steps import present_first_steps
from applyviz.web.home.pages import present_home
from applyviz.workflow.foundation.access import Action

HIDDEN = "first-steps"
YEAR = 365 * 24 * 3600


class ThemeForm(forms.Form):
    """Light or dark, and the page to return to."""

    theme = forms.ChoiceField(choices=[("light", "light"), ("dark", "dark")])
    next = forms.CharField(required=False, max_length=2000)


@requires(Action.VIEW)
def show_home(request: PageRequest) -> HttpResponse:
    """Show the first page after signing in."""
    name = "home/_home.html" if is_fragment(request) else "home/home.html"
    steps = () if is_fragment(request) or HIDDEN in request.COOKIES else present_first_steps(request.user)
    return render(request, name, {"home": present_home(request.user), "first_steps": steps})


@requires(Action.VIEW, "POST")
def hide_first_steps(request: PageRequest) -> HttpResponse:
    """Hide the card of first steps in this browser."""
    response = HttpResponseRedirect(reverse("home"))
    response.set_cookie(HIDDEN, "hidden", max_age=YEAR, samesite="Lax", secure=request.is_secure(), httponly=True)
    return response


@requires(Action.VIEW, "POST")
def set_theme(request: PageRequest) -> HttpResponse:
    """Store light or dark in a cookie; used by the toggle without script."""
    form = ThemeForm(request.POST)
    back = form.cleaned_data["next"] if form.is_valid() else ""
    if not url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()}):
        back = reverse("home")
    response = HttpResponseRedirect(back)
    if form.is_valid():
        response.set_cookie(
            "theme", form.cleaned_data["theme"], max_age=YEAR, samesite="Lax", secure=request.is_secure()
        )
    return response
