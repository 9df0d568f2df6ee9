"""Answer the calls about single memories: encode, recall, build context, search, list, read, edit, forget."""

import time

from memoria.records import Encoded, Memory
from server.call import Answer, Call
from server.wire.filters import ListQuery, NoQuery, PageQuery
from server.wire.rendering import (
    render_context,
    render_encoded,
    render_history_entry,
    render_memory,
    render_neighbor,
    render_recall,
    render_search_hit,
)
from server.wire.requests import ContextBody, EncodeBody, PatchBody, RecallBody, SearchBody
from server.wire.responses import DeletedOut, HistoryOut, MemoryPageOut, NeighborPageOut, SearchPageOut


async def encode_memory(call: Call[EncodeBody]) -> Answer:
    """Store a memory."""
    memory = call.input.to_record(call.namespace)
    return await call.write(lambda once: call.engine.encode(call.principal, memory, once=once), _show_encoded)


async def recall_memories(call: Call[RecallBody]) -> Answer:
    """Recall what a query brings to mind."""
    begin = time.perf_counter()
    recall = await call.engine.recall(call.principal, call.input.to_request(call.namespace))
    return Answer.of(render_recall(recall, (time.perf_counter() - begin) * 1000))


async def build_context(call: Call[ContextBody]) -> Answer:
    """Write a text block for a prompt."""
    context = await call.engine.build_context(call.principal, call.input.to_request(call.namespace))
    return Answer.of(render_context(context))


async def search_memories(call: Call[SearchBody]) -> Answer:
    """Search without spreading and without a trace."""
    page = await call.engine.search(call.principal, call.input.to_request(call.namespace))
    items = [render_search_hit(hit) for hit in page.items]
    return Answer.of(SearchPageOut.model_construct(items=items, next_cursor=page.next_cursor, total=page.total))


async def list_memories(call: Call[ListQuery]) -> Answer:
    """List memories, newest first."""
    query = call.input
    page = await call.engine.list_memories(
        call.principal,
        namespace=query.namespace or call.namespace,
        filters=query.to_filters(),
        include=tuple(state.lower() for state in query.include or ()),
        limit=query.limit,
        cursor=query.cursor,
    )
    items = [render_memory(memory) for memory in page.items]
    return Answer.of(MemoryPageOut.model_construct(items=items, next_cursor=page.next_cursor, total=page.total))


async def get_memory(call: Call[NoQuery]) -> Answer:
    """Read a memory."""
    return _show_memory(await call.engine.get(call.principal, call.id))


async def get_history(call: Call[NoQuery]) -> Answer:
    """Read a memory's versions and moves."""
    entries = await call.engine.history(call.principal, call.id)
    return Answer.of(HistoryOut.model_construct(items=[render_history_entry(entry) for entry in entries]))


async def list_neighbors(call: Call[PageQuery]) -> Answer:
    """Read a memory's edges and their other ends."""
    page = await call.engine.neighbors(call.principal, call.id, limit=call.input.limit, cursor=call.input.cursor)
    items = [render_neighbor(neighbor) for neighbor in page.items]
    return Answer.of(NeighborPageOut.model_construct(items=items, next_cursor=page.next_cursor, total=page.total))


async def update_memory(call: Call[PatchBody]) -> Answer:
    """Change a memory; its earlier version is kept."""
    patch = call.input.to_patch(call.expected_version)
    return _show_memory(await call.engine.update(call.principal, call.id, patch))


async def forget_memory(call: Call[NoQuery]) -> Answer:
    """Delete a memory for good, with everything that hangs on it."""
    await call.engine.forget(call.principal, call.id)
    return Answer.of(DeletedOut(deleted=True))


async def archive_memory(call: Call[NoQuery]) -> Answer:
    """Take a memory out of recall."""
    return await call.write(lambda once: call.engine.archive(call.principal, call.id, once=once), _show_memory)


async def restore_memory(call: Call[NoQuery]) -> Answer:
    """Take a memory back into recall."""
    return await call.write(lambda once: call.engine.restore(call.principal, call.id, once=once), _show_memory)


def _show_encoded(encoded: Encoded) -> Answer:
    return Answer.of(render_encoded(encoded), 200 if encoded.duplicate else 201)


def _show_memory(memory: Memory) -> Answer:
    return Answer.of(render_memory(memory), etag=f'"{memory.version}"')
