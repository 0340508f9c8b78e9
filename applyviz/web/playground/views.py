"""The playground: pasted versions in, a full explanation out; nothing is sent to a cluster."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.safestring import SafeString

from applyviz import clock
from applyviz.engine.objects.structs import replace
from applyviz.guide import limited
from applyviz.guide.given import PlaygroundQuery, PlaygroundQueryError
from applyviz.web.frame.view_guard import PageRequest, is_fragment, requires
from applyviz.web.playground import answers
from applyviz.web.playground import pages as presenter
from applyviz.web.playground.forms import PlaygroundForm
from applyviz.web.playground.visitors import admit, ask_later, find_pool, is_visitor
from applyviz.web.reviews.forms.reviews import ObjectForm
from applyviz.web.reviews.pane.object_content import AloneChoice, ObjectView
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.ops import playgrounds


def _put(request: PageRequest, given: PlaygroundQuery) -> str:
    """Compute an answer, so that only computable input is stored; return its key. Raises `PlaygroundQueryError`."""
    if is_visitor(request):
        limited.check_size(given)
    at, key = clock.now(), playgrounds.make_key()
    now, url = at.strftime(presenter.TIME), presenter.answer_url(key)
    question = answers.ChildQuestion(key, given, now, url, find_pool(request), is_masked=False)
    answer = answers.ask(question, AloneChoice())
    playgrounds.keep_input(key, answer.kept.to_json(), at=at)
    return key


@requires(Action.EXPLORE, "GET", "HEAD", "POST")
def ask(request: PageRequest) -> HttpResponse:
    """Show an empty playground, or store a submitted input and redirect to its answer."""
    form = PlaygroundForm(request.POST or None)
    limited.prepare(answers.CHILD)
    until = admit(request) if request.method == "POST" else None
    if until is not None:
        more = {"groups": presenter.list_example_groups()}
        return ask_later(request, "playground/playground.html", form, until, more)
    if request.method == "POST" and form.is_valid():
        try:
            key = _put(request, form.given)
        except PlaygroundQueryError as error:
            form.refuse(error)
        else:
            return redirect(f"{reverse('playground:show-answer', args=[key])}#answer")
    context = {"form": form, "groups": presenter.list_example_groups()}
    return render(request, "playground/playground.html", context, status=422 if form.errors else 200)


@requires(Action.EXPLORE)
def show_answer(request: PageRequest, key: str) -> HttpResponse:
    """Show an input and its answer."""
    return _show(request, key, ObjectView.FIELDS)


@requires(Action.EXPLORE)
def show_tab(request: PageRequest, key: str, tab: str) -> HttpResponse:
    """Show an input and its answer in one of the views of the object."""
    if tab not in set(ObjectView):
        raise NotVisibleError(f"there is no view {tab}")
    return _show(request, key, ObjectView(tab))


def _show(request: PageRequest, key: str, view: ObjectView) -> HttpResponse:
    question = presenter.find_question(key, pool=find_pool(request))
    choice = replace(ObjectForm.read_choice(request.GET), view=view)
    pane = SafeString(presenter.render_pane(question, choice))  # rendered by a template
    if is_fragment(request):
        return HttpResponse(pane, headers={"HX-Push-Url": request.get_full_path()})
    context = {"form": PlaygroundForm.of(question.given), "question": question, "pane": pane}
    context["share_url"] = request.build_absolute_uri(question.url)
    context["groups"] = presenter.list_example_groups(key)
    return render(request, "playground/playground.html", context)


@requires(Action.EXPLORE)
def show_field(request: PageRequest, key: str, index: int) -> HttpResponse:
    """Show the schema of one field of an answer."""
    about = presenter.present_question_field(presenter.find_question(key, pool=find_pool(request)), index)
    name = "reviews/_schema.html" if is_fragment(request) else "reviews/schema.html"
    return render(request, name, {"about": about})
