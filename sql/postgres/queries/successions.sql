-- name: read_claims
-- Read those of the memories that state something: short, in force, whole, and no code.
select memory_id, content, occurred_at, project, context, version
from memories
where org_id = :org_id and namespace_id = :namespace_id and memory_id = any(:ids::bigint[])
  and state = 'active' and type <> 'Code' and part_of is null and char_length(content) <= :longest;

-- name: supersede_memories
-- Let newer memories take the place of these; those that are no longer active stay as they are.
-- The lock lets others refer to the memory: edges to it may come at the same moment.
with locked as (
    select memory_id
    from memories
    where org_id = :org_id and memory_id = any(:ids::bigint[])
    order by memory_id
    for no key update
)
update memories m
set state = 'superseded', updated_at = :now
from locked
where m.org_id = :org_id and m.memory_id = locked.memory_id and m.state = 'active'
returning m.memory_id, m.version;

-- name: list_superseded_by
-- List what the given memories have taken the place of by themselves, and not as summaries.
select e.target_id as memory_id
from edges e
where e.org_id = :org_id and e.source_id = any(:ids::bigint[]) and e.type = 'Supersedes'
  and not exists (
      select from summaries s
      where s.org_id = :org_id and s.summary_id = e.source_id and s.detector = 'repetition'
  )
order by e.target_id;

-- name: reinstate_memories
-- Put superseded memories back in force, unless another memory in force has taken their place too.
with locked as (
    select memory_id
    from memories
    where org_id = :org_id and memory_id = any(:ids::bigint[])
    order by memory_id
    for no key update
)
update memories m
set state = 'active', updated_at = :now
from locked
where m.org_id = :org_id and m.memory_id = locked.memory_id and m.state = 'superseded'
  and not exists (
      select from edges e
      join memories newer on newer.org_id = :org_id and newer.memory_id = e.source_id
      where e.org_id = :org_id and e.target_id = m.memory_id and e.type = 'Supersedes'
        and not e.source_id = any(:leaving::bigint[]) and newer.state in ('active', 'superseded')
  )
returning m.memory_id, m.version;

-- name: delete_denials
-- Take back what a memory has denied by itself, and what has denied it: its text has changed.
delete from edges
where org_id = :org_id and type in ('Contradicts', 'Supersedes') and not linked
  and (source_id = :memory_id or target_id = :memory_id)
  and not exists (
      select from summaries s
      where s.org_id = :org_id and s.summary_id = edges.source_id and s.detector = 'repetition'
  );
