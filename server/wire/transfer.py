"""Define the JSON that is answered about imports and erasures, and make it of the engine's records."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from memoria.identifiers import IdKind, format_id
from memoria.transfer_records import Erasure, ImportResult
from server.wire.filters import NamespaceQuery


class ExportQuery(NamespaceQuery):
    """Choose the namespace to export."""


class ImportQuery(NamespaceQuery):
    """Choose the namespace to import into; without one it is that of the export."""


class ImportCountsOut(BaseModel):
    """Count lines by what they hold."""

    policies: int
    memories: int
    members: int
    events: int
    edges: int
    dampenings: int
    refused_merges: int
    intentions: int


class MappingOut(BaseModel):
    """Name the id that a memory has here, beside the one in the export."""

    id: str
    stored_id: str


class RefusalOut(BaseModel):
    """Say why a line was not taken."""

    line: int
    code: str
    message: str


class ImportOut(BaseModel):
    """Say what became of every line. `complete` is false for an export that was cut off."""

    namespace: str
    lines: int
    complete: bool
    imported: ImportCountsOut
    skipped: ImportCountsOut
    mapped: int
    mappings: list[MappingOut]
    refused: int
    refusals: list[RefusalOut]


class ErasureOut(BaseModel):
    """Prove an erasure: rows by table, before and after. `after` is null while the job is at it."""

    namespace: str
    erased: bool
    before: dict[str, int]
    after: dict[str, int] | None
    job_id: str | None


def _values(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__slots__}


def render_import(result: ImportResult) -> ImportOut:
    """Show what became of an import."""
    return ImportOut(
        namespace=result.namespace,
        lines=result.lines,
        complete=result.is_complete,
        imported=ImportCountsOut(**_values(result.imported)),
        skipped=ImportCountsOut(**_values(result.skipped)),
        mapped=result.mapped,
        mappings=_render_mappings(result.mappings),
        refused=result.refused,
        refusals=[RefusalOut(**_values(refusal)) for refusal in result.refusals],
    )


def _render_mappings(mappings: Mapping[int, int]) -> list[MappingOut]:
    return [MappingOut(id=format_id(old), stored_id=format_id(new)) for old, new in mappings.items()]


def render_erasure(erasure: Erasure) -> ErasureOut:
    """Show an erasure."""
    return ErasureOut(
        namespace=erasure.namespace,
        erased=erasure.after is not None and not any(erasure.after.values()),
        before=dict(erasure.before),
        after=None if erasure.after is None else dict(erasure.after),
        job_id=None if erasure.job_id is None else format_id(erasure.job_id, IdKind.JOB),
    )


def file_name(namespace: str, at: datetime) -> str:
    """Name the file of an export: letters, digits, dots and hyphens."""
    plain = "".join(character if character.isalnum() else "-" for character in namespace)
    return f"memoria-{plain}-{at:%Y%m%dT%H%M%SZ}.ndjson"
