"""The users of the playground: people with an account, and visitors without one, who have a smaller limit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from django import forms
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from applyviz import clock
from applyviz.engine.objects.values import JSONObject
from applyviz.guide import limited
from applyviz.guide.given import PlaygroundQueryError
from applyviz.web.frame.reauthentication import find_address
from applyviz.web.frame.view_guard import PageRequest
from applyviz.web.playground.answers import CHILD
from applyviz.web.playground.channel_forms import ChannelForm
from applyviz.web.playground.pages import ExampleGroup
from applyviz.web.playground.set_forms import SetForm
from applyviz.web.templatetags.applyviz import moment_text
from applyviz.workflow.ops import playgrounds


def is_visitor(request: PageRequest) -> bool:
    """Return whether the request has no signed-in person."""
    return not request.user.pk


def admit(request: PageRequest) -> datetime | None:
    """Count an input; return until when an account, else an address, must wait."""
    return playgrounds.admit(str(request.user.pk or find_address(request)), is_visitor=is_visitor(request))


def find_pool(request: PageRequest) -> limited.Pool:
    """Return the slots in which the question of a request is computed."""
    return limited.VISITORS if is_visitor(request) else limited.PEOPLE


def ask_later(request: PageRequest, template: str, form: forms.Form, until: datetime, more: JSONObject) -> HttpResponse:
    """Show the form again, with the moment from which on it may be sent."""
    form.add_error(None, _("Too many requests. Try again at %(at)s.") % {"at": moment_text(until, "clock")})
    wait = max(1, int((until - clock.now()).total_seconds()))
    answer = render(request, template, {"form": form, **more}, status=429)
    answer["Retry-After"] = str(wait)
    return answer


def take_question(
    request: PageRequest,
    template: str,
    form: SetForm | ChannelForm,
    groups: tuple[ExampleGroup, ...],
    keep: Callable[[limited.Pool], str],
) -> HttpResponse:
    """Show an empty form, or store a submitted input and redirect to its answer; a refused form keeps its texts.

    - `keep`: computes and stores what the form holds, and returns the address of the answer.
    """
    is_asked = request.method == "POST"
    limited.prepare(CHILD)
    until = admit(request) if is_asked else None
    if until is not None:
        return ask_later(request, template, form, until, {"groups": groups})
    if is_asked and form.is_valid():
        try:
            if is_visitor(request):
                limited.check_size(form.given)
            url = keep(find_pool(request))
        except PlaygroundQueryError as error:
            form.refuse(error)
        else:
            return redirect(f"{url}#answer")
    return render(request, template, {"form": form, "groups": groups}, status=422 if form.errors else 200)
