"""Options that commands share: names, times, the window, and the store or server that they open."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import click

from fll_hbase.cli import times
from fll_hbase.cli.name_arguments import (
    Reading,
    advise_form,
    choose_reading,
    dataset_readings,
    field_readings,
    suggest,
)
from fll_hbase.cli.word_choice import STORE_HELP
from fll_hbase.queries import time_window
from fll_hbase.queries.time_window import WindowText
from fll_hbase.runtime import clock, config
from fll_hbase.runtime.errors import ConfigurationError, FieldError, InvalidQuery, NotFound
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX

if TYPE_CHECKING:
    from fll_hbase.client.connection import Connection

Command = Callable[..., None]

Option = Callable[[Command], Command]

READING = "fll_hbase.cli.reading"
"""Key of the names of the current command, a Reading, in the metadata of its context."""

NAMESPACE_HELP = "Default namespace for documents without one."

QUERY_TIMEOUT_SECONDS, RECORD_TIMEOUT_SECONDS = 5.0, 60.0
"""How long requests to an unavailable server are retried. Queries give up sooner, since a person waits."""


class NameParam(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A name of 1 to `bytes_max` bytes in UTF-8."""

    def __init__(self, name: str, bytes_max: int) -> None:
        self.name = name
        self._bytes_max = bytes_max

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name. Raises BadParameter for a name that is too long, empty or not UTF-8."""
        # Python decodes arguments that are not UTF-8 to lone surrogates, which cannot be encoded again.
        try:
            size = len(str(value).encode())
        except UnicodeEncodeError:
            self.fail(f"{value!r} is not UTF-8.", param, ctx)
        if not 0 < size <= self._bytes_max:
            self.fail(f"is {size} bytes long; names have 1 to {self._bytes_max}.", param, ctx)
        return str(value)


NAMESPACE = NameParam("namespace", ID_BYTES_MAX)
NAME = NameParam("name", NAME_BYTES_MAX)
RUN = NameParam("run", ID_BYTES_MAX)
TAG = NameParam("tag", ID_BYTES_MAX)
POLICY = NameParam("policy", ID_BYTES_MAX)
SPOOL = click.Path(path_type=Path, readable=False)
"""A spool. Capture, not the command, reports one that cannot be read."""


def add_options(command: Command, options: Sequence[Option]) -> Command:
    """Return a command with options, which its help shows in this order."""
    return functools.reduce(lambda decorated, option: option(decorated), reversed(options), command)


def now_ms() -> int:
    """Return the current time in milliseconds since 1970. A caller may inject a clock: `main(obj=clock)`."""
    injected: Callable[[], int] | None = click.get_current_context().find_root().obj
    return (injected or clock.now_ms)()


_PARTS: tuple[tuple[str, NameParam], ...] = (("NS", NAMESPACE), ("NAME", NAME), ("FIELD", NAME))


def _name_arguments(
    metavar: str,
    readings: Callable[[str], list[Reading]],
    *,
    counts: tuple[int, ...],
    members: tuple[str, ...] = ("namespace", "name", "field"),
    optional: bool = False,
) -> Option:
    """Return a decorator that adds names, separately or as one argument; the command receives the `members`.

    Missing names are "". If the names are `optional`, all may be missing.
    """
    shown = f"[{metavar}]" if optional and not metavar.startswith("[") else metavar

    def decorate(command: Command) -> Command:
        @click.argument("names", metavar=shown, nargs=-1)
        @functools.wraps(command)
        def with_names(*, names: tuple[str, ...], **others: Any) -> None:
            is_given = names or not optional
            reading = _read(names, others, metavar, readings, counts=counts) if is_given else Reading("")
            command(**{member: getattr(reading, member) for member in members}, **others)

        return with_names

    return decorate


def _dataset_or_field_readings(text: str) -> list[Reading]:
    """Return every way to read one argument as a dataset, then as a field."""
    return [*dataset_readings(text), *field_readings(text)]


def _catalogue_readings(text: str) -> list[Reading]:
    """Return every way to read one argument: as a namespace, then as a dataset."""
    return [Reading(text), *dataset_readings(text)]


_DATASET_FORM, _FIELD_FORM, _EITHER_FORM = "NS/NAME", "NS/NAME.FIELD", "NS/NAME[.FIELD]"
dataset_arguments = _name_arguments(
    _DATASET_FORM, dataset_readings, counts=(2,), members=("namespace", "name")
)
field_arguments = _name_arguments(_FIELD_FORM, field_readings, counts=(3,))
dataset_or_field_arguments = _name_arguments(_EITHER_FORM, _dataset_or_field_readings, counts=(2, 3))
optional_single_field_arguments = _name_arguments(_FIELD_FORM, field_readings, counts=(3,), optional=True)
optional_field_arguments = _name_arguments(
    _EITHER_FORM, _dataset_or_field_readings, counts=(2, 3), optional=True
)
catalogue_arguments = _name_arguments(
    "[NS[/NAME]]", _catalogue_readings, counts=(2,), members=("namespace", "name"), optional=True
)


def field_name(text: str, target: Target) -> Reading:
    """Return the field that an option's value names as NS/NAME.FIELD. Raises UsageError, LineageError."""
    return _read((text,), vars(target), _FIELD_FORM, field_readings, counts=())


def _read(
    names: tuple[str, ...],
    options: dict[str, Any],
    form: str,
    readings: Callable[[str], list[Reading]],
    *,
    counts: tuple[int, ...],
) -> Reading:
    """Return the names in the arguments: separate ones, whose possible numbers are `counts`, or one for all.

    A field may also be given as NS/NAME and FIELD, unless `counts` includes two. An argument with several
    readings is looked up in the catalogue. Raises UsageError, InvalidQuery, LineageError.
    """
    if len(names) in counts:
        hinted = zip(names, _PARTS, strict=False)
        parts = [part.convert(name, _parameter(hint), None) for name, (hint, part) in hinted]
        return _remember(Reading(*parts))
    field = ""
    if len(names) == 2 and form == _FIELD_FORM:
        field = NAME.convert(names[1], _parameter("FIELD"), None)
        readings = dataset_readings
    matches: list[Reading] = []
    if field or len(names) == 1:
        text = NameParam("names", 3 * 4_096).convert(names[0], _parameter(form), None)
        matches = readings(text)
    if not matches:
        raise click.UsageError(f"Give {form}{advise_form(names, form)}.")
    dataset_or_field = matches[0]
    if len(matches) > 1:
        with Target(options.get("store"), options.get("server")).open() as client:
            dataset_or_field = choose_reading(text, matches, client)
    return _remember(replace(dataset_or_field, field=field or dataset_or_field.field))


def _parameter(hint: str) -> click.Parameter:
    """Return an argument for errors about names, shown as `hint`."""
    return click.Argument(["names"], metavar=hint)


def _remember(reading: Reading) -> Reading:
    """Keep the names of the command for suggestions if they are not recorded; return them."""
    click.get_current_context().meta[READING] = reading
    return reading


_ZONE = "fll_hbase.cli.zone"
"""Key of --timezone, None without it, in the metadata of the current command's context."""


def keep_in_context(key: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    """Return a callback for click that keeps the value of an option in the metadata of the context."""
    return lambda context, _, value: context.meta.__setitem__(key, value)


zone_option = click.option(
    "--timezone",
    # Eager, so that it is known before other options are converted.
    is_eager=True,
    expose_value=False,
    callback=keep_in_context(_ZONE),
    metavar="ZONE",
    help="Zone of times, such as Europe/Berlin (default: FLL_TIMEZONE, UTC).",
)


def current_zone() -> ZoneInfo:
    """Return the zone of --timezone or FLL_TIMEZONE of the current command. Raises InvalidQuery."""
    given: str | None = click.get_current_context().meta.get(_ZONE)
    return times.load_zone(config.from_environment(timezone=given).timezone)


replace_option = click.option(
    "--replace",
    "take_over",
    is_flag=True,
    help="Replace runs that another program recorded under the same run id.",
)

limit_option = click.option(
    "--limit",
    metavar="COUNT",
    type=click.IntRange(min=1),
    default=config.DEFAULTS.list_limit,
    show_default=True,
    help="Maximum number of results.",
)


def window_options(command: Command, *, default_start: str = time_window.DEFAULT_START) -> Command:
    """Add --start, --end, --window and --timezone, which the command receives as `window`, a WindowText.

    Raises UsageError for --window with another, and InvalidQuery with each time that does not exist.
    """

    @click.option(
        "--start", metavar="TIME", help=f"Runs that start at TIME or later (default: {default_start})."
    )
    @click.option(
        "--end", metavar="TIME", help=f"Runs that start before TIME (default: {time_window.DEFAULT_END})."
    )
    @click.option(
        "--window",
        "period",
        metavar="PERIOD",
        help="Runs of one day or month: 2026-11-01, 2026-11, today or yesterday.",
    )
    @zone_option
    @functools.wraps(command)
    def with_window(*, start: str | None, end: str | None, period: str | None, **others: Any) -> None:
        if period is not None and (start is not None or end is not None):
            raise click.UsageError("Give --window or --start and --end, not both.")
        zone = current_zone()
        first = default_start if start is None else start
        window = _period(period, zone) if period is not None else _bounds(first, end, zone)
        command(window=window, **others)

    return with_window


def _period(text: str, zone: ZoneInfo) -> WindowText:
    """Return the window of a day, month, `today`, `yesterday`, or from `now-90d` on. Raises InvalidQuery."""
    if text.startswith("now-"):
        return _bounds(text, None, zone)
    try:
        bounds = times.resolve_period(text, zone, now_ms=now_ms())
    except (ValueError, OverflowError) as error:
        raise InvalidQuery(
            [FieldError("window", f"{text[:100]!r} is not in the calendar: {error}")]
        ) from error
    if bounds is None:
        meant = times.suggest_times(text)
        option = "--start" if any(item.startswith("now") for item in meant) else "--window"
        advice = f"did you mean {option} {' or '.join(meant)}?"
        if not meant:
            advice = "give 2026-11-01, 2026-11, today or yesterday, or use --start and --end"
        raise InvalidQuery([FieldError("window", f"{text[:100]!r} is not a day or month: {advice}")])
    return WindowText(*bounds, zone=zone.key)


def _bounds(start: str, end: str | None, zone: ZoneInfo) -> WindowText:
    """Return the window between two times. Raises InvalidQuery with each time that does not exist."""
    texts = {"start": start, "end": time_window.DEFAULT_END if end is None else end}
    resolved = resolve_times(texts, zone=zone.key)
    return WindowText(**resolved, zone=zone.key)


def resolve_times(texts: Mapping[str, str], *, zone: str) -> dict[str, str]:
    """Return times in the form of the REST contract, by the names of their options.

    An empty text stays empty. Raises InvalidQuery with each time that does not exist.
    """
    resolved: dict[str, str] = {}
    errors: list[FieldError] = []
    for name, text in texts.items():
        try:
            resolved[name] = text and times.resolve_time(text, ZoneInfo(zone), now_ms=now_ms())
        except (ValueError, OverflowError) as error:
            errors.append(FieldError(name, f"{text[:100]!r} is not a time: {error}"))
    if errors:
        raise InvalidQuery(errors)
    return resolved


class TimeParam(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A time such as `now-7d` or `2026-11`, converted to milliseconds since 1970, rounded up."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return milliseconds since 1970. Raises BadParameter for text that is not a time."""
        # Rounded up as in `parse_window`, so that an end within a millisecond includes runs at its beginning.
        try:
            text = times.resolve_time(str(value), current_zone(), now_ms=now_ms())
            return ceil(time_window.parse_seconds(text, now_ms=now_ms()) * 1000)
        except (ValueError, OverflowError) as error:
            self.fail(str(error), param, ctx)


TIME = TimeParam()


def resolve_option(name: str, text: str) -> str:
    """Return the time of option `name` in the form of the REST contract. Raises InvalidQuery."""
    return resolve_times({name: text}, zone=current_zone().key)[name]


def query_read_seconds(settings: config.Settings) -> float:
    """Return how long a query waits for a server's answer: the time of a request, plus some slack."""
    from fll_hbase.client.remote.http_session import SLACK_SECONDS

    return settings.request_seconds + SLACK_SECONDS


@dataclass(frozen=True)
class Target:
    """The store or server of a command, from --store or --server, or else from FLL_SERVER or FLL_STORE."""

    store: str | None = None
    server: str | None = None

    def __post_init__(self) -> None:
        """Raise UsageError for both a store and a server."""
        if self.store is not None and self.server is not None:
            raise click.UsageError("Give --store or --server, not both.")

    @property
    def url(self) -> str:
        """The URL of the server or the store, without names and passwords in it."""
        settings = config.from_environment(store=self.store)
        server = self.server or (settings.server if self.store is None else None)
        # A password may contain any character, including a slash.
        return config.without_credentials(server or settings.store).replace("://***@", "://")

    def server_of(self, settings: config.Settings) -> str | None:
        """Return the server's URL, or None for a store. Raises ConfigurationError for a wrong FLL_SERVER."""
        if self.server is not None or self.store is not None or not settings.server:
            return self.server
        if not settings.server.startswith(config.SERVER_SCHEMES):
            shown = config.without_credentials(settings.server)
            raise ConfigurationError(
                f"FLL_SERVER={shown!r} is not the URL of a server: expected http://host:port"
            )
        return settings.server

    @contextmanager
    def open(self, *, create: bool = False, dry_run: bool = False) -> Iterator[Connection]:
        """Open the client, and close it at the end.

        A SQLite file must exist unless `create`, with which a server also gets more time to answer. With
        `dry_run` no file is created, and a missing file counts as an empty store. A NotFound of the block
        also suggests similar names. Raises ConfigurationError or StoreUnavailable.
        """
        settings = config.from_environment(store=self.store)
        server = self.server_of(settings)
        if server is None:
            client = _open_local(settings, create=create, dry_run=dry_run)
        else:
            client = open_remote(server, settings, is_recording=create)
        with client:
            try:
                yield client
            except NotFound as error:
                raise NotFound(f"{error}{_suggestion(client)}") from error


def open_remote(server: str, settings: config.Settings, *, is_recording: bool) -> Connection:
    """Return the client of a server, which waits longer if `is_recording`. Raises ConfigurationError."""
    # Imported here and below, because help and completion need no client, and queries to a server no store.
    from fll_hbase.client.remote.remote_client import HttpClient

    # Giving up early would leave the rest of a recorded file unrecorded.
    timeout_seconds = RECORD_TIMEOUT_SECONDS if is_recording else QUERY_TIMEOUT_SECONDS
    read_seconds = RECORD_TIMEOUT_SECONDS if is_recording else query_read_seconds(settings)
    return HttpClient(
        server, timeout_seconds=timeout_seconds, read_seconds=read_seconds, token=settings.token
    )


def _open_local(settings: config.Settings, *, create: bool, dry_run: bool) -> Connection:
    """Return the client of a store, an empty one if `dry_run` finds none, with one `now` for all queries.

    Raises ConfigurationError or StoreUnavailable.
    """
    from fll_hbase.client.local.local_client import LocalClient
    from fll_hbase.store.factory import open_store
    from fll_hbase.tables.factory import MEMORY_URL, store_exists

    # One `now` for all windows of a command. A server uses its own `now`.
    now = now_ms()
    if dry_run and not store_exists(settings.store):
        settings = replace(settings, store=MEMORY_URL)
    opened = open_store(settings, create=create and not dry_run)
    return LocalClient(opened, settings=settings, clock=lambda: now, owned=True)


def target_options(command: Command) -> Command:
    """Add --store and --server, received as `target`. The command raises UsageError if both are given."""

    @click.option("--store", metavar="URL", help=STORE_HELP)
    @click.option(
        "--server",
        metavar="URL",
        help="URL of a server, such as http://localhost:8080 (default: FLL_SERVER).",
    )
    @functools.wraps(command)
    def with_target(*, store: str | None, server: str | None, **others: Any) -> None:
        command(target=Target(store, server), **others)

    return with_target


def _suggestion(client: Connection) -> str:
    """Return what the names of the current command may mean as the end of a sentence, or "" if unknown."""
    context = click.get_current_context()
    reading: Reading | None = context.meta.get(READING)
    near = suggest(reading, client) if reading else []
    if not reading or not near:
        return ""
    first = near[0]
    if first.field and not reading.field:
        dataset = f"`{context.command_path} {first.dataset}"
        has_option = any("--field" in option.opts for option in context.command.params)
        other = f"{dataset} --field {first.field}`" if has_option else f"`fll reach {first}`"
        return f"; {first} is a field: {dataset}` is about its dataset, {other} about the field"
    if reading.field and str(first) == str(reading):
        return f"; {first} is a dataset, and FIELD is missing: `fll ls {first}` lists its fields"
    return f"; did you mean {' or '.join(map(str, near))}?"
