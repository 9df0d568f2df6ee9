-- name: find_dampening
-- Find what dampens one memory for the queries near this one; of several the nearest.
select dampening_id, marks
from dampenings
where org_id = :org_id and memory_id = :memory_id and embedding <=> :vector::halfvec <= :distance
order by embedding <=> :vector
limit 1;

-- name: insert_dampening
-- Begin to count the unhelpful marks of a memory for queries near this one.
insert into dampenings (org_id, memory_id, dampening_id, namespace_id, query, embedding, marks, updated_at)
values (:org_id, :memory_id, :dampening_id, :namespace_id, :query, :vector, :marks, :now);

-- name: set_dampening_marks
-- Move the count of marks.
update dampenings
set marks = :marks, updated_at = :now
where org_id = :org_id and memory_id = :memory_id and dampening_id = :dampening_id;

-- name: delete_dampening
-- Forget that a memory did not help with a query.
delete from dampenings
where org_id = :org_id and memory_id = :memory_id and dampening_id = :dampening_id;

-- name: note_dampenings
-- Note that a namespace has dampened memories; last in a transaction, since it locks the namespace's row.
update namespaces
set has_dampenings = true
where org_id = :org_id and namespace_id = :namespace_id and not has_dampenings;

-- name: list_known_dampenings
-- List for which queries some memories are dampened.
select memory_id, query
from dampenings
where org_id = :org_id and memory_id = any(:ids::bigint[]);

-- name: list_whole_dampenings
-- Read a page of a namespace's dampenings by memory.
select memory_id, dampening_id, query, marks, updated_at
from dampenings
where org_id = :org_id and namespace_id = :namespace_id and memory_id <= :last
  and (memory_id, dampening_id) > (:after_memory::bigint, :after_id::bigint)
order by memory_id, dampening_id
limit :limit;
