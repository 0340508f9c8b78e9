"""Is a kubectl command line read as kubectl reads it?"""

from __future__ import annotations

import pytest

from applyviz.engine.requests.argv import find_command, is_apply, parse_apply
from applyviz.engine.requests.flags import UsageError
from applyviz.engine.requests.flow import Deletion
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, DryRun, Order, Prune, PruneMode, Validation

APPLYSET = {"KUBECTL_APPLYSET": "true"}


def parse(line: str, env=None, namespace="default"):
    return parse_apply(line.split(), env or {}, namespace=namespace)


def test_defaults_are_kubectl_s_own():
    command = parse("apply -f a.yaml", namespace="shop")

    assert command.options == ApplyOptions(
        mode=ApplyMode.CLIENT,
        field_manager="kubectl-client-side-apply",
        namespace="shop",
        order=Order.AS_GIVEN,
        has_preconditions=False,
    )
    assert (command.filenames, command.deletion) == (("a.yaml",), Deletion())


def test_server_side_has_its_own_manager():
    options = parse("apply --server-side --force-conflicts -f a --subresource=status").options

    assert (options.mode, options.field_manager, options.takes_over) == (ApplyMode.SERVER, "kubectl", True)
    assert options.subresource == "status"


@pytest.mark.parametrize(
    ("line", "filenames"),
    [
        ("apply -f a -f b", ("a", "b")),
        ("apply -fa", ("a",)),
        ("apply -f=a,b", ("a", "b")),
        ("apply --filename a --filename=b", ("a", "b")),
        ("apply -Rf d", ("d",)),
        ('apply -f "a,b",c', ("a,b", "c")),
        ("apply -f -", ("-",)),
    ],
)
def test_filenames(line, filenames):
    assert parse(line).filenames == filenames


@pytest.mark.parametrize(
    ("flag", "dry_run"),
    [
        ("--dry-run", DryRun.CLIENT),
        ("--dry-run=true", DryRun.CLIENT),
        ("--dry-run=false", DryRun.NONE),
        ("--dry-run=none", DryRun.NONE),
        ("--dry-run=server", DryRun.SERVER),
        ("--dry_run=client", DryRun.CLIENT),
    ],
)
def test_dry_run(flag, dry_run):
    assert parse(f"apply -f a {flag}").options.dry_run is dry_run


@pytest.mark.parametrize(
    ("flag", "validation"),
    [
        ("--validate", Validation.STRICT),
        ("--validate=true", Validation.STRICT),
        ("--validate=warn", Validation.WARN),
        ("--validate=false", Validation.IGNORE),
        ("--validate=ignore", Validation.IGNORE),
    ],
)
def test_validation(flag, validation):
    assert parse(f"apply -f a {flag}").options.validation is validation


def test_namespace_that_is_given_is_enforced():
    options = parse("-n other apply -f a").options

    assert (options.namespace, options.is_namespace_enforced) == ("other", True)


@pytest.mark.parametrize(
    ("line", "output"),
    [("", ""), ("-o name", "name"), ("--template={{.kind}}", "go-template"), ("--template=x -o name", "name")],
)
def test_template_alone_is_an_output(line, output):
    assert parse_apply(["apply", "-f", "a.yaml", *line.split()], {}).output == output


def test_prune_by_allowlist():
    prune = parse(
        "apply -f a --prune --all --prune-allowlist=core/v1/Pod --prune-allowlist core/v1/Secret"
    ).options.prune

    assert prune == Prune(PruneMode.ALLOWLIST, ("core/v1/Pod", "core/v1/Secret"), is_all=True)


def test_prune_by_applyset():
    prune = parse("apply -f a --prune --applyset=configmaps/x", APPLYSET).options.prune

    assert prune == Prune(PruneMode.APPLYSET, applyset="configmaps/x")


@pytest.mark.parametrize(
    ("line", "deletion"),
    [
        ("--cascade=orphan", Deletion("Orphan")),
        ("--cascade", Deletion("Background")),
        ("--cascade=false", Deletion("Orphan")),
        ("--grace-period=0 --timeout=1m30s", Deletion(grace_period=0, timeout=90)),
        ("--grace-period 5", Deletion(grace_period=5)),
    ],
)
def test_deletion(line, deletion):
    assert parse(f"apply --force -f a {line}").deletion == deletion


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("apply", "must specify one of -f and -k"),
        ("apply -f a more", r"Unexpected args: \['more'\]"),
        ("apply -f a --nonsense", "unknown flag: --nonsense"),
        ("apply -f a -x", "unknown shorthand flag: 'x'"),
        ("apply -f", "flag needs an argument: 'f'"),
        ("apply --filename", "flag needs an argument: --filename"),
        ("apply -f a --prune=perhaps", 'invalid argument "perhaps" for "--prune" flag'),
        ("apply -f a --grace-period=x", 'invalid argument "x" for "--grace-period" flag'),
        ("apply -f a --timeout=x", 'invalid argument "x" for "--timeout" flag'),
        ("apply -f a --cascade=x", r"invalid cascade value \(x\)"),
        ("apply -f a --dry-run=x", r"Invalid dry-run value \(x\)"),
        ("apply -f a --validate=x", 'validate option "x"'),
        ("apply -f a -k b", "only one of -f or -k"),
        ("apply -k b -R", "the -k flag can't be used with -f or -R"),
        ("apply -f a --force-conflicts", "--force-conflicts only works with --server-side"),
        ("apply -f a --server-side --dry-run=client", "--dry-run=client doesn't work with --server-side"),
        ("apply -f a --server-side --force", "--force cannot be used with --server-side"),
        ("apply -f a --dry-run=server --force", "--dry-run=server cannot be used with --force"),
        ("apply -f a --all -l a=b", "cannot set --all and --selector"),
        ("apply -f a --subresource=status", "--subresource can only be specified for --server-side"),
        ("apply -f a --applyset=x", "unknown flag: --applyset"),
        ("apply -f a --prune", "all resources selected for prune"),
        ("apply -f a --prune --all --force", "--force cannot be used with --prune"),
        ("apply -f a --prune --all --server-side", "doesn't currently work on objects created by server-side apply"),
    ],
)
def test_what_kubectl_refuses(line, reason):
    with pytest.raises(UsageError, match=reason):
        parse(line)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("apply -f a --applyset=x", "--applyset requires --prune"),
        ("apply -f a --prune --all --applyset=x", "--all is incompatible with --applyset"),
        ("apply -f a --prune -l a=b --applyset=x", "--selector is incompatible with --applyset"),
        ("apply -f a --prune --prune-allowlist=core/v1/Pod --applyset=x", "--prune-allowlist is incompatible"),
    ],
)
def test_what_kubectl_refuses_with_applysets(line, reason):
    with pytest.raises(UsageError, match=reason):
        parse(line, APPLYSET)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("apply -f a", ("apply",)),
        ("-n x --context=c apply -f a", ("apply",)),
        ("apply view-last-applied -f a", ("apply", "view-last-applied")),
        ("apply -f set-last-applied", ("apply",)),
        ("get pods", ("get",)),
        ("-Rn x get", ("get",)),
        ("--server-side apply", ("apply",)),
        ("apply -- view-last-applied", ("apply",)),
        ("", ()),
    ],
)
def test_command_is_found_among_flags(line, command):
    assert find_command(line.split()) == command
    assert is_apply(line.split()) is (command == ("apply",))


def test_words_after_two_dashes_are_no_flags():
    with pytest.raises(UsageError, match=r"Unexpected args: \['-f'\]"):
        parse("apply -k d -- -f")
