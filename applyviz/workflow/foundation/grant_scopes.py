"""The scope of a grant or a policy: two patterns, and whether cluster-scoped objects are included."""

from __future__ import annotations

from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.workflow.foundation.errors import FieldRefusedError
from applyviz.workflow.foundation.scopes import PATTERN


class Scope(Struct, frozen=True):
    """The scope of a grant."""

    cluster_pattern: str = "*"
    namespace_pattern: str = "*"
    is_cluster_scoped: bool = True

    def check(self) -> None:
        """Raise `FieldRefusedError` for a pattern that matches nothing."""
        for name in ("cluster_pattern", "namespace_pattern"):
            pattern = getattr(self, name)
            if not PATTERN.fullmatch(pattern):
                raise FieldRefusedError(
                    name,
                    _("%(pattern)r is not a valid pattern: use lowercase letters, digits, dots, dashes, `*` and `?`")
                    % {"pattern": pattern},
                )

    def __str__(self) -> str:
        text = f"{self.cluster_pattern}/{self.namespace_pattern}"
        return f"{text} and cluster-scoped objects" if self.is_cluster_scoped else text
