"""Sign-in with a password, and the account of a session: with the MACs of the account, in the same query."""

from __future__ import annotations

from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest

from applyviz.records.written_queries import WrittenQuery
from applyviz.workflow.foundation import account_macs
from applyviz.workflow.foundation.access import Person

_ACCOUNT = WrittenQuery(lambda person: Person.objects.select_related("account_mac").filter(pk=person))


class AccountBackend(ModelBackend):
    """Signs in with a password that the use cases set; one that was written into the database opens nothing."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **_: object
    ) -> Person | None:
        """Return the account; the work is the same whether or not it exists."""
        if username is None or password is None:
            return None
        person = Person.objects.select_related("account_mac").filter(username=username).first()
        if person is None or not account_macs.is_genuine(person, *account_macs.OF_SIGN_IN):
            Person().set_password(password)
            return None
        is_right = person.check_password(password)
        return person if is_right and self.user_can_authenticate(person) else None

    def get_user(self, user_id: int) -> Person | None:
        """Return the account of a session, None when it is deactivated."""
        person = _ACCOUNT.find(user_id)
        return person if person is not None and self.user_can_authenticate(person) else None
