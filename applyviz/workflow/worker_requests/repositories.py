"""Files of git repositories and tests of credentials: in this process where it can open them, else by a worker."""

from __future__ import annotations

from datetime import timedelta

import msgspec
from django.utils.translation import gettext as _

from applyviz.engine.objects.accessors import as_mapping, as_text
from applyviz.engine.objects.errors import SourceError
from applyviz.records.models import RepositoryCredential
from applyviz.records.sealing import can_open
from applyviz.records.worker_enums import WorkerRequestKind
from applyviz.sources.git.model import FetchedFiles, GitSource, RefusedFilesError
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.worker_questions import (
    RefusedError,
    UnfinishedError,
    WorkerQuestion,
    read_answer,
    store_question,
    wait,
)
from applyviz.workflow.plans import git_sources, repository_credentials
from applyviz.workflow.worker_requests.sealed_answers import ask_sealed

_PATIENCE = timedelta(seconds=60)
_UNREADABLE = 409


def fetch_repository(source: GitSource, by: Person) -> FetchedFiles:
    """Return the files of a repository, fetched as this person; raises `SourceError` with what to do.

    - Raises `RefusedFilesError`, as fetching here does, if some files are not taken.
    """
    if can_open():
        return git_sources.fetch_now(source, by=by)
    question = WorkerQuestion(WorkerRequestKind.GIT, by, content=msgspec.to_builtins(source))
    try:
        received = msgspec.convert(ask_sealed(question, patience=_PATIENCE), FetchedFiles)
    except msgspec.ValidationError:
        raise SourceError("the answer of the worker cannot be read") from None
    except UnfinishedError:
        raise SourceError(_("No worker answered in time. Check that a worker is running.")) from None
    except RefusedError as refused:
        if refused.status != _UNREADABLE:
            raise
        raise SourceError("; ".join(refused.reasons)) from None
    if received.refused:
        raise RefusedFilesError(received)
    return received


def check_repository(credential: RepositoryCredential, repository: str, *, by: Person) -> str:
    """Sign in with a credential and return what was found; raises `SourceError` with what to do."""
    content = {"credential": credential.pk, "repository": repository}
    question = WorkerQuestion(WorkerRequestKind.GIT_TEST, by, content=content)
    try:
        if can_open():
            return repository_credentials.check_credential(credential.pk, repository, by=by)
        answer = read_answer(wait(store_question(question, patience=_PATIENCE), _PATIENCE.total_seconds()))
    except UnfinishedError:
        raise SourceError(_("No worker answered in time. Check that a worker is running.")) from None
    except RefusedError as refused:
        raise SourceError("; ".join(refused.reasons)) from None
    return as_text(as_mapping(answer)["text"])


git_sources.ask_fetch = fetch_repository
