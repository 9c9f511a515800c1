"""The shapes of pydantic models and of typed dictionaries, as Python SDKs have them."""

from __future__ import annotations

import datetime
import enum
import types
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from .shapes import Choice, ListOf, MapOf, Object, Scalar, Shape, Words

_EXAMPLES: dict[Any, Any] = {
    str: "x1",
    bytes: "QUJD",
    int: 3,
    float: 0.5,
    bool: True,
    datetime.datetime: "2026-11-20T08:00:00Z",
}
_UNKNOWN = ("Unknown", "Unrecognized")
"""The beginnings of the names of types that hold what an SDK does not know."""


def shape_of(annotation: Any, name: str = "", *, fixed: bool = False) -> Shape:
    """The shape of a type; ``name``: its place, for an enumeration without a name. ``fixed``: the
    only word of an enumeration is a constant.
    """
    annotation = getattr(annotation, "__value__", annotation)  # of a type alias
    if hasattr(annotation, "__metadata__"):
        return shape_of(annotation.__origin__, name, fixed=fixed)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return Words(name, tuple(map(str, arguments)), fixed=fixed and len(arguments) == 1)
    if origin in (Union, types.UnionType):
        options = [option for option in arguments if not _is_left_out(option)]
        shapes = tuple(shape_of(option, name) for option in options)
        return shapes[0] if len(shapes) == 1 else Choice(shapes)
    if origin in (list, tuple) or annotation is list:
        return ListOf(shape_of(arguments[0], name) if arguments else Scalar("x1"))
    if origin is dict or annotation is dict:
        return MapOf(shape_of(arguments[1], name) if arguments else Scalar("x1"))
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return Words(annotation.__name__, tuple(str(member.value) for member in annotation))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _model(annotation)
    return Scalar(_EXAMPLES.get(annotation, "x1"))


def _is_left_out(option: Any) -> bool:
    name = getattr(option, "__name__", "")
    return option is type(None) or name.startswith(_UNKNOWN)


@cache
def _model(model: type[BaseModel]) -> Object:
    def read() -> dict[str, Shape]:
        return {
            info.serialization_alias or info.alias or name: shape_of(
                info.annotation, f"{model.__name__}.{name}", fixed=True
            )
            for name, info in model.model_fields.items()
        }

    return Object(model.__name__, read)
