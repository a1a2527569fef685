"""Schemas of queries: schemas of parameters parse requests, schemas of answers only describe them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin

import marshmallow as ma
import msgspec
from marshmallow import ValidationError, fields, validate

from fll_hbase.queries import time_window
from fll_hbase.queries.parameters import About, Kind, Parameter
from fll_hbase.queries.query import Query
from fll_hbase.runtime.errors import InvalidQuery
from fll_hbase.runtime.json_types import Json

from ..wire.query_params import CountParam, FixedSchema, FlagParam, NoParams, now_ms


class _QueryParams(NoParams):
    """Parameters of a query; times are loaded as they were sent."""

    query: ClassVar[type[Query[Any]]]

    # Also if other parameters are invalid, because an answer lists every error of a query.
    @ma.validates_schema(skip_on_field_errors=False)
    def _check_times(self, data: dict[str, Any], **_: Any) -> None:
        """Raise ValidationError, by parameter, for times that cannot be parsed or are in the wrong order."""
        listed = (item for item in self.query.url_parameters() if item.kind is Kind.TIME)
        times = {item.name: data.get(item.attribute) for item in listed}
        try:
            self.query.check_times(times, now_ms=now_ms())
        except InvalidQuery as error:
            raise ValidationError({item.path: [item.detail] for item in error.errors}) from error


class AnyCaseWord(fields.String):
    """A word of `enum`, ignoring case, loaded in lower case."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        """Return the word in lower case. Raises ValidationError if the parameter does not allow it."""
        words = self.metadata["enum"]
        if str(value).lower() not in words:
            raise ValidationError(f"{str(value)[:100]!r} is not one of {', '.join(words)}")
        return str(value).lower()


@cache
def parameter_schema(query: type[Query[Any]]) -> type[ma.Schema]:
    """Return the schema class of the parameters of a query's URL, loaded by attribute names; cached."""
    members = {item.attribute: _parameter_field(item) for item in query.url_parameters()}
    return type(f"{query.__name__}Params", (_QueryParams,), {"query": query, **members})


def _parameter_field(parameter: Parameter) -> fields.Field[Any]:
    """Return the marshmallow field of a query's parameter, with its description, bounds and default."""
    about = parameter.about
    metadata: dict[str, Any] = {"description": about.help} if about.help else {}
    if parameter.kind is Kind.COUNT:
        bounds = {"minimum": about.minimum, "maximum": about.maximum}
        metadata |= {name: bound for name, bound in bounds.items() if bound is not None}
    options: dict[str, Any] = {"data_key": parameter.name, "metadata": metadata}
    if parameter.required:
        options["required"] = True
    # A default that means "absent" is not sent, and windows describe theirs in words.
    elif parameter.default not in (None, "", time_window.DEFAULT_START, time_window.DEFAULT_END):
        options["load_default"] = parameter.default
    match parameter.kind:
        case Kind.TIME:
            return fields.String(**options)
        case Kind.COUNT:
            return CountParam(validate=validate.Range(min=about.minimum, max=about.maximum), **options)
        case Kind.FLAG:
            return FlagParam(**options)
        case Kind.WORD:
            return _word_field(parameter, options)
        case Kind.TEXT:
            checks = [] if about.minimum is None else [validate.Length(min=about.minimum)]
            return fields.String(validate=[*checks, *_text_checks(about)], **options)


def _text_checks(about: About) -> list[Callable[[str], None]]:
    """Return the check of a parameter's text as a list, which is empty if the parameter has no check."""

    def check(text: str) -> None:
        """Raise ValidationError with the fault of a string."""
        if about.text_fault and (fault := about.text_fault(text)):
            raise ValidationError(fault)

    return [check] if about.text_fault else []


def _word_field(parameter: Parameter, options: dict[str, Any]) -> fields.Field[Any]:
    """Return the marshmallow field of a parameter that is one of several words, ignoring case if allowed."""
    if not parameter.about.in_any_case:
        return fields.String(validate=validate.OneOf(parameter.words), **options)
    options["metadata"] |= {"enum": list(parameter.words)}
    return AnyCaseWord(**options)


@cache
def body_schema(body: type[msgspec.Struct]) -> type[ma.Schema]:
    """Return the schema of a JSON object of an answer or document, only for the OpenAPI document.

    Other members are invalid, unless the class has `other_members` with one of marshmallow's constants.
    """
    # Prefixed, because `fields`, for example, is an attribute of marshmallow's own.
    members = {f"member_{item.encode_name}": _member_field(item) for item in msgspec.structs.fields(body)}
    meta = type("Meta", (), {"unknown": getattr(body, "other_members", ma.RAISE)})
    listed = {name: item for name, item in members.items() if item}
    return type(f"{schema_name(body)}Schema", (FixedSchema,), {"Meta": meta, **listed})


def schema_name(body: type[msgspec.Struct]) -> str:
    """Return the name of a body in the OpenAPI document."""
    # `vars` ignores the name of a base class, which has a different schema.
    name: str = vars(body).get("schema_name", body.__name__.removesuffix("Answer"))
    return name


def reference(body: type[msgspec.Struct]) -> Json:
    """Return a `$ref` to the schema of a body, which must be one of the components of the document."""
    return {"$ref": f"#/components/schemas/{schema_name(body)}"}


def answer_schema(query: type[Query[Any]]) -> ma.Schema | Json:
    """Return the schema of the body of an answer: an object, an array of one type, or one of such arrays."""
    body = query.body_type()
    if get_origin(body) is not tuple:
        return body_schema(body)()
    (items, *_) = get_args(body)
    if get_origin(items) is UnionType:
        return {"anyOf": [_array_schema(item) for item in get_args(items)]}
    return _array_schema(items)


def _array_schema(item: Any) -> ma.Schema | Json:
    """Return the schema of an array whose items are texts or, of a struct, objects."""
    if item is str:
        return {"type": "array", "items": {"type": "string"}}
    return body_schema(item)(many=True)


def _member_field(member: msgspec.structs.FieldInfo) -> fields.Field[Any] | None:
    """Return the field of a struct's member, or None for `hidden`, which schemas leave out."""
    if member.name == "hidden":
        return None
    hint, metas = _split_annotated(member.type)
    required = member.required or any(meta.extra and meta.extra.get("required") for meta in metas)
    options: dict[str, Any] = {"data_key": member.encode_name, "required": required}
    if member.required and NoneType in get_args(hint):
        options["allow_none"] = True
    return _value_field(member.type, **options)


def _split_annotated(hint: Any) -> tuple[Any, list[msgspec.Meta]]:
    """Return a type without its `Annotated`, and the list of its annotations."""
    if get_origin(hint) is not Annotated:
        return hint, []
    plain, *metas = get_args(hint)
    return plain, metas


def _options(metas: Sequence[msgspec.Meta]) -> dict[str, Any]:
    """Return `metadata` of a field whose type has these annotations, and `validate` for lengths or range."""
    stated = {
        name: value
        for meta in metas
        for name in ("description", "pattern", "min_length", "max_length", "ge", "le")
        if (value := getattr(meta, name)) is not None
    }
    lengths = {name[:3]: stated.pop(name) for name in ("min_length", "max_length") if name in stated}
    bounds = {word: stated.pop(name) for name, word in (("ge", "min"), ("le", "max")) if name in stated}
    for meta in metas:
        stated |= meta.extra_json_schema or {}
    options: dict[str, Any] = {"metadata": stated}
    if lengths or bounds:
        options["validate"] = validate.Length(**lengths) if lengths else validate.Range(**bounds)
    return options


_VALUES: dict[Any, type[fields.Field[Any]]] = {
    str: fields.String,
    int: fields.Integer,
    float: fields.Float,
    bool: fields.Boolean,
    Any: fields.Raw,
}


def _value_field(hint: Any, **given: Any) -> fields.Field[Any]:
    """Return the field of values of a type, with these options and those that annotate the type.

    None is left out of a type. Whole or decimal numbers become decimal, several other types Raw.
    """
    hint, metas = _split_annotated(hint)
    options = {**given, **(_options(metas) if metas else {})}
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return fields.Nested(body_schema(hint), **options)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return fields.String(validate=validate.OneOf([item.value for item in hint]), **options)
    origin, arguments = get_origin(hint), [item for item in get_args(hint) if item is not NoneType]
    if origin is Literal:
        return fields.String(validate=validate.OneOf(arguments), **options)
    if origin is tuple:
        return fields.List(_value_field(arguments[0]), **options)
    if origin is dict:
        return fields.Dict(values=_value_field(arguments[1]), **options)
    if hint in _VALUES:
        return _VALUES[hint](**options)
    if len(arguments) > 1 and float not in arguments:
        return fields.Raw(**{**options, "metadata": {"oneOf": list(map(_alternative, arguments))}})
    # An optional value. A type that allows both whole and decimal numbers becomes decimal.
    return _value_field(float if float in arguments else arguments[0], **options)


def _alternative(hint: Any) -> Json:
    """Return the shape of one of several types: a string with its bounds, or a schema that has a name."""
    plain, metas = _split_annotated(hint)
    if plain is str:
        lengths = [(meta.min_length, meta.max_length) for meta in metas]
        return {"type": "string", "minLength": lengths[0][0], "maxLength": lengths[0][1]}
    return reference(plain)
