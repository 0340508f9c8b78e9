"""Parse command-line flags as kubectl does: long and short, grouped, with and without a value.

Rule: POSIX flags of pflag (`-Rf app`, `-fapp`, `--filename=a,b`, `--dry-run` with a default value); `_` equals `-` in
long names; booleans as Go's `strconv.ParseBool`.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from applyviz.engine.objects.errors import ApplyVizError

_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")


class UsageError(ApplyVizError):
    """A command line that cannot be parsed; no request is sent."""


def find_bool(text: str) -> bool | None:
    """Parse a boolean as Go does; None if it is not one."""
    return True if text in _TRUE else False if text in _FALSE else None


class Flag(Struct, frozen=True):
    """One flag: its short letter, whether it is boolean, and its value when written without one."""

    short: str = ""
    is_bool: bool = False
    bare: str = ""


@dataclass
class Parsed:
    """Parsed flags: the values of each flag in order, and the positional arguments."""

    values: dict[str, list[str]] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)

    def has(self, name: str) -> bool:
        """Return whether the flag was written."""
        return name in self.values

    def text(self, name: str, default: str = "") -> str:
        """Return the last value written."""
        return self.values[name][-1] if name in self.values else default

    def texts(self, name: str) -> tuple[str, ...]:
        """Return all values, each as written."""
        return tuple(self.values.get(name, ()))

    def parts(self, name: str) -> tuple[str, ...]:
        """Return all values, each split at its commas like CSV."""
        return tuple(part for value in self.texts(name) for part in _split(value))

    def is_on(self, name: str, *, default: bool = False) -> bool:
        """Return the last value of a boolean flag."""
        return find_bool(self.text(name)) is True if self.has(name) else default

    def number(self, name: str, default: int) -> int:
        """Return the last value as an integer.

        - Raises `UsageError`.
        """
        try:
            return int(self.text(name, str(default)), 0)
        except ValueError:
            raise UsageError(f'invalid argument "{self.text(name)}" for "--{name}" flag') from None


def _split(text: str) -> list[str]:
    return next(csv.reader([text]), []) if text else []


class _FlagReader:
    def __init__(self, flags: Mapping[str, Flag], argv: Sequence[str]) -> None:
        self.flags = flags
        self.shorts = {f.short: name for name, f in flags.items() if f.short}
        self.rest = list(argv)
        self.parsed = Parsed()

    def store(self, name: str, value: str) -> None:
        if self.flags[name].is_bool and find_bool(value) is None:
            raise UsageError(f'invalid argument "{value}" for "--{name}" flag: invalid syntax')
        self.parsed.values.setdefault(name, []).append(value)

    def read_long(self, text: str) -> None:
        name, equals, value = text.partition("=")
        name = name.replace("_", "-")
        if name not in self.flags:
            raise UsageError(f"unknown flag: --{name}")
        flag = self.flags[name]
        if equals:
            self.store(name, value)
        elif flag.is_bool or flag.bare:
            self.store(name, "true" if flag.is_bool else flag.bare)
        elif self.rest:
            self.store(name, self.rest.pop(0))
        else:
            raise UsageError(f"flag needs an argument: --{name}")

    def read_short(self, letters: str) -> None:
        while letters:
            letter, letters = letters[0], letters[1:]
            name = self.shorts.get(letter)
            if name is None:
                raise UsageError(f"unknown shorthand flag: '{letter}'")
            flag = self.flags[name]
            if letters.startswith("="):
                return self.store(name, letters[1:])
            if flag.is_bool or flag.bare:
                self.store(name, "true" if flag.is_bool else flag.bare)
            elif letters:
                return self.store(name, letters)
            elif self.rest:
                self.store(name, self.rest.pop(0))
            else:
                raise UsageError(f"flag needs an argument: '{letter}'")
        return None

    def read(self) -> Parsed:
        while self.rest:
            word = self.rest.pop(0)
            if word == "--":
                self.parsed.words += self.rest
                break
            if word.startswith("--"):
                self.read_long(word[2:])
            elif word.startswith("-") and len(word) > 1:
                self.read_short(word[1:])
            else:
                self.parsed.words.append(word)
        return self.parsed


def parse_flags(argv: Sequence[str], flags: Mapping[str, Flag]) -> Parsed:
    """Parse a command line.

    - Raises `UsageError`.
    """
    return _FlagReader(flags, argv).read()
