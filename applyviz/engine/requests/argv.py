"""Parse a `kubectl apply` command line to the engine's options, with kubectl's own names and defaults.

Rule: https://kubernetes.io/docs/reference/kubectl/generated/kubectl_apply/ and the checks that kubectl makes before it
sends a request. As in kubectl, objects are applied in the given order and preconditions are off.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from applyviz.engine.objects.known_names import CLIENT_SIDE_MANAGER
from applyviz.engine.requests.flags import Flag, Parsed, UsageError, find_bool, parse_flags
from applyviz.engine.requests.flow import Deletion
from applyviz.engine.requests.options import (
    SERVER_SIDE_MANAGER,
    ApplyMode,
    ApplyOptions,
    DryRun,
    Order,
    Prune,
    PruneMode,
    Validation,
)


def _flags(names: str, flag: Flag) -> dict[str, Flag]:
    return dict.fromkeys(names.split(), flag)


_GLOBAL = {
    **_flags("as as-uid as-group as-user-extra cache-dir certificate-authority client-certificate client-key", Flag()),
    **_flags("cluster context kubeconfig kuberc password profile profile-output request-timeout", Flag()),
    **_flags("tls-server-name token user username vmodule log-flush-frequency", Flag()),
    **_flags("insecure-skip-tls-verify match-server-version", Flag(is_bool=True)),
    **_flags("warnings-as-errors disable-compression", Flag(is_bool=True)),
    "namespace": Flag("n"),
    "server": Flag("s"),
    "v": Flag("v"),
    "help": Flag("h", is_bool=True),
}
_APPLY = {
    **_GLOBAL,
    **_flags("all allow-missing-template-keys force force-conflicts openapi-patch", Flag(is_bool=True)),
    **_flags("overwrite prune record server-side show-managed-fields wait", Flag(is_bool=True)),
    **_flags("field-manager grace-period prune-allowlist subresource template timeout", Flag()),
    "cascade": Flag(bare="background"),
    "dry-run": Flag(bare="unchanged"),
    "validate": Flag(bare="strict"),
    "filename": Flag("f"),
    "kustomize": Flag("k"),
    "output": Flag("o"),
    "recursive": Flag("R", is_bool=True),
    "selector": Flag("l"),
}
_APPLYSET = {**_APPLY, "applyset": Flag()}
_SUBCOMMANDS = ("set-last-applied", "view-last-applied", "edit-last-applied")
_DURATION = re.compile(r"([+-]?)((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|ms|s|m|h))+\Z")
_DURATION_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


class ApplyCommand(Struct, frozen=True):
    """One command line: options of the engine, and the sources of its manifests."""

    options: ApplyOptions
    filenames: tuple[str, ...] = ()
    kustomize: str = ""
    output: str = ""
    deletion: Deletion = field(default_factory=Deletion)
    fails_on_warnings: bool = False

    @property
    def prints_objects(self) -> bool:
        """Whether objects are printed at the end, instead of a line for each."""
        return self.output not in ("", "name")


def find_command(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the words that name the command: `("apply",)`, `("apply", "view-last-applied")`, `("rollout", …)`.

    - Flags of any command may precede them; an unknown flag is assumed to have no value.
    """
    words: list[str] = []
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            break
        if not word.startswith("-") or word == "-":
            words.append(word)
        elif _takes_next(word):
            rest = rest[1:]
    return tuple(words[:2]) if words[1:2] and words[1] in _SUBCOMMANDS else tuple(words[:1])


def _takes_next(word: str) -> bool:
    if "=" in word:
        return False
    if word.startswith("--"):
        flag = _APPLYSET.get(word[2:].replace("_", "-"))
        return flag is not None and not flag.is_bool and not flag.bare
    shorts = {f.short: f for f in _APPLYSET.values() if f.short}
    for position, letter in enumerate(word[1:], 1):
        flag = shorts.get(letter)
        if flag is not None and not flag.is_bool:
            return position == len(word) - 1
    return False


def is_apply(argv: Sequence[str]) -> bool:
    """Return whether the command is `kubectl apply` itself, not one of its subcommands."""
    return find_command(argv) == ("apply",)


def _read_dry_run(parsed: Parsed) -> DryRun:
    text = parsed.text("dry-run", "none")
    flag = find_bool(text)
    if flag is not None:
        return DryRun.CLIENT if flag else DryRun.NONE
    if text == "unchanged":
        return DryRun.CLIENT
    try:
        return DryRun(text)
    except ValueError:
        raise UsageError(f'Invalid dry-run value ({text}). Must be "none", "server", or "client".') from None


def _read_validation(parsed: Parsed) -> Validation:
    text = parsed.text("validate", "strict")
    flag = find_bool(text)
    if flag is not None:
        return Validation.STRICT if flag else Validation.IGNORE
    if text not in ("strict", "warn", "ignore"):
        raise UsageError(
            f'invalid - validate option "{text}"; must be one of: strict (or true), warn, ignore (or false)'
        )
    return Validation(text.capitalize())


def _read_seconds(text: str) -> int:
    if text in ("0", ""):
        return 0
    if not _DURATION.match(text):
        raise UsageError(f'invalid argument "{text}" for "--timeout" flag: time: invalid duration')
    sign = -1 if text.startswith("-") else 1
    return int(sign * sum(float(n) * _SECONDS[unit] for n, unit in _DURATION_PART.findall(text)))


def _read_cascade(text: str) -> str:
    flag = find_bool(text)
    if flag is not None:
        return "Background" if flag else "Orphan"
    if text not in ("background", "foreground", "orphan"):
        raise UsageError(f'invalid cascade value ({text}). Must be "background", "foreground", or "orphan"')
    return text.capitalize()


def _read_prune(parsed: Parsed) -> Prune:
    if not parsed.is_on("prune"):
        return Prune()
    applyset = parsed.text("applyset")
    return Prune(
        mode=PruneMode.APPLYSET if applyset else PruneMode.ALLOWLIST,
        allowlist=parsed.texts("prune-allowlist"),
        applyset=applyset,
        is_all=parsed.is_on("all"),
    )


def _read_options(parsed: Parsed, namespace: str) -> ApplyOptions:
    is_server_side = parsed.is_on("server-side")
    manager = SERVER_SIDE_MANAGER if is_server_side else CLIENT_SIDE_MANAGER
    given = parsed.text("namespace")
    return ApplyOptions(
        mode=ApplyMode.SERVER if is_server_side else ApplyMode.CLIENT,
        field_manager=parsed.text("field-manager", manager),
        takes_over=parsed.is_on("force-conflicts"),
        is_overwriting=parsed.is_on("overwrite", default=True),
        validation=_read_validation(parsed),
        namespace=given or namespace,
        is_namespace_enforced=bool(given),
        subresource=parsed.text("subresource"),
        dry_run=_read_dry_run(parsed),
        selector=parsed.text("selector").strip(),
        is_recursive=parsed.is_on("recursive"),
        prune=_read_prune(parsed),
        order=Order.AS_GIVEN,
        has_preconditions=False,
        is_replacing_on_error=parsed.is_on("force"),
    )


def _check_mode(parsed: Parsed, options: ApplyOptions) -> str:
    is_server_side, force = options.mode is ApplyMode.SERVER, options.is_replacing_on_error
    if options.takes_over and not is_server_side:
        return "--force-conflicts only works with --server-side"
    if options.dry_run is DryRun.CLIENT and is_server_side:
        return "--dry-run=client doesn't work with --server-side (did you mean --dry-run=server instead?)"
    if force and is_server_side:
        return "--force cannot be used with --server-side"
    if force and options.dry_run is DryRun.SERVER:
        return "--dry-run=server cannot be used with --force"
    if parsed.is_on("all") and options.selector:
        return "cannot set --all and --selector at the same time"
    if options.subresource and not is_server_side:
        return "--subresource can only be specified for --server-side"
    return ""


def _check_prune(parsed: Parsed, options: ApplyOptions) -> str:
    mode = options.prune.mode
    if mode is PruneMode.NONE:
        return "--applyset requires --prune" if parsed.text("applyset") else ""
    if options.is_replacing_on_error:
        return "--force cannot be used with --prune"
    if mode is PruneMode.APPLYSET:
        clashing = {
            "all": options.prune.is_all,
            "selector": options.selector,
            "prune-allowlist": options.prune.allowlist,
        }
        return next((f"--{name} is incompatible with --applyset" for name, is_set in clashing.items() if is_set), "")
    if not options.prune.is_all and not options.selector:
        return "all resources selected for prune without explicitly passing --all"
    if options.mode is ApplyMode.SERVER:
        return "--prune is in alpha and doesn't currently work on objects created by server-side apply"
    return ""


def _check_sources(parsed: Parsed) -> str:
    filenames, kustomize = parsed.parts("filename"), parsed.text("kustomize")
    if not filenames and not kustomize:
        return "must specify one of -f and -k"
    if filenames and kustomize:
        return "only one of -f or -k can be specified"
    if kustomize and parsed.is_on("recursive"):
        return "the -k flag can't be used with -f or -R"
    return ""


def parse_apply(argv: Sequence[str], env: Mapping[str, str], *, namespace: str = "default") -> ApplyCommand:
    """Parse the arguments of `kubectl` (from `apply` on); `namespace` is that of its context.

    - Raises `UsageError` for everything that kubectl refuses before it applies.
    """
    has_applysets = env.get("KUBECTL_APPLYSET", "").lower() == "true"
    parsed = parse_flags(argv, _APPLYSET if has_applysets else _APPLY)
    if parsed.words != ["apply"]:
        raise UsageError(f"Unexpected args: {parsed.words[1:]}")
    options = _read_options(parsed, namespace)
    wrong = _check_sources(parsed) or _check_mode(parsed, options) or _check_prune(parsed, options)
    if wrong:
        raise UsageError(wrong)
    return ApplyCommand(
        options=options,
        filenames=parsed.parts("filename"),
        kustomize=parsed.text("kustomize"),
        output=parsed.text("output") or ("go-template" if parsed.text("template") else ""),
        deletion=Deletion(
            _read_cascade(parsed.text("cascade", "background")),
            parsed.number("grace-period", -1),
            _read_seconds(parsed.text("timeout")),
        ),
        fails_on_warnings=parsed.is_on("warnings-as-errors"),
    )
