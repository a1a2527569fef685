"""`fll tag` and `fll policy`: tags of fields, and policies on the age and on the flow of data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click
from msgspec import to_builtins

from fll_hbase.cli import groups
from fll_hbase.cli.error_output import print_err
from fll_hbase.cli.options import (
    NAMESPACE,
    POLICY,
    TAG,
    Target,
    current_zone,
    field_arguments,
    field_name,
    limit_option,
    optional_field_arguments,
    target_options,
    window_options,
    zone_option,
)
from fll_hbase.cli.output import CSV, JSON, TABLE, format_options, print_answer
from fll_hbase.cli.render.admin_tables import policies_table, tags_table
from fll_hbase.cli.word_choice import WordChoice
from fll_hbase.client.answers import TableAnswer
from fll_hbase.model.flow_policy import INFLUENCES
from fll_hbase.queries.policies import NAMESPACE_HELP
from fll_hbase.queries.time_window import WindowText

if TYPE_CHECKING:
    from fll_hbase.client.connection import Connection

_description = click.option("--description", metavar="TEXT", default="", help="The reason.")


@groups.group(
    "fll tag set bank/DailyTransactions.UID PII --by ana@example.org",
    "fll tag list bank/CustomerAccounts.UID --inherited",
)
def tag() -> None:
    """Set, remove and list tags of fields, such as PII."""


@tag.command("set")
@field_arguments
@click.argument("tag_name", metavar="TAG", type=TAG)
@click.option("--by", metavar="WHO", default="", help="The person or program that sets the tag.")
@_description
@zone_option
@target_options
@format_options(TABLE, JSON, listed=False)
def set_tag(
    *,
    namespace: str,
    name: str,
    field: str,
    tag_name: str,
    by: str,
    description: str,
    target: Target,
    output_format: str,
) -> None:
    """Give FIELD the tag TAG; setting it again keeps its time."""
    zone = current_zone().key
    with target.open() as client:
        answer = client.put_tag(namespace, name, field, tag_name, by=by, description=description)
    print_answer(answer, output_format, table=lambda: tags_table([to_builtins(answer.body)], zone))


@tag.command("remove")
@field_arguments
@click.argument("tag_name", metavar="TAG", type=TAG)
@target_options
def remove_tag(*, namespace: str, name: str, field: str, tag_name: str, target: Target) -> None:
    """Remove the tag TAG from FIELD."""
    with target.open() as client:
        client.remove_tag(namespace, name, field, tag_name)
    print_err(f"fll: {namespace}/{name}.{field} no longer has the tag {tag_name}.")


@tag.command("list")
@optional_field_arguments
@click.option("--tag", "tag_name", metavar="TAG", type=TAG, help="List the fields with TAG.")
@click.option(
    "--inherited", is_flag=True, help="Also tags of fields that FIELD comes from, with their paths."
)
@click.option("--level", metavar="HOPS", type=click.IntRange(min=1), help="Maximum hops with --inherited.")
@window_options
@limit_option
@target_options
@format_options(TABLE, JSON, CSV)
def list_tags(
    *,
    namespace: str,
    name: str,
    field: str,
    tag_name: str | None,
    inherited: bool,
    level: int | None,
    window: WindowText,
    limit: int,
    target: Target,
    output_format: str,
) -> None:
    """List the tags of a field or of all fields of a dataset, or all tags in use without names.

    With --inherited, the window selects the runs through which a tag is inherited.
    """
    if tag_name is not None and namespace:
        raise click.UsageError("Give --tag or a dataset or field, not both.")
    if inherited and not field:
        raise click.UsageError("--inherited needs a field.")
    options: dict[str, Any] = {"inherited": inherited, "level": level, "limit": limit}
    with target.open() as client:
        if field:
            options |= {"start": window.start, "end": window.end}
            answer: TableAnswer[Any] = client.field_tags(namespace, name, field, **options)
        else:
            answer = _list(client, namespace, name, tag_name, limit)
    print_answer(answer, output_format, table=lambda: tags_table(answer.rows, window.zone))


def _list(
    client: Connection, namespace: str, name: str, tag_name: str | None, limit: int
) -> TableAnswer[Any]:
    """Return the tags of a dataset. Without `namespace`, return the fields with a tag, or all tags."""
    if namespace:
        return client.dataset_tags(namespace, name, limit=limit)
    return client.tags(limit=limit) if tag_name is None else client.tagged_fields(tag_name, limit=limit)


@groups.group(
    "fll policy set gdpr --max-age 90d --tag PII",
    "fll policy set no-ads --flow --tag PII --into 'marketing/*'",
    "fll policy list",
    "fll policy check --webhook https://alerts.example.org/fll --secret-file secret",
    modules={"check": "fll_hbase.cli.commands.policy_check"},
)
def policy() -> None:
    """Set, remove, list and check policies: how long data may live, and where it must not go."""


@policy.command("set")
@click.argument("policy_name", metavar="POLICY", type=POLICY)
@click.option("--max-age", metavar="AGE", help="Maximum age, such as 90d; units s m h d w mo y.")
@click.option("--flow", is_flag=True, help="A policy on where data of the fields with TAG must not go.")
@click.option("--tag", "tag_name", metavar="TAG", type=TAG, help="For all fields with TAG.")
@click.option("--field", "field_text", metavar="NS/NAME.FIELD", help="For one field.")
@click.option("--into", metavar="PATTERN", help="Forbidden datasets, such as 'marketing/*'.")
@click.option("--only-into", metavar="PATTERN", help="The datasets that are not forbidden.")
@click.option(
    "--influence",
    type=WordChoice(INFLUENCES),
    help="With any, filters and join keys count, too.  [default: value]",
)
@click.option("--unless-masked", is_flag=True, help="Ways through a hash or mask do not count.")
@_description
@click.option("--allow-unknown", is_flag=True, help="Also for a tag that no field has, or an unknown field.")
@zone_option
@target_options
@format_options(TABLE, JSON, listed=False)
def set_policy(
    *,
    policy_name: str,
    flow: bool,
    allow_unknown: bool,
    max_age: str | None,
    tag_name: str | None,
    field_text: str | None,
    description: str,
    target: Target,
    output_format: str,
    **flow_options: Any,
) -> None:
    """Set a policy for the fields with a tag, or for one field, instead of any former one of this name.

    `fll report retention` says what a policy with --max-age finds, `fll report flows` what one with --flow
    finds.
    """
    _check_options(flow, max_age, tag_name, field_text, flow_options)
    zone = current_zone().key
    reading = field_name(field_text, target) if field_text is not None else None
    field = (reading.namespace, reading.name, reading.field) if reading else None
    with target.open() as client:
        if flow:
            given = {name: value for name, value in flow_options.items() if value}
            answer = client.put_flow_policy(
                policy_name, tag=tag_name or "", description=description, allow_unknown=allow_unknown, **given
            )
        else:
            answer = client.put_policy(
                policy_name,
                max_age or "",
                tag=tag_name or "",
                field=field,
                description=description,
                allow_unknown=allow_unknown,
            )
    print_answer(answer, output_format, table=lambda: policies_table([to_builtins(answer.body)], zone))


def _check_options(
    flow: bool,
    max_age: str | None,
    tag_name: str | None,
    field_text: str | None,
    flow_options: Mapping[str, Any],
) -> None:
    """Raise UsageError with every fault of the options of a policy."""
    faults = []
    if flow:
        faults += ["--flow needs --tag."] if tag_name is None else []
        has_pattern = flow_options["into"] or flow_options["only_into"]
        faults += [] if has_pattern else ["--flow needs --into, --only-into or both."]
        faults += ["--flow takes no --max-age."] if max_age is not None else []
        faults += ["--flow takes no --field."] if field_text is not None else []
    else:
        faults += ["Give either --max-age or --flow."] if max_age is None else []
        faults += ["Give either --tag or --field."] if (tag_name is None) is (field_text is None) else []
        names = [f"--{name.replace('_', '-')}" for name, value in flow_options.items() if value]
        faults += [f"{', '.join(names)}: only with --flow."] if names else []
    if faults:
        raise click.UsageError(" ".join(faults))


@policy.command("remove")
@click.argument("policy_name", metavar="POLICY", type=POLICY)
@click.option("--namespace", metavar="NS", type=NAMESPACE, help=f"{NAMESPACE_HELP}.")
@target_options
def remove_policy(*, policy_name: str, namespace: str | None, target: Target) -> None:
    """Remove a policy."""
    with target.open() as client:
        client.remove_policy(policy_name, namespace=namespace or "")
    print_err(f"fll: policy {policy_name} removed.")


@policy.command("list")
@limit_option
@zone_option
@target_options
@format_options(TABLE, JSON, CSV)
def list_policies(*, limit: int, target: Target, output_format: str) -> None:
    """List all policies."""
    zone = current_zone().key
    with target.open() as client:
        answer = client.policies(limit=limit)
    print_answer(answer, output_format, table=lambda: policies_table(to_builtins(answer.body.policies), zone))
