"""The API's description with the model's own columns, levels and actions, so that programs know what to send."""

from typing import Any

from fastapi import FastAPI

from prudent.web.service import Service

CASE = {"$ref": "#/components/schemas/Case"}
CELL = {"type": ["string", "number", "boolean", "null"]}


def describe_model(app: FastAPI, service: Service) -> None:
    """Have the application describe what cases of this model look like."""
    plain, fitted = app.openapi, service.fitted

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            schemas = plain()["components"]["schemas"]
            schemas["Case"] = _case(service)
            asked, why = schemas["Asked"], schemas["AskedWhy"]
            several = {"type": "array", "items": CASE, "minItems": 1, "description": "Several cases"}
            asked["properties"] |= {"case": CASE, "cases": several}
            asked["oneOf"] = [{"required": ["case"]}, {"required": ["cases"]}]
            why["properties"]["case"] = CASE
            labels = {"type": "array", "items": {"enum": [*fitted.action_labels]}}
            each = {"type": "array", "items": {"anyOf": [labels, {"type": "null"}]}}
            asked["properties"]["allowed"] = {"anyOf": [labels, each, {"type": "null"}]}
            why["properties"]["allowed"] = {"anyOf": [labels, {"type": "null"}]}
        assert app.openapi_schema is not None
        return app.openapi_schema

    app.openapi = described


def _case(service: Service) -> dict[str, Any]:
    columns = {column["name"]: _cell(column) for column in service.columns}
    words = "What is known, by column; one that is left out, or null, is a gap. Other names are ignored, with a note."
    facts = {"title": "Case", "type": "object", "description": words}
    return {**facts, "properties": columns, "additionalProperties": CELL}


def _cell(column: dict[str, Any]) -> dict[str, Any]:
    """What the log has, or anything else, which is a gap or kept, and flagged."""
    unit = f" in {column['unit']}" if column["unit"] else ""
    words = f"{column['kind']}{unit}; in the log: {column['shows']}"
    usual: dict[str, Any] = {"type": "number", "minimum": column["low"], "maximum": column["high"]}
    if column["levels"] is not None:
        usual = {"enum": column["levels"]}
    elif column["kind"] == "date":
        usual = {"type": "string", "format": "date"}
    return {"description": words, "anyOf": [usual, CELL]}
