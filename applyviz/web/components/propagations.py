"""The ways to delete an object, in words."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from applyviz.engine.requests.options import Propagation

PROPAGATIONS = [
    (Propagation.BACKGROUND.value, _("Background: dependents are deleted after their owner")),
    (Propagation.FOREGROUND.value, _("Foreground: dependents are deleted before their owner")),
    (Propagation.ORPHAN.value, _("Orphan: dependents stay")),
]
