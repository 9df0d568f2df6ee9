"""List every operation of the REST surface: the whole table on one screen."""

from memoria.identifiers import IdKind
from server.api import batch, consolidation, intentions, introspection, jobs, learning, memories, retention, transfer
from server.operations import Operation
from server.wire import consolidation as sleep
from server.wire import filters, requests, transfer_lines
from server.wire import intentions as plans
from server.wire import jobs as work
from server.wire import learning as lessons
from server.wire import responses as out
from server.wire import retention as kept
from server.wire import transfer as moved

MEMORIES = "/v1/memories"
MEMORY = "/v1/memories/{id}"
EDGES = "/v1/edges"
INTENTIONS = "/v1/intentions"
INTENTION = "/v1/intentions/{id}"
POLICY = "/v1/namespaces/{name}/policy"

# fmt: off
OPERATIONS: tuple[Operation, ...] = (
    Operation("POST", MEMORIES, memories.encode_memory, "Store a memory",
              {201: out.EncodedOut, 200: out.EncodedOut}, requests.EncodeBody, writes=True),
    Operation("GET", MEMORIES, memories.list_memories, "List memories",
              {200: out.MemoryPageOut}, query=filters.ListQuery),
    Operation("POST", f"{MEMORIES}/recall", memories.recall_memories, "Recall",
              {200: out.RecallOut}, requests.RecallBody),
    Operation("POST", f"{MEMORIES}/context", memories.build_context, "Build a context block",
              {200: out.ContextOut}, requests.ContextBody),
    Operation("POST", f"{MEMORIES}/search", memories.search_memories, "Search",
              {200: out.SearchPageOut}, requests.SearchBody),
    Operation("POST", f"{MEMORIES}/batch", batch.encode_batch, "Store several memories",
              {201: out.BatchOut, 200: out.BatchOut}, requests.BatchBody, parse=requests.LooseBatchBody, writes=True),
    Operation("POST", f"{MEMORIES}/recall/batch", batch.recall_batch, "Recall for several queries",
              {200: out.RecallBatchOut}, requests.RecallBatchBody),
    Operation("POST", f"{MEMORIES}/forget", batch.forget_many, "Delete several memories",
              {200: out.ForgottenOut}, requests.ForgetBody, writes=True),
    Operation("POST", f"{MEMORIES}/delete-by-context", batch.delete_by_context, "Delete by a context pair",
              {200: out.DeletedCountOut}, requests.DeleteByContextBody, writes=True),
    Operation("POST", f"{MEMORIES}/prune", retention.prune_memories, "Apply a retention policy",
              {200: kept.PrunedOut}, kept.PruneBody, writes=True),
    Operation("GET", MEMORY, memories.get_memory, "Read a memory",
              {200: out.MemoryOut}),
    Operation("PATCH", MEMORY, memories.update_memory, "Change a memory",
              {200: out.MemoryOut}, requests.PatchBody, conditional=True),
    Operation("DELETE", MEMORY, memories.forget_memory, "Delete a memory",
              {200: out.DeletedOut}),
    Operation("GET", f"{MEMORY}/history", memories.get_history, "Read a memory's history",
              {200: out.HistoryOut}),
    Operation("GET", f"{MEMORY}/neighbors", memories.list_neighbors, "Read a memory's edges",
              {200: out.NeighborPageOut}, query=filters.PageQuery),
    Operation("POST", f"{MEMORY}/archive", memories.archive_memory, "Take a memory out of recall",
              {200: out.MemoryOut}, writes=True),
    Operation("POST", f"{MEMORY}/restore", memories.restore_memory, "Take a memory back into recall",
              {200: out.MemoryOut}, writes=True),
    Operation("POST", f"{MEMORY}/feedback", learning.give_feedback, "Say whether a memory helped",
              {200: lessons.FeedbackOut}, lessons.FeedbackBody, writes=True),
    Operation("POST", f"{MEMORY}/dampen", learning.dampen_memory, "Dampen a memory for a kind of query",
              {200: lessons.DampenedOut}, lessons.DampenBody, writes=True),
    Operation("GET", f"{MEMORY}/provenance", consolidation.read_provenance, "Read what a summary was made of",
              {200: sleep.ProvenanceOut}),
    Operation("POST", f"{MEMORY}/unconsolidate", consolidation.unconsolidate_memory, "Undo a summary",
              {200: sleep.UnconsolidatedOut}, writes=True),
    Operation("POST", "/v1/consolidate", consolidation.consolidate_namespace, "Consolidate a namespace",
              {200: sleep.ConsolidationOut, 202: sleep.ConsolidationOut}, sleep.ConsolidateBody, writes=True),
    Operation("POST", EDGES, learning.link_memories, "Join two memories",
              {201: lessons.EdgeOut, 200: lessons.EdgeOut}, lessons.EdgeBody, writes=True),
    Operation("DELETE", EDGES, learning.unlink_memories, "Part two memories",
              {200: out.DeletedOut}, query=lessons.EdgeQuery),
    Operation("POST", INTENTIONS, intentions.create_intention, "Store an intention",
              {201: plans.IntentionOut}, plans.IntentionBody, writes=True),
    Operation("GET", INTENTIONS, intentions.list_intentions, "List intentions",
              {200: plans.IntentionPageOut}, query=plans.IntentionsQuery),
    Operation("POST", f"{INTENTIONS}/check", intentions.check_intentions, "Check intentions",
              {200: plans.TriggeredOut}, plans.CheckBody, writes=True),
    Operation("GET", INTENTION, intentions.get_intention, "Read an intention",
              {200: plans.IntentionOut}, id_kind=IdKind.INTENTION),
    Operation("PATCH", INTENTION, intentions.update_intention, "Change an intention",
              {200: plans.IntentionOut}, plans.IntentionPatchBody, id_kind=IdKind.INTENTION),
    Operation("DELETE", INTENTION, intentions.delete_intention, "Delete an intention",
              {200: out.DeletedOut}, id_kind=IdKind.INTENTION),
    Operation("POST", f"{INTENTION}/complete", intentions.complete_intention, "Complete an intention",
              {200: plans.IntentionOut}, id_kind=IdKind.INTENTION, writes=True),
    Operation("POST", "/v1/chunks", batch.chunk_text, "Cut a text",
              {200: out.ChunksOut}, requests.ChunkBody),
    Operation("GET", "/v1/namespaces", introspection.list_namespaces, "List namespaces",
              {200: out.NamespacePageOut}, query=filters.PageQuery),
    Operation("GET", POLICY, retention.read_policy, "Read a retention policy",
              {200: kept.PolicyOut}),
    Operation("PUT", POLICY, retention.set_policy, "Set a retention policy",
              {200: kept.PolicyOut}, kept.PolicyBody),
    Operation("DELETE", "/v1/namespaces/{name}", transfer.erase_namespace, "Erase a namespace",
              {200: moved.ErasureOut, 202: moved.ErasureOut}),
    Operation("GET", "/v1/export", transfer.export_namespace, "Export a namespace",
              {200: transfer_lines.MemoryLine}, query=moved.ExportQuery, sends_lines=True),
    Operation("POST", "/v1/import", transfer.import_namespace, "Import a namespace",
              {200: moved.ImportOut}, query=moved.ImportQuery, takes_lines=True),
    Operation("GET", "/v1/jobs", jobs.list_jobs, "List background jobs",
              {200: work.JobPageOut}, query=work.JobsQuery),
    Operation("GET", "/v1/jobs/{id}", jobs.get_job, "Read a background job",
              {200: work.JobOut}, id_kind=IdKind.JOB),
    Operation("GET", "/v1/stats", introspection.read_stats, "Count what a namespace holds",
              {200: out.StatsOut}, query=filters.NamespaceQuery),
)
# fmt: on
