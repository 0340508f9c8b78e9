"""The playground for kOps channels: a channel and the records of a cluster in, the choice for each addon out."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString

from applyviz.web.frame.view_guard import PageRequest, requires
from applyviz.web.playground.channel_forms import ChannelForm
from applyviz.web.playground.questions import CHANNELS
from applyviz.web.playground.visitors import find_pool, take_question
from applyviz.workflow.foundation.access import Action

_PAGE = "playground/channels.html"


@requires(Action.EXPLORE, "GET", "HEAD", "POST")
def ask_channel(request: PageRequest) -> HttpResponse:
    """Show an empty form, or store a submitted input and redirect to its answer."""
    form = ChannelForm(request.POST or None)
    groups = CHANNELS.list_groups()
    return take_question(request, _PAGE, form, groups, lambda pool: CHANNELS.keep(form.given, pool=pool))


@requires(Action.EXPLORE)
def show_channel(request: PageRequest, key: str) -> HttpResponse:
    """Show an input about a channel and its answer."""
    question = CHANNELS.find(key)
    html = SafeString(CHANNELS.answer(question, pool=find_pool(request)))  # rendered by a template
    context = {"form": ChannelForm.of(question.given), "question": question, "answer": html}
    context |= {"share_url": request.build_absolute_uri(question.url), "groups": CHANNELS.list_groups(key)}
    return render(request, _PAGE, context)
