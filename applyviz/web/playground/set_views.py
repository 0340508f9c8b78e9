"""The playground for sets: manifests and a cluster in, what becomes of each object out; no cluster is asked."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString

from applyviz.web.frame.view_guard import PageRequest, requires
from applyviz.web.playground.questions import SETS
from applyviz.web.playground.set_forms import SetForm
from applyviz.web.playground.visitors import find_pool, take_question
from applyviz.workflow.foundation.access import Action

_PAGE = "playground/sets.html"


@requires(Action.EXPLORE, "GET", "HEAD", "POST")
def ask_set(request: PageRequest) -> HttpResponse:
    """Show an empty form, or store a submitted input and redirect to its answer."""
    form = SetForm(request.POST or None)
    groups = SETS.list_groups()
    return take_question(request, _PAGE, form, groups, lambda pool: SETS.keep(form.given, pool=pool))


@requires(Action.EXPLORE)
def show_set(request: PageRequest, key: str) -> HttpResponse:
    """Show an input about a set and its answer."""
    question = SETS.find(key)
    html = SafeString(SETS.answer(question, pool=find_pool(request)))  # rendered by a template
    context = {"form": SetForm.of(question.given), "question": question, "answer": html}
    context |= {"share_url": request.build_absolute_uri(question.url), "groups": SETS.list_groups(key)}
    return render(request, _PAGE, context)
