"""The guard of API views: requires a bearer token; every answer is JSON, every refusal lists its problems.

Sessions and cookies are ignored, so that no other site can use them; for the same reason there is no CSRF token.
Errors are `{"error": {"code", "message", "problems": [{"message", "file", "line", "column", "field"}]}}`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Concatenate, NoReturn, ParamSpec

from django.core.exceptions import RequestDataTooBig
from django.db import OperationalError
from django.forms import Form
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.request import UnreadablePostError
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from applyviz.engine.objects.values import JSONObject
from applyviz.web.api.problems import ProblemsError, SourceProblem
from applyviz.web.components.forms import Cleaned
from applyviz.web.frame import concurrent_writes, reauthentication, shares
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import WorkflowError
from applyviz.workflow.people import tokens
from applyviz.workflow.people.tokens import Caller, TooManyError

P = ParamSpec("P")
_CODES = {
    400: "bad-request",
    401: "unauthorized",
    403: "forbidden",
    404: "not-found",
    405: "method-not-allowed",
    409: "conflict",
    413: "too-large",
    415: "unsupported-media-type",
    422: "invalid",
    429: "too-many-requests",
    503: "unavailable",
}


ApiView = Callable[Concatenate[HttpRequest, Caller, P], HttpResponseBase]
"""A view of the API: it receives the calling program."""


def refuse(status: int, message: str, problems: Iterable[SourceProblem] = ()) -> JsonResponse:
    """Return a refusal; its code is a slug, one per status."""
    listed = [problem.to_json() for problem in problems] or [{"message": message}]
    code = _CODES.get(status, "error")
    return JsonResponse({"error": {"code": code, "message": message, "problems": listed}}, status=status)


def _read_token(request: HttpRequest) -> str:
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" else ""


def _answer(request: HttpRequest, action: Action, view: Callable[[Caller], HttpResponseBase]) -> HttpResponseBase:
    try:
        caller = tokens.find_caller(_read_token(request), address=reauthentication.find_address(request))
        request.META[shares.PERSON] = caller.person.pk
        caller.require(action)
        return view(caller)
    except ProblemsError as error:
        return refuse(error.status, str(error), error.problems)
    except TooManyError as error:
        response = refuse(error.status, str(error))
        response["Retry-After"] = str(error.seconds)
        return response
    except WorkflowError as error:
        response = refuse(error.status, str(error))
        if error.status == 401:
            response["WWW-Authenticate"] = 'Bearer realm="applyviz"'
        return response
    except OperationalError as error:
        if not concurrent_writes.is_collision(error):
            raise
        return refuse(concurrent_writes.STATUS, concurrent_writes.describe_collision())
    except (RequestDataTooBig, UnreadablePostError):
        return refuse(413, "the body is larger than what is taken, or broke off")


def requires(action: Action, *methods: str) -> Callable[[ApiView[P]], Callable[..., HttpResponseBase]]:
    """Declare the right that an API view needs and the methods it accepts."""
    taken = methods or ("GET",)

    def decorate(view: ApiView[P]) -> Callable[..., HttpResponseBase]:
        @csrf_exempt
        @wraps(view)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            response: HttpResponseBase
            if request.method not in taken:
                response = refuse(405, f"this address takes {' or '.join(taken)}")
                response["Allow"] = ", ".join(taken)
            else:
                response = _answer(request, action, lambda caller: view(request, caller, *args, **kwargs))
            response["Cache-Control"] = "no-store"
            response["Vary"] = "Authorization"
            return response

        # The tests that visit every address read this.
        guarded.access = action  # type: ignore[attr-defined]
        guarded.methods = taken  # type: ignore[attr-defined]
        return guarded

    return decorate


def _raise_unreadable(message: str, status: int = 400, *, line: int = 0, column: int = 0) -> NoReturn:
    raise ProblemsError([SourceProblem(message, line=line, column=column)], status)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def read_body(request: HttpRequest) -> JSONObject:
    """Parse the JSON object of a request; raises `ProblemsError` with the location of the error."""
    if request.content_type != "application/json":
        _raise_unreadable("send application/json", 415)
    try:
        text = request.body.decode("utf-8")
        found = json.loads(text or "{}", parse_constant=_refuse_constant)
        # A lone surrogate is valid JSON but not text: it could not be stored.
        json.dumps(found, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        _raise_unreadable(f"the body is no JSON: {error.msg}", line=error.lineno, column=error.colno)
    except UnicodeError:
        _raise_unreadable("the body is no UTF-8 text")
    except (ValueError, RecursionError):
        _raise_unreadable("the body is no JSON that could be kept")
    if not isinstance(found, dict):
        _raise_unreadable("the body must be a JSON object")
    return found


def check(form: Form, names: Mapping[str, str] | None = None) -> Cleaned:
    """Return the cleaned data of a form; raises `ProblemsError` with every invalid field.

    - `names`: how the body writes fields that it does not name as the form does.
    """
    if not form.is_valid():
        written = {"__all__": "", **(names or {})}
        raise ProblemsError(
            SourceProblem(str(message), field=written.get(name, name))
            for name, messages in form.errors.items()
            for message in messages
        )
    return form.cleaned_data


def show(value: JSONObject, status: int = 200) -> HttpResponse:
    """Return a JSON answer."""
    return JsonResponse(value, status=status)


@csrf_exempt
def find_no_address(request: HttpRequest, rest: str = "") -> HttpResponse:
    """Answer 404 for an unknown address, as JSON."""
    return refuse(404, "there is no such address in version 1 of the API")
