"""The APIs of a cluster, for which a chart is rendered: read in this process where it can open credentials."""

from __future__ import annotations

from datetime import timedelta

import msgspec
from django.utils.translation import gettext as _

from applyviz.engine.objects.accessors import as_mapping
from applyviz.engine.objects.errors import SourceError
from applyviz.records.models import Cluster
from applyviz.records.sealing import can_open
from applyviz.records.worker_enums import WorkerRequestKind
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.worker_questions import RefusedError, UnfinishedError, WorkerQuestion
from applyviz.workflow.plans import charts
from applyviz.workflow.worker_requests.sealed_answers import ask_sealed

_PATIENCE = timedelta(seconds=60)
_UNREADABLE = 409


def read_api_versions(cluster: Cluster, by: Person) -> tuple[str, ...]:
    """Return the group versions and kinds that a cluster serves; raises `SourceError` with what to do."""
    if can_open():
        return charts.read_api_versions(cluster, by=by)
    try:
        answer = ask_sealed(WorkerQuestion(WorkerRequestKind.API_VERSIONS, by, cluster), patience=_PATIENCE)
    except UnfinishedError:
        raise SourceError(_("No worker answered in time. Check that a worker is running.")) from None
    except RefusedError as refused:
        if refused.status != _UNREADABLE:
            raise
        raise SourceError("; ".join(refused.reasons)) from None
    return msgspec.convert(as_mapping(answer)["versions"], tuple[str, ...])


charts.ask_api_versions = read_api_versions
