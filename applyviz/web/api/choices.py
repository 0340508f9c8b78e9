"""The choices of a request that are objects and lists, as the fields of the form that check them.

`prune` is `{"selector": …}`, `{"all": true}` or `{"applyset": …}`, the first two with an optional `allowlist`, all with
an optional `except`; `replace`, `without`, `addons_anyway` and `marking_addons` are lists of names. The same choices as
text have the names of the fields.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject
from applyviz.web.api.problems import ProblemsError, SourceProblem
from applyviz.web.reviews.forms.prune import ALLOWLIST, APPLYSET

UNEXPLAINED = "requested by a program without a reason"
_OF_PRUNE = ("selector", "prune_all", "prune_allowlist", "prune_except", "applyset")
_OF_ADDONS = ("addons_anyway", "marking_addons")
_KEYS = ("selector", "all", "allowlist", "applyset", "except")


_IN_PRUNE = {
    "selector": "prune.selector",
    "prune_all": "prune.all",
    "prune_allowlist": "prune.allowlist",
    "prune_except": "prune.except",
    "applyset": "prune.applyset",
}


def list_names(given: JSONObject) -> dict[str, str]:
    """Return how a body writes the fields of the form that it does not name itself, for its problems."""
    names = dict(_IN_PRUNE) if isinstance(given.get("prune"), dict) else {}
    if "without" in given:
        names["leave_out"] = "without"
    if "moves" in given:
        names |= {name: "moves" for name in ("take_from", "mode", "operation") if name not in given}
    return names


def _is_texts(value: JSONValue) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _find_prune_problems(prune: JSONObject) -> Iterator[str]:
    yield from (f"there is no choice {key[:80]!r} of prune" for key in prune if key not in _KEYS)
    if sum(key in prune for key in ("selector", "all", "applyset")) != 1:
        yield "choose one of selector, all and applyset"
    yield from (f"{key} must be text" for key in ("selector", "applyset") if not isinstance(prune.get(key, ""), str))
    if prune.get("all", True) is not True:
        yield "all must be true"
    if not _is_texts(prune.get("allowlist", [])):
        yield "allowlist must be a list of texts such as core/v1/ConfigMap"
    if not _is_texts(prune.get("except", [])):
        yield "except must be a list of texts such as core/ConfigMap"


def _flatten_prune(prune: JSONObject) -> MutableObject:
    """Return the fields of the form for the object of a prune; raises `ProblemsError`."""
    problems = [SourceProblem(text, field="prune") for text in _find_prune_problems(prune)]
    if problems:
        raise ProblemsError(problems)
    lists = (("allowlist", "prune_allowlist"), ("except", "prune_except"))
    kinds = {field: ",".join(prune[key]) for key, field in lists if prune.get(key)}
    if "applyset" in prune:
        return {"prune": APPLYSET, "applyset": prune["applyset"], **kinds}
    chosen = {"prune_all": "true"} if "all" in prune else {"selector": prune["selector"]}
    return {"prune": ALLOWLIST, **chosen, **kinds}


def _join(given: JSONObject, name: str) -> str:
    value = given[name]
    if not _is_texts(value):
        example = "dns-controller.addons.k8s.io" if name in _OF_ADDONS else "Job/default/migrate"
        raise ProblemsError([SourceProblem(f"must be a list of names such as {example}", field=name)])
    return " ".join(value)


def _refuse_twice(given: JSONObject) -> None:
    """Raise `ProblemsError` for a choice that a body makes in both forms: only one of them could count."""
    twice = [name for name in _OF_PRUNE if isinstance(given.get("prune"), dict) and given.get(name)]
    problems = [SourceProblem("write it in the object prune", field=name) for name in twice]
    if "without" in given and given.get("leave_out"):
        problems.append(SourceProblem("give without or leave_out, not both", field="leave_out"))
    if problems:
        raise ProblemsError(problems)


def flatten(given: JSONObject) -> JSONObject:
    """Return a body whose choices are the texts of the form; raises `ProblemsError` for one of another shape."""
    body: MutableObject = dict(given)
    _refuse_twice(given)
    if isinstance(given.get("prune"), dict):
        body |= _flatten_prune(body.pop("prune"))
    if isinstance(given.get("replace"), list):
        body["replace"] = _join(given, "replace")
    if "without" in given:
        body["leave_out"] = _join(body, "without")
        del body["without"]
        body.setdefault("leave_out_reason", UNEXPLAINED)
    for name in _OF_ADDONS:
        if isinstance(given.get(name), list):
            body[name] = _join(body, name)
    if isinstance(given.get("propagation"), str):
        body["propagation"] = body["propagation"].capitalize()  # kubectl writes it in small letters
    if type(given.get("deletion_seconds")) is int:
        body["deletion_seconds"] = str(given["deletion_seconds"])
    return body
