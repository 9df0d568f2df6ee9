-- name: read_standings
-- Pack what decides whether memories move, in the order of their ids: id, position of the tier among those given,
-- whether it is superseded, exempt, rested (not moved since the given time), version, accesses, last access
-- (microseconds since 2000), salience, utility. What is hidden, a part or code is absent.
select string_agg(
    int8send(s.memory_id) || int2send(s.tier) || int2send(s.superseded) || int2send(s.exempt) || int2send(s.rested)
    || int4send(s.version) || int8send(s.access_count) || timestamptz_send(s.last_accessed_at)
    || float8send(s.salience) || float8send(s.utility), ''::bytea order by s.memory_id)
from (
    select m.memory_id, m.version, m.access_count, m.last_accessed_at, m.salience, m.utility,
           (array_position(:tiers::text[], m.tier) - 1)::smallint as tier,
           (m.state = 'superseded')::integer::smallint as superseded,
           (m.pinned or m.confidence >= :exempt_confidence::double precision)::integer::smallint as exempt,
           (m.tier_since is null or m.tier_since <= :rested_since)::integer::smallint as rested
    from memories m
    where m.org_id = :org_id and m.namespace_id = :namespace_id and m.memory_id > :after
      and m.state in ('active', 'superseded') and m.part_of is null and m.type <> 'Code'
      and (m.expires_at is null or m.expires_at > :now)
    order by m.memory_id
    limit :limit
) s;

-- name: count_retained
-- Count the memories of a namespace that a policy counts: neither hidden nor parts nor code.
select count(*)
from memories m
where m.org_id = :org_id and m.namespace_id = :namespace_id
  and m.state in ('active', 'superseded') and m.part_of is null and m.type <> 'Code'
  and (m.expires_at is null or m.expires_at > :now);

-- name: list_least_retained
-- List the memories of least retention, those that are exempt left out. Retention falls with
-- idle time / (half-life x (1 + salience)).
select m.memory_id, m.version
from memories m
where m.org_id = :org_id and m.namespace_id = :namespace_id
  and m.state in ('active', 'superseded') and m.part_of is null and m.type <> 'Code'
  and not m.pinned and m.confidence < :exempt_confidence::double precision
  and (m.expires_at is null or m.expires_at > :now)
order by greatest(extract(epoch from :now::timestamptz - m.last_accessed_at)::double precision, 0)
             / ((:half_life_days::double precision[])[array_position(:tiers::text[], m.tier)] * (1 + m.salience)) desc,
         m.salience, m.memory_id
limit :limit;

-- name: lock_movable
-- Lock those of the memories that a policy may still move: in recall, no parts, and not used since the given time.
select memory_id, version, tier, state
from memories
where org_id = :org_id and memory_id = any(:ids::bigint[])
  and state in ('active', 'superseded') and part_of is null and last_accessed_at <= :accessed_by
order by memory_id
for no key update;

-- name: list_parts
-- List the parts of documents, with their documents.
select memory_id, part_of
from memories
where org_id = :org_id and part_of = any(:ids::bigint[]);

-- name: move_to_tier
-- Move memories to a tier.
update memories
set tier = :tier, tier_since = :now
where org_id = :org_id and memory_id = any(:ids::bigint[]);

-- name: list_outlived_archived
-- List archived memories that neither changed nor were recalled since the given time; the exempt are never deleted, nor
-- is what a summary in use quotes, since that would have to go with it.
select m.memory_id
from memories m
where m.org_id = :org_id and m.namespace_id = :namespace_id and m.state = 'archived' and m.part_of is null
  and m.type <> 'Code' and not m.pinned and m.confidence < :exempt_confidence::double precision
  and m.updated_at <= :unused_since and m.last_accessed_at <= :unused_since
  and not exists (
      select from summary_members sm
      join memories s on s.org_id = sm.org_id and s.memory_id = sm.summary_id and s.state <> 'archived'
      where sm.org_id = :org_id and sm.member_id = m.memory_id
  )
order by m.memory_id
limit :limit;

-- name: list_outlived_expired
-- List memories whose time of grace after expiry is over; pinned ones are kept.
select m.memory_id
from memories m
where m.org_id = :org_id and m.expires_at <= :expired_by and not m.pinned and m.part_of is null
order by m.memory_id
limit :limit;

-- name: count_outlived_archived
-- Count what list_outlived_archived lists.
select count(*)
from memories m
where m.org_id = :org_id and m.namespace_id = :namespace_id and m.state = 'archived' and m.part_of is null
  and m.type <> 'Code' and not m.pinned and m.confidence < :exempt_confidence::double precision
  and m.updated_at <= :unused_since and m.last_accessed_at <= :unused_since
  and not exists (
      select from summary_members sm
      join memories s on s.org_id = sm.org_id and s.memory_id = sm.summary_id and s.state <> 'archived'
      where sm.org_id = :org_id and sm.member_id = m.memory_id
  );

-- name: lock_archived
-- Lock those of the memories that are archived, and tell the state that each was archived from; one whose successor has
-- gone meanwhile is active.
select m.memory_id, m.version,
       coalesce((select e.fields ->> 'state_before'
                 from memory_events e
                 where e.org_id = m.org_id and e.memory_id = m.memory_id and e.event = 'archived'
                   and (e.fields ->> 'state_before' <> 'superseded' or exists (
                       select from edges g
                       where g.org_id = :org_id and g.target_id = m.memory_id and g.type = 'Supersedes'
                   ))
                 order by e.event_number desc
                 limit 1), 'active') as state
from memories m
where m.org_id = :org_id and m.memory_id = any(:ids::bigint[]) and m.state = 'archived'
order by m.memory_id
for no key update of m;

-- name: restore_memories
-- Put memories back into a state that takes part in recall, as used now.
update memories
set state = :state, updated_at = :now, last_accessed_at = greatest(last_accessed_at, :now)
where org_id = :org_id and memory_id = any(:ids::bigint[]);

-- name: align_parts
-- Give the parts of a document its tier, salience and state.
update memories part
set tier = document.tier, salience = document.salience, state = document.state
from memories document
where document.org_id = :org_id and document.memory_id = :memory_id
  and part.org_id = document.org_id and part.part_of = document.memory_id;
