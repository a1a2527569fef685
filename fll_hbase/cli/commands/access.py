"""`fll token` and `fll grant`: who may use a server that authenticates, in its store."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import click

from fll_hbase.cli import groups
from fll_hbase.cli.error_output import print_err
from fll_hbase.cli.options import Command, Option, current_zone, now_ms, zone_option
from fll_hbase.cli.output import JSON, TABLE, format_options, print_page
from fll_hbase.cli.render import console
from fll_hbase.cli.render.admin_tables import grants_table, tokens_table
from fll_hbase.cli.word_choice import STORE_HELP, WordChoice
from fll_hbase.model.access import Grant, Role, Subject, SubjectKind
from fll_hbase.model.tags import parse_max_age
from fll_hbase.model.window import DAY_MS
from fll_hbase.runtime import config
from fll_hbase.runtime.errors import ConfigurationError, FieldError, InvalidQuery
from fll_hbase.runtime.json_types import Json
from fll_hbase.store.access import AccessStore, StoredToken
from fll_hbase.store.factory import open_store_table
from fll_hbase.tables import store_exists

_LIFETIME_MS_MAX = 36_500 * DAY_MS
_store = click.option("--store", metavar="URL", help=STORE_HELP)


class _SubjectParam(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A user or group, as `user:ana` or `group:etl`."""

    name = "subject"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Subject:
        """Return the subject. Raises BadParameter for another form."""
        kind, separator, name = str(value).partition(":")
        if not separator or kind not in {item.value for item in SubjectKind}:
            self.fail(f"{value!r} is neither user:NAME nor group:NAME.", param, ctx)
        return Subject(SubjectKind(kind), name)


def _grant_options(*, required: bool) -> Option:
    """Add --role and --namespace, each repeatable, received as `grants` of each role on each pattern.

    Without either, `grants` is empty unless `required`. One without the other is a UsageError.
    """

    def decorate(command: Command) -> Command:
        @click.option(
            "--role",
            "roles",
            type=WordChoice([role.value for role in Role]),
            multiple=True,
            required=required,
            help="Role: reader (query), recorder (record), steward (also tags), admin (everything).",
        )
        @click.option(
            "--namespace",
            "patterns",
            metavar="PATTERN",
            multiple=True,
            required=required,
            help="Where: a namespace, in which * matches any characters.",
        )
        @functools.wraps(command)
        def with_grants(*, roles: tuple[str, ...], patterns: tuple[str, ...], **others: Any) -> None:
            if bool(roles) is not bool(patterns):
                raise click.UsageError("Give both --role and --namespace.")
            pairs = dict.fromkeys((role, pattern) for role in roles for pattern in patterns)
            command(grants=[Grant(Role(role), pattern) for role, pattern in pairs], **others)

        return with_grants

    return decorate


@contextmanager
def _access(store: str | None, *, create: bool = False) -> Iterator[AccessStore]:
    """Return a context with the tokens and grants of a store; close the store at the end.

    Raises ConfigurationError if FLL_SERVER is set without --store, and if the store does not exist.
    With `create`, a store that does not exist is made and reported, if --store or FLL_STORE names it.
    """
    settings = config.from_environment(store=store)
    if settings.server and store is None:
        raise ConfigurationError(
            "tokens and grants are set in the store itself: name it with --store, or unset FLL_SERVER"
        )
    # A new store at the default path would be one of the current folder, which no server uses.
    is_named = store is not None or settings.store != config.DEFAULTS.store
    is_new = not store_exists(settings.store)
    with closing(open_store_table(settings, create=create and is_named)) as table:
        yield AccessStore(table, clock=now_ms)
    if is_new:
        print_err(f"fll: made a new store at {config.without_credentials(settings.store)}.")


@groups.group(
    "fll token create nightly --role recorder --namespace bank --expires 90d",
    "fll token create board --role reader --namespace 'bank*' --namespace hospital",
    "fll token list",
)
def token() -> None:
    """Create, list and revoke tokens, with which programs use a server."""


@token.command("create")
@click.argument("name", metavar="NAME")
@_grant_options(required=True)
@click.option(
    "--expires", metavar="AGE", help="After this time, such as 90d; units s m h d w. Default: never."
)
@_store
@format_options(TABLE, JSON, listed=False)
def create_token(
    *, name: str, grants: list[Grant], expires: str | None, store: str | None, output_format: str
) -> None:
    """Create a token and print it, once: only its hash is stored. Logs show NAME."""
    lifetime_ms = _lifetime_ms(expires)
    with _access(store, create=True) as access:
        stored, secret = access.create_token(name, grants, lifetime_ms=lifetime_ms)
    if output_format == JSON:
        console.print_json({**_token_json(stored), "token": secret.text()})
        return
    print_err(f"fll: token {stored.id} for {name}. It is not shown again. Clients send FLL_TOKEN.")
    click.echo(secret.text())


@token.command("list")
@_store
@zone_option
@format_options(TABLE, JSON)
def list_tokens(*, store: str | None, output_format: str) -> None:
    """List all tokens, including revoked and expired ones."""
    zone = current_zone().key
    with _access(store) as access:
        tokens = [_token_json(stored) for stored in access.tokens()]
    _print({"tokens": tokens}, output_format, tokens_table(tokens, zone))


@token.command("revoke")
@click.argument("token_id", metavar="ID")
@_store
def revoke_token(*, token_id: str, store: str | None) -> None:
    """Revoke a token for good; every server knows it within ten seconds."""
    with _access(store) as access:
        stored = access.revoke(token_id)
    print_err(f"fll: token {stored.id} of {stored.name} is revoked.")


@groups.group(
    "fll grant set group:etl --role recorder --namespace bank", "fll grant list", "fll grant remove user:ana"
)
def grant() -> None:
    """Give rights to users and groups of an identity provider (FLL_AUTH=jwt)."""


@grant.command("set")
@click.argument("subject", metavar="SUBJECT", type=_SubjectParam())
@_grant_options(required=True)
@_store
def set_grant(*, subject: Subject, grants: list[Grant], store: str | None) -> None:
    """Give SUBJECT, user:NAME or group:NAME, roles in namespaces, in addition to those that it has."""
    with _access(store, create=True) as access:
        access.set_grants(subject, grants)
    print_err(f"fll: {subject} has {_texts(grants)}.")


@grant.command("list")
@_store
@format_options(TABLE, JSON)
def list_grants(*, store: str | None, output_format: str) -> None:
    """List all users and groups with their grants."""
    with _access(store) as access:
        subjects = [
            {"subject": str(subject), "grants": _grants_json(grants)}
            for subject, grants in access.all_grants()
        ]
    _print({"subjects": subjects}, output_format, grants_table(subjects))


@grant.command("remove")
@click.argument("subject", metavar="SUBJECT", type=_SubjectParam())
@_grant_options(required=False)
@_store
def remove_grant(*, subject: Subject, grants: list[Grant], store: str | None) -> None:
    """Take these roles in these namespaces from SUBJECT, or all of its roles without options."""
    with _access(store) as access:
        removed = access.remove_grants(subject, grants)
    print_err(f"fll: {subject} no longer has {_texts(removed)}.")


def _lifetime_ms(text: str | None) -> int | None:
    """Return a lifetime in milliseconds, or None for None, which is unlimited.

    Raises InvalidQuery for an invalid age, one in months or years, or one of more than 36,500 days.
    """
    if text is None:
        return None
    try:
        age = parse_max_age(text)
        if age.months:
            raise ValueError(f"{text!r} is in months: give days, as in `365d`")
        lifetime_ms = age.milliseconds
        if lifetime_ms > _LIFETIME_MS_MAX:
            raise ValueError(f"{text!r} is more than 36500d; leave the option out for ever")
    except ValueError as error:
        raise InvalidQuery([FieldError("expires", str(error))]) from error
    return lifetime_ms


def _token_json(stored: StoredToken) -> Json:
    """Return a token as JSON members without its hash. Times are epoch milliseconds, absent if None."""
    times = {"expires": stored.expires_ms, "revoked": stored.revoked_ms}
    return {
        "id": stored.id,
        "name": stored.name,
        "grants": _grants_json(stored.grants),
        "at": stored.at_ms,
        **{name: at_ms for name, at_ms in times.items() if at_ms is not None},
    }


def _grants_json(grants: tuple[Grant, ...]) -> list[dict[str, str]]:
    """Return grants as JSON members."""
    return [{"role": grant.role.value, "namespace": grant.pattern} for grant in grants]


def _texts(grants: list[Grant] | tuple[Grant, ...]) -> str:
    """Return grants as text, such as `reader on bank, admin on *`."""
    return ", ".join(f"{item.role.value} on {item.pattern}" for item in grants)


def _print(body: Json, output_format: str, table: Any) -> None:
    """Print the body as JSON if that is the format, else the table."""
    if output_format == JSON:
        console.print_json(body)
    else:
        print_page(table)
