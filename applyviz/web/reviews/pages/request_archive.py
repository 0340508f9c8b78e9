"""All requests of a plan as one archive: one file per body, and a script that replays them with kubectl.

Everything is masked: a request with a masked value is listed but not replayed. The script has no preconditions, because
kubectl has none; the archive says so first.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping

from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.engine.diff.masking import is_masked
from applyviz.engine.objects.exchange import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Request
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model import placeholders
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.records.models import Plan
from applyviz.web.components.readable_yaml import render_yaml
from applyviz.web.reviews.pages.plan_names import name_manager, name_mode, name_target
from applyviz.web.reviews.pane.kubectl import unbind
from applyviz.workflow.plans.changes import read_masked
from applyviz.workflow.plans.live_values import list_rows, show_rows

_PATCHES = {STRATEGIC_MERGE_PATCH: "strategic", MERGE_PATCH: "merge", JSON_PATCH: "json"}
_BOUND = ("uid", "resourceVersion")
_HEAD = """\
#!/bin/sh
# {about}
# {warning}
set -eu
cd "$(dirname "$0")"
: "${{KUBECTL:=kubectl}}"
"""


class ArchivedFile(Struct, frozen=True):
    """One file of the archive."""

    name: str
    text: str
    is_script: bool = False


class _CommandLines(Struct, frozen=True):
    """The script lines of one write, with the file that they name; `is_sent` when a command sends it."""

    lines: tuple[str, ...]
    file: ArchivedFile | None = None
    is_sent: bool = False


def _name_body(change: PlannedObject, position: int, number: int) -> str:
    text = f"{position + 1:04d}-{number}-{change.ref.gvk.kind}-{change.ref.name}".lower()
    return f"requests/{re.sub(r'[^0-9a-z._-]+', '-', text)[:120]}.yaml"


def _name_target(change: PlannedObject) -> str:
    gvk = change.ref.gvk
    resource = f"{gvk.kind.lower()}.{gvk.version}.{gvk.group}" if gvk.group else gvk.kind.lower()
    where = f" --namespace={shlex.quote(change.ref.namespace)}" if change.ref.namespace else ""
    return f"{shlex.quote(resource)} {shlex.quote(change.ref.name)}{where}"


def _find_reason(change: PlannedObject, request: Request) -> str:
    """Return why a request cannot be replayed; empty when it can."""
    if change.operation is Operation.BLOCKED:
        return _("not sent: the server rejects this object until its conflicts are resolved")
    if request.purpose == "record":
        return _("left out: kubectl apply --server-side keeps last-applied in step on its own")
    if is_masked(request.body):
        return _("left out: its values are masked; apply it from its file")
    if any(h.rule not in _BOUND for h in request.placeholders) or (
        request.placeholders and not isinstance(request.body, Mapping)
    ):
        return _("left out: kubectl apply --server-side migrates field owners on its own")
    return ""


def _write_command(change: PlannedObject, request: Request, name: str) -> str:
    """Return the command that sends a request; "" when kubectl has none."""
    where = f" --namespace={shlex.quote(change.ref.namespace)}" if change.ref.namespace else ""
    manager = f" --field-manager={shlex.quote(request.query.get('fieldManager', ''))}"
    if request.content_type == APPLY_PATCH:
        force = " --force-conflicts" if request.query.get("force") == "true" else ""
        return f'"$KUBECTL" apply --server-side{manager}{force}{where} --filename={shlex.quote(name)}'
    if request.content_type in _PATCHES:
        kind = _PATCHES[request.content_type]
        return f'"$KUBECTL" patch {_name_target(change)} --type={kind}{manager} --patch-file={shlex.quote(name)}'
    if request.method == "POST":
        return f'"$KUBECTL" create{manager}{where} --filename={shlex.quote(name)}'
    if request.method == "DELETE":
        policy = request.body.get("propagationPolicy") if isinstance(request.body, Mapping) else None
        cascade = f" --cascade={str(policy).lower()}" if policy else ""
        return f'"$KUBECTL" delete {_name_target(change)}{cascade}'
    return ""


def _replay(change: PlannedObject, position: int, number: int, request: Request) -> _CommandLines:
    about = f"# {request.method} {request.path}"
    reason = _find_reason(change, request)
    name = _name_body(change, position, number)
    command = "" if reason else _write_command(change, request, name)
    if not command:
        where = f" ({change.position})" if change.position.file else ""
        return _CommandLines((about, f"#   {reason or _('left out: kubectl has no command for it')}{where}"))
    body = None if request.method == "DELETE" else unbind(request)
    file = ArchivedFile(name, f"{render_yaml(body)}\n") if body is not None else None
    return _CommandLines((about, command), file, is_sent=True)


def _describe(change: PlannedObject, request: Request) -> str:
    """Return one request as a line of JSON, with the bytes that are sent except for values set at run time."""
    facts = {
        "object": str(change.ref),
        "operation": change.operation.value,
        "method": request.method,
        "path": request.path,
        "query": dict(request.query),
        "contentType": request.content_type,
        "filledWhenSent": [placeholder.rule for placeholder in request.placeholders],
        "body": placeholders.show(request).body,
    }
    return json.dumps(facts, ensure_ascii=False)


def _one_line(text: str) -> str:
    return re.sub(r"[^\S ]+", " ", text)


def _read_me(plan: Plan, sent: int, left_out: int) -> str:
    options = options_from_json(plan.options)
    how = (name_target(plan, options, list_rows(plan)), str(name_mode(options)), name_manager(options))
    lines = (
        _one_line(f"{plan.review.title} #{plan.review.number}, {_('plan')} {plan.number}"),
        " · ".join(filter(None, how)),
        f"{_('plan digest')} {plan.digest}",
        "",
        _("requests.jsonl  all requests in order, one per line; values of Secrets are masked"),
        _("requests/       one file per body, without preconditions"),
        _("replay.sh       sends the requests with kubectl to the cluster of the current context"),
        "",
        _("Replayable: %(sent)d; left out: %(left_out)d (reasons in replay.sh)") % {"sent": sent, "left_out": left_out},
        _("A run re-reads every object and stops if one changed since planning. The script does not."),
    )
    return "\n".join((*lines, ""))


def list_files(plan: Plan) -> Iterator[ArchivedFile]:
    """Yield the files of the archive of a complete plan, bodies first."""
    script, described = [], []
    sent = 0
    rows = plan.changes.exclude(operation=Operation.UNCHANGED).defer("sealed").order_by("position").iterator(100)
    for row in show_rows(plan, rows):
        change = read_masked(row)
        writes = [request for request in change.requests if request.is_write]
        if writes:
            script.append(f"\n# {row.position + 1} {_one_line(str(change.ref))}: {change.operation.value}")
        for number, request in enumerate(writes, 1):
            replay = _replay(change, row.position, number, request)
            described.append(_describe(change, request))
            script.extend(map(_one_line, replay.lines))
            sent += replay.is_sent
            if replay.file is not None:
                yield replay.file
    about = _one_line(f"{plan.review.title} #{plan.review.number}, {_('plan')} {plan.number}")
    warning = _("Without preconditions: changes made since this plan was created are overwritten silently.")
    head = _HEAD.format(about=about, warning=warning)
    yield ArchivedFile("replay.sh", "\n".join((head, *script, "")), is_script=True)
    yield ArchivedFile("requests.jsonl", "".join(f"{line}\n" for line in described))
    yield ArchivedFile("README.txt", _read_me(plan, sent, len(described) - sent))
