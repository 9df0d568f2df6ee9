-- name: find_namespaces_to_reembed
-- Find namespaces of all organizations whose vectors another model has made.
select org_id, namespace_id
from find_namespaces_to_reembed(wanted_embedder => :embedder, wanted => :wanted);

-- name: read_namespace_embedder
-- Read which model has made the vectors of a namespace, and how many memories it holds.
select embedder, memory_count
from namespaces
where org_id = :org_id and namespace_id = :namespace_id;

-- name: lock_namespace_embedder
-- The same, and keep writers waiting: they move the namespace's counters last.
select embedder
from namespaces
where org_id = :org_id and namespace_id = :namespace_id
for update;

-- name: delete_foreign_staged_embeddings
-- Delete what was staged for yet another model.
delete from staged_embeddings
where org_id = :org_id and namespace_id = :namespace_id and embedder <> :embedder;

-- name: count_staged_memories
-- Count the memories that are staged.
select count(distinct memory_id)
from staged_embeddings
where org_id = :org_id and namespace_id = :namespace_id;

-- name: list_memories_to_stage
-- Read memories whose present version is not staged, from an id on. A document is embedded in its parts, an episode in
-- its members.
select m.memory_id, m.version, m.title, m.content
from memories m
where m.org_id = :org_id and m.namespace_id = :namespace_id and m.memory_id > :after
  and not exists (
      select from staged_embeddings s
      where s.org_id = :org_id and s.namespace_id = :namespace_id and s.memory_id = m.memory_id
        and s.version = m.version
  )
  and not exists (select from memories part where part.org_id = :org_id and part.part_of = m.memory_id)
  and not (m.type = 'Episodic' and m.source is not distinct from 'system')
order by m.memory_id
limit :limit;

-- name: delete_staged_embeddings
-- Delete what is staged of some memories, before it is staged anew.
delete from staged_embeddings
where org_id = :org_id and namespace_id = :namespace_id and memory_id = any(:memory_ids::bigint[]);

-- name: insert_staged_embeddings
-- Stage vectors; those of memories that were deleted or edited meanwhile are left out.
insert into staged_embeddings (org_id, namespace_id, memory_id, passage, version, embedder, embedding)
select :org_id, :namespace_id, m.memory_id, new.passage, m.version, :embedder, new.embedding
from unnest(:memory_ids::bigint[], :versions::integer[], :passages::smallint[], :embeddings::halfvec[])
    as new (memory_id, version, passage, embedding)
join memories m on m.org_id = :org_id and m.memory_id = new.memory_id and m.version = new.version;

-- name: list_dampened_queries
-- Read the queries of a namespace's dampenings: they are compared by their vectors, too.
select dampening_id, query
from dampenings
where org_id = :org_id and namespace_id = :namespace_id
order by dampening_id;

-- name: replace_dampening_embeddings
-- Give dampenings the vectors of the other model.
update dampenings d
set embedding = new.embedding
from unnest(:dampening_ids::bigint[], :embeddings::halfvec[]) as new (dampening_id, embedding)
where d.org_id = :org_id and d.namespace_id = :namespace_id and d.dampening_id = new.dampening_id;

-- name: clear_recall_embeddings
-- Forget the directions of earlier queries: they cannot be compared any more.
update recalls
set embedding = null
where org_id = :org_id and namespace_id = :namespace_id and embedding is not null;

-- name: delete_namespace_embeddings
-- Delete all vectors of a namespace.
delete from embeddings
where org_id = :org_id and namespace_id = :namespace_id;

-- name: install_staged_embeddings
-- Make the staged vectors of a namespace those that serve.
insert into embeddings (org_id, namespace_id, memory_id, passage, embedding)
select org_id, namespace_id, memory_id, passage, embedding
from staged_embeddings
where org_id = :org_id and namespace_id = :namespace_id
order by memory_id, passage;

-- name: clear_staged_embeddings
-- Delete all that is staged for a namespace.
delete from staged_embeddings
where org_id = :org_id and namespace_id = :namespace_id;

-- name: switch_namespace_embedder
-- Record which model has made the vectors of a namespace now.
update namespaces
set embedder = :embedder, embedding_count = :embeddings
where org_id = :org_id and namespace_id = :namespace_id;
