"""Answer the calls that teach: feedback, dampening, links between memories."""

from memoria.edges import NewEdge
from memoria.identifiers import format_id, parse_id
from memoria.records import Edge
from memoria.vocabulary import EdgeType
from server.call import Answer, Call
from server.wire.learning import (
    DampenBody,
    DampenedOut,
    EdgeBody,
    EdgeQuery,
    FeedbackBody,
    render_edge,
    render_feedback,
)
from server.wire.responses import DeletedOut


async def give_feedback(call: Call[FeedbackBody]) -> Answer:
    """Mark a memory as useful or not; for one result of one recall it counts once."""
    given = call.input.to_record(call.id)
    return await call.write(
        lambda once: call.engine.learning.feedback(call.principal, given, once=once),
        lambda result: Answer.of(render_feedback(result)),
    )


async def dampen_memory(call: Call[DampenBody]) -> Answer:
    """Halve a memory's score for queries like this one; nothing is deleted."""
    return await call.write(
        lambda once: call.engine.learning.dampen(call.principal, call.id, call.input.query, once=once),
        lambda factor: Answer.of(DampenedOut(id=format_id(call.id), dampening=factor)),
    )


async def link_memories(call: Call[EdgeBody]) -> Answer:
    """Join two memories of one namespace; an edge that is there gets the new weight."""
    edge: NewEdge = call.input.to_record()
    return await call.write(lambda once: call.engine.learning.link(call.principal, edge, once=once), _show_edge)


async def unlink_memories(call: Call[EdgeQuery]) -> Answer:
    """Delete one edge."""
    edge = call.input
    await call.engine.learning.unlink(
        call.principal, parse_id(edge.source_id), parse_id(edge.target_id), EdgeType(edge.type)
    )
    return Answer.of(DeletedOut(deleted=True))


def _show_edge(linked: tuple[Edge, bool]) -> Answer:
    edge, is_new = linked
    return Answer.of(render_edge(edge), 201 if is_new else 200)
