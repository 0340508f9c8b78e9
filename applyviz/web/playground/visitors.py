"""The users of the playground: people with an account, and visitors without one, who have a smaller limit."""

from __future__ import annotations

from datetime import datetime

from django import forms
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from applyviz import clock
from applyviz.engine.objects.values import JSONObject
from applyviz.guide import limited
from applyviz.web.frame.reauthentication import find_address
from applyviz.web.frame.view_guard import PageRequest
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
