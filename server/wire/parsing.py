"""Read request bodies and query strings into models, and say what is wrong with them."""

import json
import re
from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, from_json

from memoria.errors import InvalidInputError
from server.problems import MalformedRequestError
from server.wire.filters import LIST_PARAMETERS, NUMBER_PARAMETERS

ModelT = TypeVar("ModelT", bound=BaseModel)
MAX_ERRORS_TOLD = 10
MAX_TOLD_CHARACTERS = 100
CONTEXT_PARAMETER = re.compile(r"context\[(?P<key>.+)\]", re.DOTALL)
NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")
MESSAGES = {
    "extra_forbidden": "is not a known field",
    "missing": "is required",
    "string_type": "must be a string",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "too_short": "must have at least {min_length}",
    "too_long": "may have at most {max_length}",
    "string_too_short": "must have at least {min_length} character",
    "string_too_long": "may have at most {max_length} characters",
}


def parse_json(body: bytes) -> Any:
    """Read JSON. Raises MalformedRequestError for what is none, InvalidInputError for what text cannot hold."""
    try:
        return from_json(body, allow_inf_nan=False)
    except ValueError:
        pass
    try:
        json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise MalformedRequestError("The body is not JSON.") from None
    # The lenient reader took what the strict one refused.
    raise InvalidInputError("The body holds a lone surrogate, a number out of range or too deep nesting.", field="")


def parse_model(model: type[ModelT], value: object, at: str = "") -> ModelT:
    """Check a JSON value. Raises InvalidInputError that names the first wrong field and lists the others."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise explain(error, at) from None


def explain(error: ValidationError, at: str = "") -> InvalidInputError:
    """Tell which fields are wrong, without repeating what was sent."""
    told = [_tell(detail, at) for detail in error.errors(include_url=False, include_input=False)[:MAX_ERRORS_TOLD]]
    field, message = told[0]
    details = {"field": field, "errors": [{"field": name, "message": text} for name, text in told]}
    return InvalidInputError(f"{field or 'The body'}: {message}.", **details)


def parse_query(query_string: bytes) -> dict[str, object]:
    """Read a query string as a JSON value: repeated parameters become lists.

    `context[KEY]=value` adds a pair. Raises InvalidInputError when a single value is given twice.
    """
    try:
        pairs = parse_qsl(query_string.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError:
        raise InvalidInputError("The query string is not percent-encoded UTF-8.", field="") from None
    value: dict[str, Any] = {}
    for name, text in pairs:
        if match := CONTEXT_PARAMETER.fullmatch(name):
            value.setdefault("context", {})[match["key"]] = text
        elif name in LIST_PARAMETERS:
            value.setdefault(name, []).append(text)
        elif name in value:
            raise InvalidInputError(f"{_shorten(name)}: is given twice.", field=_shorten(name))
        else:
            value[name] = _read_number(text) if name in NUMBER_PARAMETERS else text
    return value


def _read_number(text: str) -> object:
    return float(text) if NUMBER.fullmatch(text) else text


def _tell(detail: ErrorDetails, at: str) -> tuple[str, str]:
    # Parts that are no field names come from unions and validators.
    names = [str(part) for part in detail["loc"] if not (isinstance(part, str) and "[" in part)]
    field = ".".join([at, *names] if at else names)
    known = MESSAGES.get(detail["type"])
    message = known.format(**detail.get("ctx", {})) if known else detail["msg"].removeprefix("Value error, ")
    return _shorten(field), message


def _shorten(text: str) -> str:
    return text.encode("utf-8", "replace").decode()[:MAX_TOLD_CHARACTERS]


def _refuse_constant(name: str) -> Mapping[str, object]:
    raise ValueError(name)
