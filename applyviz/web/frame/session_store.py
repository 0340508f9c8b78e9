"""Sessions in the database, where no value opens one: a row is found by the keyed hash of the cookie.

The content of a row is signed for that row, so that it opens nothing in another one, and only as long as a session
lasts. Neither key is in the database.
"""

from __future__ import annotations

from asgiref.sync import sync_to_async
from django.contrib.sessions.backends import db
from django.contrib.sessions.base_session import AbstractBaseSession
from django.contrib.sessions.models import Session
from django.core import signing

from applyviz import clock
from applyviz.records.written_queries import WrittenQuery
from applyviz.workflow.people.sessions import end, name_row

_ROW = WrittenQuery(lambda key: Session.objects.filter(session_key=key))


class SessionStore(db.SessionStore):
    """One session; its key is the cookie, which is stored nowhere."""

    @property
    def key_salt(self) -> str:
        """Return what the signature of the content is made for: this row."""
        return f"applyviz session {name_row(self.session_key or '')}"

    def decode(self, session_data: bytes | str) -> dict[str, object]:
        """Return the content of this row; {} if it was not written for it, or too long ago."""
        try:
            text = session_data.decode() if isinstance(session_data, bytes) else session_data
            found = signing.loads(
                text, salt=self.key_salt, serializer=self.serializer, max_age=self.get_session_cookie_age()
            )
        except (signing.BadSignature, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def load(self) -> dict[str, object]:
        """Return the content of the session; without one, its key is forgotten."""
        row = self._find(self.session_key)
        if row is None:
            self._session_key = None
            return {}
        return self.decode(row.session_data)

    async def aload(self) -> dict[str, object]:
        """Return what `load` returns."""
        return await sync_to_async(self.load)()

    def exists(self, session_key: str) -> bool:
        """Return whether there is a session with this key."""
        return _ROW.find(name_row(session_key)) is not None

    async def aexists(self, session_key: str) -> bool:
        """Return what `exists` returns."""
        return await sync_to_async(self.exists)(session_key)

    def create_model_instance(self, data: dict[str, object]) -> AbstractBaseSession:
        """Return the unsaved row of the session."""
        row = super().create_model_instance(data)
        row.session_key = name_row(row.session_key)
        return row

    async def acreate_model_instance(self, data: dict[str, object]) -> AbstractBaseSession:
        """Return what `create_model_instance` returns."""
        return await sync_to_async(self.create_model_instance)(data)

    def delete(self, session_key: str | None = None) -> None:
        """End a session, by default this one."""
        key = session_key or self.session_key
        if key is not None:
            end(key)

    async def adelete(self, session_key: str | None = None) -> None:
        """End a session as `delete` does."""
        await sync_to_async(self.delete)(session_key)

    @staticmethod
    def _find(key: str | None) -> Session | None:
        if key is None:
            return None
        found = _ROW.find(name_row(key))
        return found if found is not None and found.expire_date > clock.now() else None
