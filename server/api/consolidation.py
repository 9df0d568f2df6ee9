"""Answer the calls about consolidation: run it, say what a summary was made of, undo it."""

from memoria.consolidation_records import ConsolidationAnswer
from server.call import Answer, Call
from server.wire.consolidation import (
    ConsolidateBody,
    render_consolidation,
    render_provenance,
    render_unconsolidated,
)
from server.wire.filters import NoQuery


async def consolidate_namespace(call: Call[ConsolidateBody]) -> Answer:
    """Consolidate a namespace, or enqueue the job that does."""
    body = call.input
    return await call.write(
        lambda once: call.engine.consolidation.consolidate(
            call.principal,
            namespace=body.namespace or call.namespace,
            window_hours=body.window_hours,
            wait=body.wait,
            once=once,
        ),
        _show_consolidation,
    )


async def read_provenance(call: Call[NoQuery]) -> Answer:
    """Say what a summary was made of."""
    return Answer.of(render_provenance(await call.engine.consolidation.provenance(call.principal, call.id)))


async def unconsolidate_memory(call: Call[NoQuery]) -> Answer:
    """Undo a summary or an episode."""
    return await call.write(
        lambda once: call.engine.consolidation.unconsolidate(call.principal, call.id, once=once),
        lambda undone: Answer.of(render_unconsolidated(undone)),
    )


def _show_consolidation(answer: ConsolidationAnswer) -> Answer:
    return Answer.of(render_consolidation(answer), 200 if answer.job_id is None else 202)
