"""The guard of every view: the required right, the accepted methods, and how a refusal looks.

Pages that the operator made public accept everyone. Elsewhere a visitor is redirected to sign in, an outsider gets 404,
a member with too weak a role 403, an outdated page 409; each as a page, or as a fragment when htmx asked. The fragment
of a visitor says that the session has ended (401): a redirect would put the sign-in page into a part of another page.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Concatenate, ParamSpec, cast
from urllib.parse import unquote, urlsplit, urlunsplit

from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import Resolver404, resolve
from django.utils.cache import patch_vary_headers
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django_htmx.middleware import HtmxDetails

from applyviz import moments
from applyviz.engine.objects.golang import is_digits
from applyviz.records.models import WorkerRequest
from applyviz.web.frame import concurrent_writes
from applyviz.workflow import worker_requests
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import TooOftenError, WorkflowError

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


class PageRequest(HttpRequest):
    """A request of a signed-in person."""

    user: User
    htmx: HtmxDetails


_VARIES = ("HX-Request", "Cookie")
_DEEPEST = 16
"""How many parents of an address are looked up; more than any address of a page has. A client may send thousands."""
PageView = Callable[Concatenate[PageRequest, P], HttpResponseBase]


def requires(action: Action, *methods: str) -> Callable[[PageView[P]], View[P]]:
    """Declare the right that a view needs and the methods it accepts (only GET by default)."""

    taken = methods or ("GET", "HEAD")

    def decorate(view: PageView[P]) -> View[P]:
        @wraps(view)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if (early := _answer_early(request, action, taken)) is not None:
                patch_vary_headers(early, _VARIES)
                return early
            is_public = access.is_public(action)
            is_reading = request.method in ("GET", "HEAD")
            try:
                with moments.at_one_moment() if is_reading else nullcontext():
                    if not is_public:
                        access.require(request.user, action)
                    response: HttpResponseBase = view(
                        cast(PageRequest, request), *args, **kwargs
                    )  # `require` has just narrowed it
            except worker_requests.UnfinishedError as error:
                response = _render_unfinished(request, error)
            except WorkflowError as error:
                response = render_refusal(request, error.status, str(error))
                if isinstance(error, TooOftenError) and error.retry_after:
                    response["Retry-After"] = str(error.retry_after)
            except OperationalError as error:
                if not concurrent_writes.is_collision(error):
                    raise
                response = render_refusal(request, concurrent_writes.STATUS, concurrent_writes.describe_collision())
            patch_vary_headers(response, _VARIES)
            return response

        # The tests that visit every address read this.
        guarded.access = action  # type: ignore[attr-defined]
        guarded.methods = taken  # type: ignore[attr-defined]
        return cast("View[P]", guarded)

    return decorate


def _can_be_opened(path: str) -> bool:
    """Return whether a link to a path opens a page. Addresses that only take forms refuse it (405)."""
    try:
        view = resolve(unquote(path)).func
    except Resolver404:
        return False
    return "GET" in getattr(view, "methods", ("GET",))


def _find_way_back(request: HttpRequest) -> str:
    """Return where a sign-in leads: to the address itself, or to the page that asked for a part or sent a form.

    Some addresses take only forms, as that of a refused form, which may be sent again from there. Then the nearest page
    above it has the form: that of the plan, of the review or of the settings.
    """
    is_page = request.method in ("GET", "HEAD") and not is_fragment(request)
    page = urlsplit(request.build_absolute_uri() if is_page else request.headers.get("Referer", ""))
    path, query = page.path or "/", page.query
    for _step in range(_DEEPEST):
        if path == "/" or _can_be_opened(path):
            break
        path, query = f"{path.rstrip('/').rpartition('/')[0]}/", ""
    else:
        path = "/"
    address = urlunsplit(("", "", path, query, ""))
    # A path that starts with two slashes is the address of another host.
    is_here = page.netloc == request.get_host() and url_has_allowed_host_and_scheme(address, allowed_hosts=None)
    return address if is_here else "/"


def _refuse_method(request: HttpRequest, taken: tuple[str, ...]) -> HttpResponse:
    """Return the page for an address that takes no such request, as when a person opens one that only takes forms."""
    reason = _("this page takes no form. Open it again and use its buttons.")
    if "GET" not in taken:
        reason = _("this address only takes a form. Go back and use the button of its page.")
    response = render_refusal(request, 405, reason)
    response["Allow"] = ", ".join(taken)
    return response


def _answer_early(request: HttpRequest, action: Action, taken: tuple[str, ...]) -> HttpResponse | None:
    """Return the answer to a request with another method or without an account; None where the view answers."""
    if request.method not in taken:
        return _refuse_method(request, taken)
    if access.is_public(action) or request.user.is_authenticated:
        return None
    answer = redirect_to_login(_find_way_back(request))
    if not is_fragment(request):
        return answer
    return render(request, "frame/_signed_out.html", {"url": answer["Location"]}, status=401)


def is_fragment(request: HttpRequest) -> bool:
    """Return whether htmx asks for a part of the page; going back in history asks for the whole page."""
    headers = request.headers
    return headers.get("HX-Request") == "true" and headers.get("HX-History-Restore-Request") != "true"


def lead(request: HttpRequest, address: str) -> HttpResponse:
    """Go to an address; a form in the sheet has the whole page go there."""
    if not is_fragment(request):
        return redirect(address)
    answer = HttpResponse()
    answer["HX-Redirect"] = address
    return answer


def visible_worker_request(request: HttpRequest) -> int:
    """Return the answered worker request that this person repeats with "Ask again"; 0 without one."""
    number = request.GET.get("again", "")
    return int(number) if is_digits(number) and len(number) < 16 else 0


def _ask_again(request: HttpRequest, worker_request: WorkerRequest) -> str:
    """Return the same address with the worker request; "" for a form submission."""
    if request.method not in ("GET", "HEAD"):
        return ""
    query = request.GET.copy()
    query["again"] = str(worker_request.pk)
    return f"{request.path}?{query.urlencode()}"


def _render_unfinished(request: HttpRequest, error: worker_requests.UnfinishedError) -> HttpResponse:
    """Return the page that waits for a worker; a form submission waits at a separate address."""
    if request.method not in ("GET", "HEAD"):
        return redirect("worker-requests:show-worker-request", error.worker_request.pk)
    return render_worker_request(request, error, again_url=_ask_again(request, error.worker_request))


def render_worker_request(
    request: HttpRequest, error: worker_requests.UnfinishedError, *, again_url: str
) -> HttpResponse:
    """Return the pending or unanswered state as a page, or as the fragment of a polling page."""
    is_waiting = isinstance(error, worker_requests.WaitingError)
    context = {
        "worker_request": error.worker_request,
        "is_waiting": is_waiting,
        "reason": str(error),
        "here": request.get_full_path(),
        "again_url": again_url,
    }
    name = "frame/_worker_request.html" if is_fragment(request) else "frame/worker_request.html"
    return render(request, name, context, status=error.status)


def render_refusal(request: HttpRequest, status: int, reason: str) -> HttpResponse:
    """Return a refusal as a page or as a fragment; that of a form leads back to the page with the form.

    Refusals are clauses, as forms print them below a field; here each ends as the sentences around it do.
    """
    name = "frame/_refusal.html" if is_fragment(request) else "frame/refusal.html"
    is_outsider = request.user.is_authenticated and not access.can(request.user, Action.VIEW)
    back = _find_way_back(request)
    context = {
        "status": status,
        "reason": reason if reason.endswith((".", "?")) else f"{reason}.",
        "is_outsider": is_outsider,
        "back_url": back if back not in ("/", request.get_full_path()) else "",
    }
    return render(request, name, context, status=status)
