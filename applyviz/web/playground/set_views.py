"""The playground for sets: manifests and a cluster in, what becomes of each object out; no cluster is asked."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.safestring import SafeString

from applyviz.guide import limited
from applyviz.guide.given import PlaygroundQueryError
from applyviz.web.frame.view_guard import PageRequest, requires
from applyviz.web.playground import set_pages as presenter
from applyviz.web.playground.set_forms import SetForm
from applyviz.web.playground.visitors import admit, ask_later, find_pool, is_visitor
from applyviz.workflow.foundation.access import Action

_PAGE = "playground/sets.html"


@requires(Action.EXPLORE, "GET", "HEAD", "POST")
def ask_set(request: PageRequest) -> HttpResponse:
    """Show an empty form, or store a submitted input and redirect to its answer."""
    form, groups = SetForm(request.POST or None), presenter.list_set_groups()
    until = admit(request) if request.method == "POST" else None
    if until is not None:
        return ask_later(request, _PAGE, form, until, {"groups": groups})
    if request.method == "POST" and form.is_valid():
        try:
            if is_visitor(request):
                limited.check_size(form.given)
            key = presenter.keep_set(form.given, pool=find_pool(request))
        except PlaygroundQueryError as error:
            form.refuse(error)
        else:
            return redirect(f"{presenter.set_url(key)}#answer")
    return render(request, _PAGE, {"form": form, "groups": groups}, status=422 if form.errors else 200)


@requires(Action.EXPLORE)
def show_set(request: PageRequest, key: str) -> HttpResponse:
    """Show an input about a set and its answer."""
    question = presenter.find_set_question(key)
    html = SafeString(presenter.render_question(question, pool=find_pool(request)))  # rendered by a template
    context = {"form": SetForm.of(question.given), "question": question, "answer": html}
    context |= {"share_url": request.build_absolute_uri(question.url), "groups": presenter.list_set_groups(key)}
    return render(request, _PAGE, context)
