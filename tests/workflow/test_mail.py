"""Mail over a real connection: a mail server in this process takes it, puts it off, refuses it, or is not there."""

from __future__ import annotations

import email
import email.policy
import socketserver
import threading
from collections.abc import Iterator
from email.message import EmailMessage

import pytest
from django.core import mail
from django.utils import timezone

from applyviz.records.models import Notification, Plan
from applyviz.workflow import notifications
from applyviz.workflow.notifications.mail import MAX_ATTEMPTS
from tests.stories import Team, config_map

pytestmark = pytest.mark.django_db


class MailServer(socketserver.ThreadingTCPServer):
    """Speaks as much SMTP (RFC 5321) as a sender needs; `answer` is what it says once it has a whole mail."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        self.answer = "250 taken"
        self.taken: list[tuple[str, list[str], EmailMessage]] = []


class _Session(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        self._say("220 ready")
        sender, recipients = "", []
        while line := self.rfile.readline().decode().rstrip("\r\n"):
            match line.upper().split(":")[0].split()[0]:
                case "EHLO" | "HELO":
                    self._say("250-here\r\n250 8BITMIME")
                case "MAIL":
                    sender = line
                    self._say("250 go on")
                case "RCPT":
                    recipients.append(line.partition("<")[2].rstrip(">"))
                    self._say("250 go on")
                case "DATA":
                    self._say("354 go on")
                    self._take(sender, recipients)
                case "QUIT":
                    self._say("221 bye")
                    return
                case _:
                    self._say("250 so be it")

    def _take(self, sender: str, recipients: list[str]) -> None:
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            lines.append(line.removeprefix(b"."))
        if self.server.answer.startswith("2"):
            parsed = email.message_from_bytes(b"".join(lines), policy=email.policy.default)
            self.server.taken.append((sender, recipients, parsed))
        self._say(self.server.answer)

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@pytest.fixture
def server(settings) -> Iterator[MailServer]:
    with MailServer() as started:
        threading.Thread(target=started.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = started.server_address[:2]
        settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
        settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = ""
        settings.DEFAULT_FROM_EMAIL, settings.APPLYVIZ_MAIL = "applyviz@example.com", True
        settings.APPLYVIZ_URL = "https://applyviz.example"
        yield started
        started.shutdown()


@pytest.fixture
def pending(db, monkeypatch) -> Plan:
    """Bob is to be told by mail that a plan needs him; the title of the review tries to be more than a title."""
    team = Team().wire_up(monkeypatch)
    team.bob.email = "bob@example.com"
    team.bob.save()
    plan = team.plan(config_map(a="1"))
    plan.review.title = "Größe\r\nBcc: eve@example.com\r\n\r\n.\r\nQUIT"
    plan.review.save()
    return plan


def _tell(plan: Plan) -> Notification:
    notifications.send_pending()
    return Notification.objects.get(
        person__username="bob", notification_event__facts__review__number=plan.review.number
    )


def test_mail_server_gets_one_mail_with_words_and_address(server, pending, settings):
    told = _tell(pending)
    notifications.send_mail(told.pk)
    notifications.send_mail(told.pk)

    ((sender, recipients, message),) = server.taken
    assert (sender.partition("<")[2].partition(">")[0], recipients) == ("applyviz@example.com", ["bob@example.com"])
    assert (message["To"], message["Bcc"], message["From"]) == ("bob@example.com", None, "applyviz@example.com")
    assert "Größe" in message["Subject"]
    assert f"https://applyviz.example/reviews/{pending.review.number}/" in message.get_content()
    told.refresh_from_db()
    assert (told.mailed_at is not None, told.mail_due_at) == (True, None)
    assert mail.outbox == []  # the backend of tests had no part in it


@pytest.mark.core(1)
@pytest.mark.parametrize("answer", ["451 later", "550 not here", "421 closing"])
def test_mail_that_the_server_does_not_take_is_tried_again_and_then_taken(server, pending, answer):
    server.answer = answer
    told = _tell(pending)
    notifications.send_mail(told.pk)
    told.refresh_from_db()
    assert told.mail_due_at is not None
    assert (server.taken, told.mailed_at, told.mail_due_at > timezone.now()) == ([], None, True)

    server.answer = "250 taken"
    Notification.objects.filter(pk=told.pk).update(mail_due_at=timezone.now())
    notifications.send_mail(told.pk)

    told.refresh_from_db()
    assert (len(server.taken), told.mail_attempts) == (1, 2)
    assert Notification.objects.filter(pk=told.pk, mail_due_at=None).exists()


def test_mail_server_that_is_not_there_is_given_up_in_the_end(server, pending, settings):
    told = _tell(pending)
    settings.EMAIL_PORT = 1
    for _ in range(10):
        Notification.objects.filter(pk=told.pk, mail_due_at__isnull=False).update(mail_due_at=timezone.now())
        notifications.send_mail(told.pk)

    given_up = Notification.objects.get(pk=told.pk)
    assert (given_up.mailed_at, given_up.mail_due_at, given_up.mail_attempts) == (None, None, MAX_ATTEMPTS)
