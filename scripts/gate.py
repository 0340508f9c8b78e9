#!/usr/bin/env python3
"""Approval gate for pipelines: opens a review, prints its plan, waits for approval, runs the approved plan.

    gate.py --url URL --cluster C [--namespace N] --title T [--reason R] [--ticket T] FILE…

One file that needs only Python's standard library. The token is read from APPLYVIZ_TOKEN, or the file of --token-file.
Folders are read as kubectl reads them. Exit status: 0 applied and verified, or nothing to apply; 1 it did not, or will
not, happen; 2 not approved in time (or, with --plan-only, awaiting approval); 3 the request could not be sent.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import ssl
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

DONE, REFUSED, WAITING, NOT_ASKED = 0, 1, 2, 3
EXTENSIONS = (".yaml", ".yml", ".json")
GOOD, VERIFIED = frozenset({"applied", "nothing-to-apply"}), {"applied", "deleted", "unchanged", "left-out"}
STOPPED = frozenset({"failed", "stale", "canceled", "closed", "superseded", "plan-failed"})
BAD = STOPPED | {"blocked", "changes-requested", "applied-elsewhere"}
SOURCES = ("kustomization", "git_repository", "git_ref", "git_path", "chart", "chart_repository", "chart_version",
           "chart_release", "chart_hooks")  # fmt: skip
SENT = ("title", "reason", "ticket", "cluster", "namespace", "propagation", "deletion_seconds", "mode", "field_manager",
        "client_side_ownership", "operation", "selector", "applyset", "patch_objects", "patch_type",
        "patch_subresource", "follow", "preset")  # fmt: skip
KEPT = (*SENT[7:], "prune", "all", "patch_file", "prune_allowlist", "prune_except")  # of a review, as it was opened
TEXTS = {"reason": "why", "operation": "apply, delete, patch, set-last-applied or clear-managed-fields",
    "client-side-ownership": "of client-side fields: move or keep", "leave-out-reason": "why they are left out",
    "ca-file": "certificate authority of the installation", "git-path": "file, folder or glob in the repository",
    "patch-subresource": "status or scale", "ticket": "ticket or pull request", "chart-version": "exact version",
    "token-file": "file with the token, instead of APPLYVIZ_TOKEN", "propagation": "Background, Foreground or Orphan",
    "deletion-seconds": "how long to wait until an object is gone", "patch-objects": "as deployment/web, with commas",
    "applyset": "parent of the ApplySet to prune by, for example secrets/shop", "cluster": "short name of the cluster",
    "chart-repository": "of the named chart", "patch-type": "strategic, merge or json", "title": "title of the review",
    "field-manager": "owner of the fields", "chart-release": "name of the release", "git-ref": "branch, tag or commit",
    "kustomization": "folder to render, of the files or the repository", "namespace": "for objects without a namespace",
    "hand-over-to": "next manager of --hand-over", "take-from": "managers that give up fields", "preset": "its slug",
    "chart": "to render: folder (. for the given one) or .tgz of files or repository, https or oci:// address, or name",
    "patches": "JSON file with the list of the API", "moves": "JSON file with the list of the API",
}  # fmt: skip
LISTS = {"link": ("URL", "a file that the server fetches"), "replace": ("KIND", "if immutable, as batch/Job"),
    "prune-allowlist": ("GROUP/VERSION/KIND", "to prune"), "leave-out without": ("OBJECT", "as Job/shop/migrate"),
    "git-values": ("FILE", "values of the chart, in the repository"), "patch-file": ("FILE", "if the files hold none"),
    "hand-over": ("FIELD", "as 'apps/Deployment/shop/web .spec.replicas'"), "values": ("FILE", "values of the chart"),
    "take-fields": ("FIELD", "live value, with --review"), "addons-anyway": ("ADDON", "planned although skipped"),
    "prune-except": ("KIND", "never pruned, as core/Secret"), "reviewer": ("NAME", "whom to ask for a review"),
}  # fmt: skip
# How long a server may be unavailable: at the start, where the address may be wrong, and after its first answer.
PATIENCE, AWAY_AT_FIRST, AWAY = 25, 10.0, 300.0
NOT_CREATED = "it is deleted and was not created again"
_MARKS = {"create": "+", "update": "~", "replace": "±", "prune": "-", "delete": "-", "blocked": "!", "error": "x"}
PLANNING, BEFORE = frozenset({"reading", "planning"}), frozenset({"reading", "planning", "needs-approval"})


class GateError(Exception):
    """The gate cannot continue: the message to print and the exit status."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


class LostError(GateError):
    """The answer was lost: the outcome is unknown."""


class Api:
    """A client of one installation's API; repeats lost requests where that does no harm."""

    def __init__(self, url: str, token: str, *, ca_file: str = "", sleep: Callable[[float], None] = time.sleep,
                 clock: Callable[[], float] = time.monotonic) -> None:  # fmt: skip
        if (parts := urllib.parse.urlsplit(url)).scheme not in ("http", "https") or not parts.hostname:
            raise GateError(f"{url!r} is not an address", NOT_ASKED)
        if parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
            raise GateError("a token is sent over https only", NOT_ASKED)
        self._root = url.rstrip("/") + "/api/v1/"
        self._token, self._sleep, self._clock = token, sleep, clock
        self._has_answered = False
        https = urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=ca_file or None))
        self._opener = urllib.request.build_opener(_NoRedirect(), https)

    def get(self, path: str, **query: str | int) -> dict[str, Any]:
        """Send a GET request; retry while the server is unavailable."""
        text = urllib.parse.urlencode({name: value for name, value in query.items() if value != ""})
        return self._try(path + (f"?{text}" if text else ""), None, is_repeatable=True)

    def post(self, path: str, body: dict[str, Any], *, is_repeatable: bool = False) -> dict[str, Any]:
        """Send a request; raises `LostError` if its outcome is unknown and repeating it could do harm."""
        return self._try(path, json.dumps(body).encode(), is_repeatable=is_repeatable)

    def _try(self, path: str, body: bytes | None, *, is_repeatable: bool) -> dict[str, Any]:
        until = self._clock() + (AWAY if self._has_answered else AWAY_AT_FIRST)
        while True:
            try:
                found = self._send(path, body)
            except urllib.error.HTTPError as error:
                pause = _read_pause(error)
                if pause is None:
                    raise GateError(_describe(error), REFUSED if error.code in (409, 422) else NOT_ASKED) from error
                last, is_lost = f"the server answered {error.code}", error.code != 429
            except (OSError, http.client.HTTPException, ValueError) as error:
                pause, last, is_lost = 2.0, f"{getattr(error, 'reason', error)}", True
            else:
                self._has_answered = True
                return found
            text = f"{self._root} cannot be reached: {last}"
            if is_lost and not is_repeatable:
                raise LostError(text, NOT_ASKED)
            if self._clock() + pause > until:
                raise GateError(text, NOT_ASKED)
            self._sleep(pause)

    def _send(self, path: str, body: bytes | None) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json", "User-Agent": "gate/1"}
        headers |= {"Content-Type": "application/json"} if body is not None else {}
        request = urllib.request.Request(self._root + path, body, headers)  # noqa: S310 - checked above
        with self._opener.open(request, timeout=PATIENCE + 35) as answer:
            found = json.load(answer)
        if not isinstance(found, dict):
            raise ValueError("the answer is not an object")
        if "error" in found and isinstance(found["error"], dict):
            raise GateError(str(found["error"].get("message")), NOT_ASKED)
        return found


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuse redirects, so that the token never leaves the server it was made for."""

    def redirect_request(self, *given: Any, **more: Any) -> None:
        return None


def _read_pause(error: urllib.error.HTTPError) -> float | None:
    """Return how long to wait before a retry; None when a retry makes no sense."""
    if error.code == 429:
        text = error.headers.get("Retry-After", "")
        return min(60.0, float(text)) if text.isdigit() else 5.0
    return 3.0 if error.code in (502, 503, 504) else None


def _describe(error: urllib.error.HTTPError) -> str:
    """Return every problem of an answer with its location."""
    try:
        problems = json.load(error)["error"]["problems"]
        return "\n".join(_name_problem(problem) for problem in problems)
    except (ValueError, KeyError, TypeError, OSError):
        return f"the server answered {error.code} {error.reason}"


def _name_problem(problem: dict[str, Any]) -> str:
    place = ":".join(str(problem[name]) for name in ("file", "line", "column") if problem.get(name))
    return f"{place or problem.get('field') or ''}: {problem.get('message')}".removeprefix(": ")


def list_files(names: list[str], *, takes_all: bool) -> Iterator[dict[str, str]]:
    """Yield the named files and folders with their content; `-` is standard input."""
    for name in names:
        if name == "-":
            yield {"name": "stdin.yaml", "content": sys.stdin.read()}
            continue
        path = Path(name)
        if not path.exists():
            raise GateError(f"{name} does not exist", NOT_ASKED)
        for one in sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]:
            if path.is_dir() and not takes_all and one.suffix not in EXTENSIONS:
                continue
            shown = one.relative_to(path).as_posix() if path.is_dir() else one.name
            try:
                text = (data := one.read_bytes()).decode(errors="strict" if one.suffix in EXTENSIONS else "ignore")
                content = {"content": text} if text.encode() == data else {"base64": b64encode(data).decode()}
                yield {"name": shown, **content}
            except (OSError, UnicodeDecodeError) as error:
                raise GateError(f"{one} cannot be read: {error}", NOT_ASKED) from error


def _say(*lines: str, out: TextIO) -> None:
    """Print lines; escape what is not printable in them: a value could pass for a line of the log, or control it."""
    for line in lines:
        print("".join(one if one.isprintable() else ascii(one)[1:-1] for one in line), file=out, flush=True)


def print_plan(plan: dict[str, Any], objects: list[dict[str, Any]], out: TextIO) -> None:
    """Print the plan as text: the changes of each object, field by field."""
    _say(f"Plan {plan['plan']} of review {plan['review']['number']}: {plan['url']}", out=out)
    how = plan.get("deletion") or ("patch" if plan.get("operation") == "patch" else f"{plan['mode']}-side")
    _say(f"To {plan['cluster']}/{plan['namespace']} as {plan['identity']}, {how}", out=out)
    told = [f"From {plan['source']['text']}"] if plan.get("source") else []
    told += [f"Since run {one['run']}: {one['text']}" for one in plan.get("source_changes", ())]
    told += [f"Helm: {text}" for text in ((plan.get("source") or {}).get("chart") or {}).get("warnings", ())]
    told += [f"Prune: {plan['prune']}"] if plan.get("prune") else []
    told += [f"Stays: {one['kind']} {one['namespace']}/{one['name']}: {one['reason']}" for one in plan.get("stays", ())]
    told += [" ".join([f"Addon {a['name']}: {a['decision']}. {a['why']}", *a["notes"]]) for a in plan.get("addons", ())]
    _say(*told, plan["sentence"], *plan["impact"], out=out)
    for one in (one for one in objects if one["operation"] != "unchanged"):
        where = f"{one['namespace']}/{one['name']}" if one["namespace"] else one["name"]
        sure = "" if one["certainty"] == "confirmed" else f"  ({one['certainty']})"
        _say(f"{_MARKS.get(one['operation'], 'o')} {one['operation']} {one['kind']} {where}{sure}", out=out)
        for field in one["fields"] if one["operation"] != "delete" else ():
            _say(f"    {field['path']}: {field['live'] or '-'} -> {field['after'] or '-'}", out=out)
        _say(*(f"    ! {c['field']} is owned by {c['field_manager']}" for c in one["conflicts"]), out=out)
        _say(*(f"    ! {risk['text']}" for risk in one["risks"] if risk["level"] != "info"), out=out)
        _say(*(f"    {mark} {one[name]}" for mark, name in (("o", "left_out"), ("x", "error")) if one[name]), out=out)
    _say(*(f"x {_name_problem({**problem, 'message': problem['reason']})}" for problem in plan["problems"]), out=out)
    _say(f"Digest {plan['digest']}", out=out)


class Gate:
    """One pass through the gate: from a review to its result."""

    def __init__(self, api: Api, out: TextIO, *, seconds: float, clock: Callable[[], float] = time.monotonic,
                 sleep: Callable[[float], None] = time.sleep) -> None:  # fmt: skip
        self._api, self._out, self._clock, self._sleep = api, out, clock, sleep
        self._until = clock() + seconds
        self._told: tuple[str, ...] = ()

    def _write(self, *lines: str) -> None:
        if lines != self._told:
            self._told = lines
            _say(*lines, out=self._out)

    def _follow(self, path: str, seen: str) -> dict[str, Any]:
        """Return a changed answer of an address; the server delays it until something changes."""
        began = self._clock()
        found = self._api.get(path, wait=max(1, min(PATIENCE, round(self._until - began))), seen=seen, count=0)
        if seen and found["mark"] == seen:
            self._sleep(max(0.0, min(2.0, 2.0 - (self._clock() - began))))
        return found

    def wait_for(self, number: int, states: frozenset[str], *, after: str = "") -> dict[str, Any]:
        """Return the plan, newer than the mark `after`, once its status is none of these; raises after the timeout."""
        plan, seen = {"status": "", "mark": after}, after
        while plan["mark"] == after or plan["status"] in states:
            if seen and self._clock() >= self._until:
                raise GateError(f"timed out; it is still: {plan.get('status_text', 'approved')}", WAITING)
            plan = self._follow(f"reviews/{number}/", seen)
            seen = plan["mark"]
            self._write(*_describe_state(plan))
        return plan

    def show(self, number: int) -> dict[str, Any]:
        """Print the plan with all its objects."""
        plan = self._api.get(f"reviews/{number}/", count=200)
        objects = plan["objects"]
        while len(objects) < plan["objects_in_all"]:
            objects += (more := self._api.get(f"reviews/{number}/", start=len(objects), count=200)["objects"])
            if not more:
                break
        print_plan(plan, objects, self._out)
        return plan

    def run(self, number: int) -> int:
        """Wait for approval, start the run (after each change again, if it cannot start yet), and return the status."""
        plan = self.wait_for(number, BEFORE)
        while plan["status"] == "approved":
            if not plan["approvals"].get("closed"):
                self._start(number, plan)
            plan = self.wait_for(number, BEFORE, after=plan["mark"])
        return self.conclude(self.wait_for(number, BEFORE | {"approved", "applying"}))

    def _start(self, number: int, plan: dict[str, Any]) -> None:
        """Request the run of exactly this plan. It runs once even if requested twice, so a lost answer is retried."""
        for _attempt in range(3):
            try:
                self._api.post(f"reviews/{number}/plans/{plan['plan']}/run/", {"digest": plan["digest"]})
            except LostError as error:
                self._write(f"{error}; checking whether the run exists")
                if self._api.get(f"reviews/{number}/", count=0)["status"] == "approved":
                    continue
            except GateError as error:
                if error.status != REFUSED:
                    raise
                self._write(f"not started: {error}")
            return

    def conclude(self, plan: dict[str, Any]) -> int:
        """Print how it ended; return the exit status."""
        if run := plan.get("run"):
            _say(f"Run {run['number']} {run['state_text']}: {run['url']}", out=self._out)
            for result in self._api.get(f"runs/{run['number']}/")["objects"]:
                notes = (result["name"], result["detail"], NOT_CREATED * result["is_gone"])
                _say(f"  {result['outcome_text']}  {result['kind']} " + ": ".join(filter(None, notes)), out=self._out)
            return DONE if run["state"] == "applied" and set(run["outcomes"]) <= VERIFIED else REFUSED
        return DONE if plan["status"] in GOOD else REFUSED


def _describe_state(plan: dict[str, Any]) -> list[str]:
    status, text = plan["status"], plan["status_text"]
    if status in ("blocked", "changes-requested"):
        return [f"{text}:", *(f"  {blocker}" for blocker in plan["blockers"])]
    if status == "plan-failed":
        return [f"{text}: {plan['error']}"]
    reasons: list[str] = plan["approvals"].get("closed", []) if status == "approved" else []
    if status == "needs-approval":
        reasons = [*plan["approvals"].get("still_needed", ()), *plan["blockers"]]
    return [f"{text}: {'; '.join(reasons)}" if reasons else str(text)]


def _read_arguments(given: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="gate.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", metavar="FILE", help="files and folders of manifests; - is standard input")
    parser.add_argument("--git", dest="git_repository", default="", metavar="URL", help="a repository to fetch from")
    parser.add_argument("--url", default=os.environ.get("APPLYVIZ_URL", ""), help="address of the installation")
    parser.add_argument("--mode", choices=("server", "client"), default="")
    for flag, value, text in (("chart-hooks", "apply", "apply its hooks"), ("follow", "true", "follow the branch")):
        parser.add_argument(f"--{flag}", action="store_const", const=value, default="", help=text)
    for name in ("delete", "patch"):
        parser.add_argument(f"--{name}", dest="operation", action="store_const", const=name, help=f"as kubectl {name}")
    parser.add_argument("--prune", action="store_true", help="delete what left the set, as kubectl apply --prune does")
    parser.add_argument("-l", "--selector", default="", help="of the objects to apply and prune")
    parser.add_argument("--all", action="store_true", help="prune whatever the labels, instead of a selector")
    for name, text in (("review", "continue it; open no new one"), ("seen", "plan that you read")):
        parser.add_argument(f"--{name}", type=int, default=0, metavar="NUMBER", help=text)
    parser.add_argument("--plan-only", action="store_true", help="print the plan and end")
    parser.add_argument("--timeout", type=float, default=3600.0, help="seconds to wait for people and the run")
    for name, text in TEXTS.items():
        parser.add_argument(f"--{name}", default="", help=text)
    for name, (shown, text) in LISTS.items():
        parser.add_argument(*(f"--{f}" for f in name.split()), action="append", default=[], metavar=shown, help=text)
    return parser.parse_args(given)


def _read_token(chosen: argparse.Namespace) -> str:
    try:
        text = Path(chosen.token_file).read_text(encoding="utf-8") if chosen.token_file else ""
    except OSError as error:
        raise GateError(f"{chosen.token_file} cannot be read: {error.strerror}", NOT_ASKED) from error
    token = (text or os.environ.get("APPLYVIZ_TOKEN", "")).strip()
    if not token or any(not "!" <= character <= "~" for character in token):
        raise GateError("give the token in APPLYVIZ_TOKEN, or a file with --token-file", NOT_ASKED)
    return token


def _read_sources(chosen: argparse.Namespace) -> dict[str, Any]:
    takes_all = bool(chosen.kustomization or chosen.chart or chosen.preset)
    values = [{**file, "name": f"values-files/{n}/{file['name']}"}
              for n, name in enumerate(chosen.values, 1) for file in list_files([name], takes_all=True)]  # fmt: skip
    named = {"links": chosen.link, "files": [*list_files(chosen.files, takes_all=takes_all), *values],
             "chart_values_files": "\n".join([*chosen.git_values, *(file["name"] for file in values)])}  # fmt: skip
    return {name: value for name, value in (named | {n: getattr(chosen, n) for n in SOURCES}).items() if value}


def _open_review(api: Api, chosen: argparse.Namespace) -> int:
    own = ("leave_", "hand_", "take_", "addons_", "replace", "propagation", "deletion_")  # what a next plan takes
    choices = {n: v if isinstance(v, str) else "\n".join(v) for n, v in vars(chosen).items() if v and n.startswith(own)}
    lists = {n: list_files([v], takes_all=True) for n in ("patches", "moves") if (v := getattr(chosen, n))}
    choices |= {n: json.loads("".join(file.get("content", "") for file in files)) for n, files in lists.items()}
    if chosen.review:
        if any(getattr(chosen, name) for name in KEPT):
            raise GateError("a review keeps how it is applied, what it does and prunes: open a new one", NOT_ASKED)
        if asked := choices | _read_sources(chosen):  # the next plan, which needs its own approval
            asked["seen"] = chosen.seen or api.get(f"reviews/{chosen.review}/", count=0)["plan"]
            api.post(f"reviews/{chosen.review}/plans/", asked)
        elif chosen.seen:
            raise GateError("--seen is for a next plan: name what it changes", NOT_ASKED)
        return int(chosen.review)
    sources = chosen.files, chosen.link, chosen.git_repository, chosen.chart, chosen.patch_objects, lists
    if not chosen.preset and not (any(sources) and chosen.cluster and chosen.title):
        raise GateError("name a preset, or cluster, title, and files, links, a git repository or a chart", NOT_ASKED)
    body = {name: getattr(chosen, name) for name in SENT} | {
        "prune": ("applyset" if chosen.applyset else "allowlist") if chosen.prune else "",
        "prune_all": "true" if chosen.all else "",
        **{n: ",".join(getattr(chosen, n)) for n in ("prune_allowlist", "prune_except")},
        "patch": "".join(one["content"] for one in list_files(chosen.patch_file, takes_all=True)),
    } | choices | _read_sources(chosen)  # fmt: skip
    return int(api.post("reviews/", {name: value for name, value in body.items() if value})["review"]["number"])


def main(given: list[str] | None = None, out: TextIO = sys.stdout) -> int:
    """Run the gate; return the exit status."""
    chosen = _read_arguments(sys.argv[1:] if given is None else given)
    try:
        api = Api(chosen.url, _read_token(chosen), ca_file=chosen.ca_file)
        gate = Gate(api, out, seconds=chosen.timeout)
        number = _open_review(api, chosen)
        if gate.wait_for(number, PLANNING)["status"] not in GOOD | STOPPED and chosen.reviewer:
            api.post(f"reviews/{number}/reviewers/", {"reviewers": chosen.reviewer}, is_repeatable=True)
        plan = gate.show(number)
        if not chosen.plan_only:
            return gate.run(number)
        return DONE if plan["status"] in GOOD else REFUSED if plan["status"] in BAD else WAITING
    except (GateError, json.JSONDecodeError) as error:
        text = str(error) if isinstance(error, GateError) else f"the list is not JSON: {error}"
        _say(*(f"! {line}" for line in text.split("\n")), out=sys.stderr)
        return error.status if isinstance(error, GateError) else NOT_ASKED


if __name__ == "__main__":
    sys.exit(main())
