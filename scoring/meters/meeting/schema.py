"""JSON schemas of what the meter reads, from the models that read it."""

from typing import Any

from scoring.meters.meeting.config import MeetingConfig
from scoring.meters.meeting.records import JudgeRecord

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def record_schema() -> dict[str, Any]:
    """Return the JSON schema of a judge's record of one round."""
    return {"$schema": DIALECT, **JudgeRecord.model_json_schema()}


def config_schema() -> dict[str, Any]:
    """Return the JSON schema of a config file, which may leave out anything: it is inherited."""
    schema: dict[str, Any] = _without_required(MeetingConfig.model_json_schema())
    return {"$schema": DIALECT, **schema}


def _without_required(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_required(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _without_required(item) for key, item in value.items() if key != "required"}
