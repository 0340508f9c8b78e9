"""The playground for sets and kOps channels: manifests and the objects of a cluster in, each outcome out."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.safestring import SafeString

from applyviz.guide import limited
from applyviz.guide.given import PlaygroundQueryError
from applyviz.web.frame.view_guard import PageRequest, requires
from applyviz.web.playground.answers import CHILD
from applyviz.web.playground.forms import QuestionForm
from applyviz.web.playground.question_forms import ChannelForm, SetForm
from applyviz.web.playground.questions import CHANNELS, SETS, Given, QuestionKind
from applyviz.web.playground.visitors import admit, ask_later, find_pool, is_visitor
from applyviz.workflow.foundation.access import Action

Views = tuple[Callable[..., HttpResponseBase], Callable[..., HttpResponseBase]]


def _make_views(kind: QuestionKind[Given], make: type[QuestionForm[Given]], template: str) -> Views:
    """Return the view of an empty form, which takes questions, and that of a question with its answer."""

    @requires(Action.EXPLORE, "GET", "HEAD", "POST")
    def ask(request: PageRequest) -> HttpResponse:
        """Show an empty form, or store a submitted input and redirect to its answer; a refused form keeps its texts."""
        form, groups, is_asked = make(request.POST or None), kind.list_groups(), request.method == "POST"
        limited.prepare(CHILD)
        until = admit(request) if is_asked else None
        if until is not None:
            return ask_later(request, template, form, until, {"groups": groups})
        if is_asked and form.is_valid():
            try:
                if is_visitor(request):
                    limited.check_size(form.given)
                url = kind.keep(form.given, pool=find_pool(request))
            except PlaygroundQueryError as error:
                form.refuse(error)
            else:
                return redirect(f"{url}#answer")
        return render(request, template, {"form": form, "groups": groups}, status=422 if form.errors else 200)

    @requires(Action.EXPLORE)
    def show(request: PageRequest, key: str) -> HttpResponse:
        """Show an input and its answer."""
        question = kind.find(key)
        html = SafeString(kind.answer(question, pool=find_pool(request)))  # rendered by a template
        context = {
            "form": make.of(question.given),
            "question": question,
            "answer": html,
            "share_url": request.build_absolute_uri(question.url),
            "groups": kind.list_groups(key),
        }
        return render(request, template, context)

    return ask, show


ask_set, show_set = _make_views(SETS, SetForm, "playground/sets.html")
ask_channel, show_channel = _make_views(CHANNELS, ChannelForm, "playground/channels.html")
