"""What comes in with a request, checked, and what goes out: plain JSON, or one sentence that says what was wrong."""

import json
import math
from typing import Any

MAX_TEXT_LENGTH = 20_000  # characters
MAX_OPTION_LENGTH = 2_000
RANGES = {"layer": (-256, 255), "head": (-256, 255), "top": (1, 100)}  # options that are whole numbers, and between which; the others are text
TYPE_NAMES = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number", type(None): "null"}


class RequestError(Exception):
    """A request that is not answered: the HTTP status, a name for programs, a sentence for people, and the field that is meant."""

    def __init__(self, status: int, code: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.field = status, code, message, field

    @property
    def content(self) -> dict[str, Any]:
        return {"error": {"code": self.code, "message": self.message, "field": self.field}}


def parse_body(content_type: str, body: bytes) -> dict[str, Any]:
    """The object that a body holds."""
    if content_type.split(";")[0].strip().lower() != "application/json":
        raise RequestError(415, "content_type", "the body must be application/json")
    try:
        found = json.loads(body.decode("utf-8"), parse_constant=refuse_constant, object_pairs_hook=refuse_duplicate_keys)
    except RequestError:
        raise
    except UnicodeDecodeError:
        raise RequestError(400, "encoding", "the body is not UTF-8") from None
    except RecursionError:
        raise RequestError(400, "nesting", "the body is nested too deeply") from None
    except ValueError:
        raise RequestError(400, "json", "the body is not JSON") from None
    if not isinstance(found, dict):
        raise RequestError(422, "type", f"the body must be an object and is {TYPE_NAMES[type(found)]}")
    return found


def refuse_constant(name: str) -> float:
    raise RequestError(400, "json", f"{name} is no number of JSON")


def refuse_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise RequestError(400, "json", "a name stands twice in one object")
    return dict(pairs)


def allow_fields(asked: dict[str, Any], *names: str) -> None:
    """No field but these."""
    for name in asked:
        if name not in names:
            raise RequestError(422, "field", f"there is no field {name[:40]!r}; there are {', '.join(names)}", name[:40])


def text_field(asked: dict[str, Any], name: str, max_length: int = MAX_TEXT_LENGTH, default: str | None = None) -> str:
    """A text with something in it."""
    value = asked.get(name, default)
    if not isinstance(value, str):
        raise RequestError(422, "type", f"{name} must be a text and is {TYPE_NAMES[type(value)] if name in asked else 'missing'}", name)
    if len(value) > max_length:
        raise RequestError(413, "too_long", f"{name} has {len(value)} characters, and at most {max_length} are read; shorten it", name)
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise RequestError(422, "surrogate", f"{name} holds half a character; send it as UTF-8", name)
    if default is None and not value.strip():
        raise RequestError(422, "empty", f"{name} is empty; write something", name)
    return value


def names_field(asked: dict[str, Any], field: str) -> list[str]:
    """A list of names, if one came."""
    value = asked.get(field, [])
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise RequestError(422, "type", f"{field} must be a list of texts", field)
    return value


def choice_field(asked: dict[str, Any], name: str, choices: tuple[str, ...]) -> str:
    value = asked.get(name, choices[0])
    if value not in choices:
        raise RequestError(422, "choice", f"{name} must be one of {', '.join(choices)}", name)
    return value


def options_field(asked: dict[str, Any], takes: tuple[str, ...]) -> dict[str, Any]:
    """The options of a picture, of the right kinds; what was left empty is left out."""
    given = asked.get("options", {})
    if not isinstance(given, dict):
        raise RequestError(422, "type", f"options must be an object and is {TYPE_NAMES[type(given)]}", "options")
    chosen: dict[str, Any] = {}
    for name, value in given.items():
        if name not in takes:
            raise RequestError(422, "option", f"this picture has no option {name[:40]!r}; it has {', '.join(takes) or 'none'}",
                f"options.{name[:40]}")
        if value is None or value == "":
            continue
        chosen[name] = check_option(name, value)
    return chosen


def check_option(name: str, value: Any) -> Any:
    field = f"options.{name}"
    if name not in RANGES:
        return text_field({field: value}, field, MAX_OPTION_LENGTH)
    low, high = RANGES[name]
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise RequestError(422, "range", f"{name} must be a whole number from {low} to {high}", field)
    return value


def json_safe(data: Any) -> Any:
    """The same data as JSON can say it: no NaN, no infinity, no number but Python's own."""
    if isinstance(data, dict):
        return {str(key): json_safe(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [json_safe(value) for value in data]
    if data is None or isinstance(data, str | bool | int):
        return data
    if hasattr(data, "tolist"):
        return json_safe(data.tolist())
    number = float(data)
    return number if math.isfinite(number) else None
