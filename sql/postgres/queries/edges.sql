-- name: insert_edges
-- Join memories; an edge that is there keeps the greater weight.
insert into edges (org_id, namespace_id, source_id, target_id, type, weight, created_at)
select :org_id, :namespace_id, new.source_id, new.target_id, new.type, new.weight, :now
from unnest(:sources::bigint[], :targets::bigint[], :types::text[], :weights::double precision[])
    as new (source_id, target_id, type, weight)
order by new.source_id, new.target_id, new.type
on conflict on constraint edges_pkey do update set weight = greatest(edges.weight, excluded.weight);

-- name: read_edges
-- Pack the edges at the given memories, walked in both directions, each memory's heaviest first and at most so many
-- a direction: from, to (int8), the type's position in the given list (int2) and the weight (float8).
select string_agg(
    int8send(near.from_id) || int8send(near.to_id)
    || int2send(array_position(:types::text[], near.type)::smallint) || float8send(near.weight), ''::bytea)
from unnest(:ids::bigint[]) as lit (memory_id)
cross join lateral (
    (select e.source_id as from_id, e.target_id as to_id, e.type, e.weight
     from edges e
     where e.org_id = :org_id and e.source_id = lit.memory_id and e.namespace_id = :namespace_id
       and e.type = any(:types)
     order by e.weight desc, e.target_id
     limit :limit)
    union all
    (select e.target_id, e.source_id, e.type, e.weight
     from edges e
     where e.org_id = :org_id and e.target_id = lit.memory_id and e.namespace_id = :namespace_id
       and e.type = any(:types)
     order by e.weight desc, e.source_id
     limit :limit)
) near;

-- name: list_neighbors
-- Read a page of the edges at one memory, heaviest first.
select source_id, target_id, type, weight, created_at
from edges
where org_id = :org_id and namespace_id = :namespace_id
  and (source_id = :memory_id or target_id = :memory_id)
order by weight desc, source_id, target_id, type
limit :limit offset :offset;

-- name: count_neighbors
-- Count the edges at one memory.
select count(*)
from edges
where org_id = :org_id and namespace_id = :namespace_id
  and (source_id = :memory_id or target_id = :memory_id);

-- name: delete_edges_by_type
-- Delete the edges of given types at one memory (they are computed again when its text changes), but not those that a
-- client has made.
delete from edges
where org_id = :org_id and (source_id = :memory_id or target_id = :memory_id) and type = any(:types::text[])
  and not linked;

-- name: strengthen_co_retrieval
-- Strengthen (or make) the edges of memories recalled together; pairs of which one is gone are passed over.
insert into edges (org_id, namespace_id, source_id, target_id, type, weight, created_at)
select :org_id, s.namespace_id, pair.source_id, pair.target_id, 'CoRetrieval', pair.gain, :now
from unnest(:sources::bigint[], :targets::bigint[], :gains::double precision[]) as pair (source_id, target_id, gain)
join memories s on s.org_id = :org_id and s.memory_id = pair.source_id
join memories t on t.org_id = :org_id and t.memory_id = pair.target_id and t.namespace_id = s.namespace_id
order by pair.source_id, pair.target_id
on conflict on constraint edges_pkey do update set weight = edges.weight + excluded.weight * (1 - edges.weight);

-- name: delete_member_edges
-- Part an episode from some of its members.
delete from edges
where org_id = :org_id and target_id = :episode_id and source_id = any(:member_ids::bigint[]) and type = 'PartOf';

-- name: reward_edges
-- Move the weights of edges that led to a memory, whichever way they were crossed, and keep them within bounds; rows are
-- locked in order, so that two writers never deadlock.
with crossed as (
    select step.from_id, step.to_id, step.type, step.reward
    from unnest(:from_ids::bigint[], :to_ids::bigint[], :types::text[], :rewards::double precision[])
        as step (from_id, to_id, type, reward)
), locked as (
    select e.source_id, e.target_id, e.type, c.reward
    from crossed c
    join edges e on e.org_id = :org_id and e.type = c.type
        and (e.source_id, e.target_id) in ((c.from_id, c.to_id), (c.to_id, c.from_id))
    order by e.source_id, e.target_id, e.type
    for no key update of e
)
update edges e
set weight = least(greatest(e.weight + locked.reward, least(e.weight, :least_weight)), 1)
from locked
where e.org_id = :org_id and e.source_id = locked.source_id and e.target_id = locked.target_id and e.type = locked.type;

-- name: link_memories
-- Join two memories as a client says; an edge that is there gets the new weight. `made` tells which it was.
insert into edges (org_id, namespace_id, source_id, target_id, type, weight, created_at, linked)
values (:org_id, :namespace_id, :source_id, :target_id, :type, :weight, :now, true)
on conflict on constraint edges_pkey do update set weight = excluded.weight, linked = true
returning weight, created_at, xmax = 0 as made;

-- name: unlink_memories
-- Delete one edge.
delete from edges
where org_id = :org_id and source_id = :source_id and target_id = :target_id and type = :type;
