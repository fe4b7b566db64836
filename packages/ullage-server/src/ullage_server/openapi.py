"""The API's description, OpenAPI 3.1: paths from the handlers, and schemas of the types as msgspec encodes them."""

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

from ullage.context.preview import CompactionPreview
from ullage.context.surgery import Surgery
from ullage.messages import Message
from ullage.meter.reading import Reading
from ullage.meter.spend import Spend
from ullage_agent.file_history.report import FileChanges
from ullage_server import api_types, live_types
from ullage_server.problems import MEDIA_TYPE
from ullage_server.scopes import name_of
from ullage_server.ui import bodies

PREFIX: Final = "#/components/schemas/"

TITLE: Final = "Ullage"

ALWAYS: Final = {
    400: "The request does not fit its description.",
    401: "The token is missing or wrong.",
    403: "The request names another host, or comes from another site's page.",
    413: "The body is too large.",
    500: "A bug in the server.",
    503: "The store can't be read or written; nothing was stored.",
}
NAMED: Final = {404: "There is no such session."}
LIVE: Final = {
    404: "No such session runs, or the server does not show which do.",
    422: "The session's log can't be read now.",
}
CHANGING: Final = {
    409: "The session's state does not allow it.",
    422: "The request is valid, but can't be used: an unknown setting, an empty message.",
}


class SchemaPlugin(OpenAPISchemaPlugin):
    """Refers to msgspec types by name; ``components`` holds their schemas."""

    @staticmethod
    def is_plugin_supported_type(value: Any) -> bool:
        return inspect.isclass(value) and issubclass(value, msgspec.Struct)

    def to_openapi_schema(
        self, field_definition: FieldDefinition, schema_creator: Any
    ) -> Schema:
        return Schema(
            all_of=[Reference(ref=PREFIX + field_definition.annotation.__name__)]
        )


class JsonPlugin(OpenAPIRenderPlugin):
    """The description as one JSON document."""

    def __init__(self) -> None:
        super().__init__(path="/openapi.json", media_type=OpenAPIMediaType.OPENAPI_JSON)
        self._made: bytes | None = None

    def render(
        self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]
    ) -> bytes:
        if self._made is None:
            self._made = msgspec.json.encode(completed(openapi_schema))
        return self._made


def described() -> OpenAPIConfig:
    """The head of the description."""
    return OpenAPIConfig(
        title=TITLE,
        version=version("ullage"),
        description="Agent sessions inside a context window that is never a guess. docs/http.md says more.",
        components=Components(
            security_schemes={"token": SecurityScheme(type="http", scheme="bearer")}
        ),
        security=[{"token": []}, {}],
        use_handler_docstrings=True,
        operation_id_creator=lambda handler, *_: name_of(handler),
        render_plugins=[JsonPlugin()],
    )


def completed(document: dict[str, Any]) -> dict[str, Any]:
    """The description with the schemas of all types and the problems of every operation."""
    document["components"]["schemas"] = type_schemas()
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if isinstance(operation, dict) and "responses" in operation:
                _complete(path, method, operation)
    return document


def _complete(path: str, method: str, operation: dict[str, Any]) -> None:
    problems = dict(ALWAYS)
    if "{session}" in path:
        problems |= NAMED
    if method != "get" or "{" in path:
        problems |= CHANGING
    if path.startswith("/v1/live"):
        problems |= LIVE
    content = {MEDIA_TYPE: {"schema": {"$ref": PREFIX + "Problem"}}}
    for status, meaning in problems.items():
        operation["responses"][str(status)] = {"description": meaning, "content": content}


def type_schemas() -> dict[str, Any]:
    """The JSON schema of every type of the API, by its name."""
    kinds = [
        kind
        for module in (api_types, live_types, bodies)
        for kind in vars(module).values()
        if inspect.isclass(kind) and issubclass(kind, msgspec.Struct)
    ]
    roots = [kind for kind in kinds if kind is not msgspec.Struct]
    _, schemas = msgspec.json.schema_components(
        [Message, Reading, Spend, CompactionPreview, Surgery, FileChanges, *roots],
        ref_template=PREFIX + "{name}",
    )
    for schema in schemas.values():
        _open_up(schema)
    schemas["UnknownPart"] = {
        "type": "object",
        "description": "A part of a newer version, unchanged.",
    }
    return schemas


def _open_up(schema: dict[str, Any]) -> None:
    """Stored types keep the fields of newer versions, beside the known fields."""
    properties = schema.get("properties", {})
    if "~" in properties:
        del properties["~"]
        schema.pop("additionalProperties", None)
    for each in properties.values():
        _drop_discriminator(each)


def _drop_discriminator(schema: dict[str, Any]) -> None:
    """A part of a newer version has a type that is not in the mapping."""
    schema.pop("discriminator", None)
    if isinstance(schema.get("items"), dict):
        _drop_discriminator(schema["items"])
