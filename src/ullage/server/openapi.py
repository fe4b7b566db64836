"""The API's description, OpenAPI 3.1: paths from the handlers, and the words as msgspec reads and writes them."""

from __future__ import annotations

import inspect
from importlib.metadata import version
from typing import Any, Final

import msgspec
from litestar import Request
from litestar.enums import OpenAPIMediaType
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import OpenAPIRenderPlugin
from litestar.openapi.spec import Components, Reference, Schema, SecurityScheme
from litestar.plugins import OpenAPISchemaPlugin
from litestar.typing import FieldDefinition

from ullage.messages import Message
from ullage.meter.reading import Reading
from ullage.meter.spend import Spend
from ullage.server import api_types
from ullage.server.problems import MEDIA_TYPE

PREFIX: Final = "#/components/schemas/"

TITLE: Final = "Ullage"

ALWAYS: Final = {
    400: "The request does not fit its description.",
    401: "The token is missing or wrong.",
    403: "Asked for under another name, or by another site's page.",
    413: "The body is too large.",
    500: "A mistake in the server.",
    503: "The store can't be read or written; nothing was stored.",
}
NAMED: Final = {404: "There is no such session."}
CHANGING: Final = {
    409: "The session's state does not allow it.",
    422: "It is well formed, but can't be used: an unknown setting, an empty message.",
}


class WordsPlugin(OpenAPISchemaPlugin):
    """Refers to our words by name; ``components`` holds them."""

    @staticmethod
    def is_plugin_supported_type(value: Any) -> bool:
        return inspect.isclass(value) and issubclass(value, msgspec.Struct)

    def to_openapi_schema(self, field_definition: FieldDefinition, schema_creator: Any) -> Schema:
        return Schema(all_of=[Reference(ref=PREFIX + field_definition.annotation.__name__)])


class JsonPlugin(OpenAPIRenderPlugin):
    """The description as one JSON document."""

    def __init__(self) -> None:
        super().__init__(path="/openapi.json", media_type=OpenAPIMediaType.OPENAPI_JSON)
        self._made: bytes | None = None

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        if self._made is None:
            self._made = msgspec.json.encode(completed(openapi_schema))
        return self._made


def described() -> OpenAPIConfig:
    """What the description begins with."""
    return OpenAPIConfig(
        title=TITLE,
        version=version("ullage"),
        description="Agent sessions inside a context window that is never a guess. docs/http.md says more.",
        components=Components(security_schemes={"token": SecurityScheme(type="http", scheme="bearer")}),
        security=[{"token": []}, {}],
        use_handler_docstrings=True,
        render_plugins=[JsonPlugin()],
    )


def completed(document: dict[str, Any]) -> dict[str, Any]:
    """The description with our words in it, and with what every operation may answer."""
    document["components"]["schemas"] = words()
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if isinstance(operation, dict) and "responses" in operation:
                _complete(path, method, operation)
    return document


def _complete(path: str, method: str, operation: dict[str, Any]) -> None:
    said = {**ALWAYS, **(NAMED if "{session}" in path else {})}
    if method != "get" or "{" in path:
        said |= CHANGING
    content = {MEDIA_TYPE: {"schema": {"$ref": PREFIX + "Problem"}}}
    for status, meaning in said.items():
        operation["responses"][str(status)] = {"description": meaning, "content": content}


def words() -> dict[str, Any]:
    """The JSON schema of every word that goes in or out, by its name."""
    kinds = [kind for kind in vars(api_types).values() if inspect.isclass(kind) and issubclass(kind, msgspec.Struct)]
    roots = [kind for kind in kinds if kind is not msgspec.Struct]
    _, schemas = msgspec.json.schema_components([Message, Reading, Spend, *roots], ref_template=PREFIX + "{name}")
    for schema in schemas.values():
        _open_up(schema)
    schemas["UnknownPart"] = {"type": "object", "description": "A part of a newer version, as it came."}
    return schemas


def _open_up(schema: dict[str, Any]) -> None:
    """Words that are stored keep fields of newer versions: those may stand beside the known ones."""
    properties = schema.get("properties", {})
    if "~" in properties:
        del properties["~"]
        schema.pop("additionalProperties", None)
    for each in properties.values():
        _drop_discriminator(each)


def _drop_discriminator(schema: dict[str, Any]) -> None:
    """A part of a newer version has a type that no mapping knows."""
    schema.pop("discriminator", None)
    if isinstance(schema.get("items"), dict):
        _drop_discriminator(schema["items"])
