"""The enums of git repositories: credentials, hosts and their pushes, followed branches, people behind commits."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class CredentialKind(models.TextChoices):
    """How a repository is signed in to."""

    TOKEN = "token", _("HTTPS token")
    DEPLOY_KEY = "deploy-key", _("SSH deploy key")


class ForgeKind(models.TextChoices):
    """The software of a git host, which decides how it signs a delivery."""

    GITHUB = "github", _("GitHub")
    GITLAB = "gitlab", _("GitLab")
    GITEA = "gitea", _("Gitea or Forgejo")


class PushResult(models.TextChoices):
    """The result of one delivery of a git host."""

    WAITING = "waiting", _("not read yet")
    ACCEPTED = "accepted", _("accepted")
    IGNORED = "ignored", _("ignored")
    REPEATED = "repeated", _("repeated")
    REFUSED = "refused", _("refused")


class FollowEnd(models.TextChoices):
    """The reason why a review stopped following its branch."""

    BY_PERSON = "by-person", _("a person stopped it")
    RIGHTS_LOST = "rights-lost", _("the person who started it can no longer create plans there")
    REVIEW_CLOSED = "review-closed", _("the review was closed")
    OTHER_MANIFESTS = "other-manifests", _("the manifests of the review no longer come from the branch")
    FORGED = "forged", _("it was changed in the database")
    NEXT_REVIEW = "next-review", _("the review was applied, and the next one follows the branch")


class FollowOutcome(models.TextChoices):
    """The result of the last fetch of a followed branch."""

    PLANNED = "planned", _("created a plan")
    SAME = "same", _("nothing changed")
    FAILED = "failed", _("failed")
    GAVE_UP = "gave-up", _("paused")


class HistoryGap(models.TextChoices):
    """Why not all commits since the last approved plan are known."""

    UNREAD = "unread", _("the history could not be read")
    BASE_LOST = "base-lost", _("the last approved commit is not among the newest commits of the branch")


class EditorRole(models.TextChoices):
    """The part of a person in a commit."""

    AUTHOR = "author", _("author")
    COMMITTER = "committer", _("committer")
    PUSHER = "pusher", _("pusher")


class IdentityKind(models.TextChoices):
    """How a commit or a push names a person."""

    EMAIL = "email", _("email address")
    LOGIN = "login", _("account at a git host")
