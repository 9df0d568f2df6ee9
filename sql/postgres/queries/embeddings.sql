-- name: insert_embeddings
-- Store the vectors of passages; they stay outside the graph index until a worker puts them in.
insert into embeddings (org_id, namespace_id, memory_id, passage, embedding)
select :org_id, :namespace_id, new.memory_id, new.passage, new.embedding
from unnest(:memory_ids::bigint[], :passages::smallint[], :embeddings::halfvec[])
    as new (memory_id, passage, embedding)
order by new.memory_id, new.passage;

-- name: delete_embeddings
-- Delete the vectors of memories.
delete from embeddings
where org_id = :org_id and namespace_id = :namespace_id and memory_id = any(:memory_ids::bigint[]);

-- name: nearest_by_scan
-- Find the nearest memories by scanning all vectors of the namespace; the "+ 0" keeps the graph index out.
select memory_id, max(1 - (embedding <=> :vector::halfvec)) as cosine
from embeddings
where org_id = :org_id and namespace_id = :namespace_id
group by memory_id
order by cosine desc, memory_id desc
limit :limit;

-- name: nearest_by_graph
-- Find the nearest passages through the graph index, and by scan among those not in it yet; packed, id (int8) and
-- cosine (float8).
select string_agg(int8send(memory_id) || float8send(cosine), ''::bytea)
from (
    (select memory_id, 1 - (embedding <=> :vector::halfvec) as cosine
     from embeddings
     where org_id = :org_id and namespace_id = :namespace_id and in_graph
     order by embedding <=> :vector::halfvec
     limit :limit)
    union all
    (select memory_id, 1 - (embedding <=> :vector::halfvec)
     from embeddings
     where org_id = :org_id and namespace_id = :namespace_id and not in_graph
     order by (embedding <=> :vector::halfvec) + 0
     limit :limit)
) near;

-- name: nearest_among
-- Find the nearest among the given memories (those that pass a filter).
select memory_id, max(1 - (embedding <=> :vector::halfvec)) as cosine
from embeddings
where org_id = :org_id and namespace_id = :namespace_id and memory_id = any(:ids::bigint[])
group by memory_id
order by cosine desc, memory_id desc
limit :limit;

-- name: nearest_in_time
-- Compare the query with the latest memories of a time (a bound that is null is open), packed as by nearest_by_graph.
select string_agg(int8send(compared.memory_id) || float8send(compared.cosine), ''::bytea)
from (
    select e.memory_id, max(1 - (e.embedding <=> :vector::halfvec)) as cosine
    from (
        select memory_id
        from memories
        where org_id = :org_id and namespace_id = :namespace_id
          and occurred_at >= coalesce(:since::timestamptz, '-infinity')
          and occurred_at < coalesce(:until::timestamptz, 'infinity')
        order by occurred_at desc
        limit :compared
    ) of_then
    join embeddings e
        on e.org_id = :org_id and e.namespace_id = :namespace_id and e.memory_id = of_then.memory_id
    group by e.memory_id
) compared;

-- name: read_cosines
-- Compare the query with the given memories, each by its nearest passage.
select memory_id, max(1 - (embedding <=> :vector::halfvec)) as cosine
from embeddings
where org_id = :org_id and namespace_id = :namespace_id and memory_id = any(:ids::bigint[])
group by memory_id;

-- name: nearest_to_each_by_graph
-- Find the nearest passages to each of several vectors (numbered from 1), packed as by nearest_by_graph.
select asked.number, string_agg(int8send(near.memory_id) || float8send(near.cosine), ''::bytea) as passages
from unnest(:vectors::halfvec[]) with ordinality as asked (vector, number)
cross join lateral (
    (select memory_id, 1 - (embedding <=> asked.vector) as cosine
     from embeddings
     where org_id = :org_id and namespace_id = :namespace_id and in_graph
     order by embedding <=> asked.vector
     limit :limit)
    union all
    (select memory_id, 1 - (embedding <=> asked.vector)
     from embeddings
     where org_id = :org_id and namespace_id = :namespace_id and not in_graph
     order by (embedding <=> asked.vector) + 0
     limit :limit)
) near
group by asked.number;

-- name: read_embeddings
-- Pack a slice of a namespace's vectors, from a memory on: a batch compares itself with them in one multiplication.
select string_agg(int8send(memory_id), ''::bytea order by memory_id, passage) as memory_ids,
       string_agg(halfvec_send(embedding), ''::bytea order by memory_id, passage) as vectors
from (
    select memory_id, passage, embedding
    from embeddings
    where org_id = :org_id and namespace_id = :namespace_id and memory_id >= :first_id
    order by memory_id, passage
    limit :limit
) slice;

-- name: read_embeddings_of
-- Pack the vectors of some memories.
select string_agg(int8send(memory_id), ''::bytea order by memory_id, passage) as memory_ids,
       string_agg(halfvec_send(embedding), ''::bytea order by memory_id, passage) as vectors
from embeddings
where org_id = :org_id and namespace_id = :namespace_id and memory_id = any(:ids::bigint[]);

-- name: copy_embeddings
-- Give a memory the vectors of another one.
insert into embeddings (org_id, namespace_id, memory_id, passage, embedding)
select org_id, namespace_id, :new_id, passage, embedding
from embeddings
where org_id = :org_id and namespace_id = :namespace_id and memory_id = :memory_id;

-- name: index_vectors
-- Put a batch of vectors into the graph index, oldest first; vectors that another transaction holds are passed over.
with waiting as (
    select memory_id, passage
    from embeddings
    where org_id = :org_id and namespace_id = :namespace_id and not in_graph
    order by memory_id, passage
    limit :limit
    for update skip locked
)
update embeddings
set in_graph = true
from waiting
where embeddings.org_id = :org_id and embeddings.namespace_id = :namespace_id and not embeddings.in_graph
  and embeddings.memory_id = waiting.memory_id and embeddings.passage = waiting.passage;
