-- name: create_namespace
-- Make a namespace at its first write; one that is there stays as it is.
insert into namespaces (org_id, namespace_id, name, embedder, created_at)
values (:org_id, :namespace_id, :name, :embedder, :now)
on conflict on constraint namespaces_name_key do nothing;

-- name: find_namespace
-- Read a namespace by its name.
select namespace_id, name, embedder, memory_count, term_count, embedding_count, has_dampenings, created_at
from namespaces
where org_id = :org_id and name = :name;

-- name: read_namespace
-- Read a namespace by its id.
select namespace_id, name, embedder, memory_count, term_count, embedding_count, has_dampenings, created_at
from namespaces
where org_id = :org_id and namespace_id = :namespace_id;

-- name: find_namespace_and_hidden
-- Read a namespace by its name, with the packed ids that recall leaves out unless asked, as list_hidden_ids does, and
-- whether a recall may trigger intentions in it. Episodes are not counted: they stand in no index, and the statistics of
-- the others are what they were without them.
select n.namespace_id, n.name, n.embedder,
    n.memory_count - (
        select count(*)
        from summaries s
        where s.org_id = :org_id and s.namespace_id = n.namespace_id and s.detector = 'burst' and s.adopted_at is null
    ) as memory_count,
    n.term_count, n.embedding_count, n.has_dampenings,
    hidden.ids as hidden,
    exists (
        select from intentions i
        where i.org_id = :org_id and i.namespace_id = n.namespace_id and i.is_armed
          and (i.kind in ('Keyword', 'Semantic') or i.status = 'triggered' or i.next_at <= :now)
    ) as may_remind
from namespaces n
cross join lateral (
    select string_agg(int8send(m.memory_id), ''::bytea) as ids
    from memories m
    where m.org_id = :org_id and m.namespace_id = n.namespace_id
      and (m.state in ('archived', 'quarantined') or m.expires_at is not null)
      and (m.state in ('archived', 'quarantined') or m.expires_at <= :now)
) hidden
where n.org_id = :org_id and n.name = :name;

-- name: grow_namespace
-- Move a namespace's counters by what a transaction added or took away; last in it, since it locks the row. Nothing
-- is moved once the namespace has changed over to another embedder than the one that is given.
update namespaces
set memory_count = memory_count + :memories,
    term_count = term_count + :terms,
    embedding_count = embedding_count + :embeddings
where org_id = :org_id and namespace_id = :namespace_id and (:embedder::text is null or embedder = :embedder);

-- name: list_namespaces
-- Read a page of namespaces by name, those a key may touch alone: exact names and prefixes (an empty list means all). One
-- that is being erased has a name that begins with a tilde.
select name, memory_count, created_at
from namespaces
where org_id = :org_id and not starts_with(name, '~')
  and (:after::text is null or name > :after)
  and (cardinality(:exact_names::text[]) + cardinality(:prefixes::text[]) = 0
       or name = any(:exact_names)
       or exists (select from unnest(:prefixes) prefix where starts_with(name, prefix)))
order by name
limit :limit;

-- name: count_namespaces
-- Count the namespaces a key may touch.
select count(*)
from namespaces
where org_id = :org_id and not starts_with(name, '~')
  and (cardinality(:exact_names::text[]) + cardinality(:prefixes::text[]) = 0
       or name = any(:exact_names)
       or exists (select from unnest(:prefixes) prefix where starts_with(name, prefix)));

-- name: count_memories_by_kind
-- Count a namespace's memories by tier, type and state at once.
select tier, type, state, count(*) as memories
from memories
where org_id = :org_id and namespace_id = :namespace_id
group by tier, type, state;

-- name: count_edges_by_type
-- Count a namespace's edges by type.
select edges.type, count(*) as edges
from edges
where org_id = :org_id and namespace_id = :namespace_id
group by edges.type;
