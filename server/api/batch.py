"""Answer the calls about many memories at once."""

import time
from collections.abc import Sequence
from functools import partial

from memoria.identifiers import parse_id
from memoria.records import EncodeFailure
from server.call import Answer, Call
from server.problems import STATUS_OF
from server.wire.batches import BatchItems, Outcome, read_batch
from server.wire.rendering import (
    render_chunk,
    render_encoded,
    render_failure,
    render_forgotten,
    render_recall,
)
from server.wire.requests import (
    ChunkBody,
    DeleteByContextBody,
    ForgetBody,
    LooseBatchBody,
    RecallBatchBody,
)
from server.wire.responses import BatchItemOut, BatchOut, ChunksOut, DeletedCountOut, RecallBatchOut

STATUS_OF_CODE = {kind.code: status for kind, status in STATUS_OF.items()}


async def encode_batch(call: Call[LooseBatchBody]) -> Answer:
    """Store several memories, all or none, or each on its own."""
    items, atomic = read_batch(call.input, call.namespace), call.input.atomic
    memories = tuple(items.memories.values())
    if not memories:
        return _show_batch(items, ())
    return await call.write(
        lambda once: call.engine.encode_batch(call.principal, memories, atomic=atomic, once=once),
        partial(_show_batch, items),
    )


async def recall_batch(call: Call[RecallBatchBody]) -> Answer:
    """Ask several queries at once."""
    begin = time.perf_counter()
    requests = [query.to_request(call.namespace) for query in call.input.queries]
    recalls = await call.engine.recall_batch(call.principal, requests)
    took_ms = round((time.perf_counter() - begin) * 1000, 2)
    items = [render_recall(recall, took_ms) for recall in recalls]
    return Answer.of(RecallBatchOut.model_construct(items=items, took_ms=took_ms))


async def forget_many(call: Call[ForgetBody]) -> Answer:
    """Delete the memories that are named, or all that match."""
    body = call.input
    if body.filters is None:
        ids = [parse_id(text) for text in body.ids or ()]
        return await call.write(
            lambda once: call.engine.forget_many(call.principal, ids, once=once),
            lambda result: Answer.of(render_forgotten(result)),
        )
    filters, namespace = body.filters.to_filters(), body.namespace or call.namespace
    return await call.write(
        lambda once: call.engine.forget_matching(
            call.principal, filters, namespace=namespace, dry_run=body.dry_run, once=once
        ),
        lambda result: Answer.of(render_forgotten(result)),
    )


async def delete_by_context(call: Call[DeleteByContextBody]) -> Answer:
    """Delete the memories whose context holds a pair."""
    body = call.input
    namespace = body.namespace or call.namespace
    return await call.write(
        lambda once: call.engine.delete_by_context(
            call.principal, body.key, body.value, namespace=namespace, once=once
        ),
        lambda count: Answer.of(DeletedCountOut(deleted_count=count)),
    )


async def chunk_text(call: Call[ChunkBody]) -> Answer:
    """Cut a text on the borders of sentences and code blocks."""
    chunks = call.engine.chunk(call.input.content, call.input.max_tokens)
    return Answer.of(ChunksOut(chunks=[render_chunk(chunk) for chunk in chunks]))


def _show_batch(items: BatchItems, results: Sequence[Outcome]) -> Answer:
    shown = [_show_item(outcome) for outcome in items.outcomes(results)]
    body = BatchOut(
        ids=[item.memory.id if item.memory else None for item in shown],
        items=shown,
        encoded=sum(item.memory is not None for item in shown),
    )
    return Answer.of(body, 201 if any(item.status == 201 for item in shown) else 200)


def _show_item(outcome: Outcome) -> BatchItemOut:
    if isinstance(outcome, EncodeFailure):
        status = STATUS_OF_CODE[outcome.code]
        return BatchItemOut(status=status, memory=None, error=render_failure(outcome))
    return BatchItemOut(status=200 if outcome.duplicate else 201, memory=render_encoded(outcome), error=None)
