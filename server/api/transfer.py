"""Answer the calls that move whole namespaces: out, in, and out of existence."""

from memoria.errors import InvalidInputError
from server.call import Answer, Call, StreamedAnswer
from server.wire.filters import NoQuery
from server.wire.transfer import (
    ExportQuery,
    ImportQuery,
    file_name,
    render_erasure,
    render_import,
)
from server.wire.transfer_lines import read_lines, write_lines


async def export_namespace(call: Call[ExportQuery]) -> StreamedAnswer:
    """Stream everything in a namespace, a JSON object a line: a header, memories, histories, edges, an end."""
    export = await call.engine.transfer.export(call.principal, call.input.namespace or call.namespace)
    name = file_name(export.header.namespace, export.header.exported_at)
    return StreamedAnswer(write_lines(export), {"content-disposition": f'attachment; filename="{name}"'})


async def import_namespace(call: Call[ImportQuery]) -> Answer:
    """Store what an export holds, a JSON object a line; what is there already stays as it is."""
    if call.body is None:
        raise InvalidInputError("There is nothing to import.", field="")
    namespace = call.input.namespace or call.namespace
    result = await call.engine.transfer.import_lines(call.principal, read_lines(call.body), namespace)
    return Answer.of(render_import(result))


async def erase_namespace(call: Call[NoQuery]) -> Answer:
    """Delete a namespace and everything in it for good, and count its rows before and after."""
    erasure = await call.engine.transfer.erase(call.principal, call.name)
    return Answer.of(render_erasure(erasure), 200 if erasure.after is not None else 202)
