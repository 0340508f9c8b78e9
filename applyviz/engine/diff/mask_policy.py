"""The input of masking: the credentials besides Secrets, and the versions that a mixed object was made from."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field

from msgspec import Struct

from applyviz.engine.diff.marks import is_masked
from applyviz.engine.diff.passwords import NO_PASSWORDS, Passwords
from applyviz.engine.diff.plain_values import PlainValues
from applyviz.engine.objects.values import JSONObject


class MaskPolicy(Struct, frozen=True):
    """The credentials that are masked besides Secrets: the built-in list, and further globs.

    - `has_plain`: whether the built-in list of `credentials` applies.
    - `names`: globs for environment variables, flags, headers and fields; `paths`: dotted globs in which list entries
      count as fields, such as `spec.users.*.password`.
    - `passwords`: the fields that the schemas of custom kinds call passwords; they are masked whatever else applies.
    """

    has_plain: bool = True
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    passwords: Passwords = NO_PASSWORDS

    def join(self, other: MaskPolicy) -> MaskPolicy:
        """Return the policy that masks everything that either policy masks."""
        return MaskPolicy(
            self.has_plain or other.has_plain,
            tuple(dict.fromkeys((*self.names, *other.names))),
            tuple(dict.fromkeys((*self.paths, *other.paths))),
            self.passwords.join(other.passwords),
        )


DEFAULT_POLICY = MaskPolicy()


@dataclass(frozen=True, slots=True)
class Beside:
    """A version of the same object, its masked form, and whether anything in that is masked."""

    raw: JSONObject
    shown: JSONObject
    plain: InitVar[PlainValues | None] = None
    holds_masked: bool = field(init=False)

    def __post_init__(self, plain: PlainValues | None) -> None:
        object.__setattr__(self, "holds_masked", is_masked(self.shown, () if plain is None else plain))
