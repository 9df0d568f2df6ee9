-- name: read_standings
-- Pack what decides whether memories move, in the order of their ids: id, position of the tier among those given,
-- state (0 active, 1 superseded), exempt, rested (not moved since the given time), version, accesses, last access
-- (microseconds since 2000), salience, utility. A document counts with its parts; what is hidden, a part or code is absent.
select string_agg(
    int8send(s.memory_id) || int2send(s.tier) || int2send(s.state) || int2send(s.exempt) || int2send(s.rested)
    || int4send(s.version) || int8send(s.access_count) || timestamptz_send(s.last_accessed_at)
    || float8send(s.salience) || float8send(s.utility), ''::bytea order by s.memory_id)
from (
    select m.memory_id, m.version,
           (array_position(:tiers::text[], m.tier) - 1)::smallint as tier,
           (case when m.state = 'superseded' then 1 else 0 end)::smallint as state,
           (case when m.pinned or m.confidence >= :exempt_confidence::double precision then 1 else 0 end)::smallint
               as exempt,
           (case when m.tier_since > :rested_since then 0 else 1 end)::smallint as rested,
           greatest(m.access_count, parts.access_count) as access_count,
           greatest(m.last_accessed_at, parts.last_accessed_at) as last_accessed_at,
           greatest(m.salience, parts.salience) as salience,
           greatest(m.utility, parts.utility) as utility
    from memories m
    left join lateral (
        select max(p.access_count) as access_count, max(p.last_accessed_at) as last_accessed_at,
               max(p.salience) as salience, max(p.utility) as utility
        from memories p
        where p.org_id = m.org_id and p.part_of = m.memory_id
    ) parts on true
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
left join lateral (
    select max(p.last_accessed_at) as last_accessed_at, max(p.salience) as salience
    from memories p
    where p.org_id = m.org_id and p.part_of = m.memory_id
) parts on true
where m.org_id = :org_id and m.namespace_id = :namespace_id
  and m.state in ('active', 'superseded') and m.part_of is null and m.type <> 'Code'
  and not m.pinned and m.confidence < :exempt_confidence::double precision
  and (m.expires_at is null or m.expires_at > :now)
order by greatest(extract(epoch from :now::timestamptz - greatest(m.last_accessed_at, parts.last_accessed_at))::double precision, 0)
             / ((:half_life_days::double precision[])[array_position(:tiers::text[], m.tier)]
                * (1 + greatest(m.salience, parts.salience))) desc,
         m.salience, m.memory_id
limit :limit;

-- name: move_memories
-- Move memories to the given tiers and states, if they are still of the version that was looked at and in recall, and
-- their parts with them. Returns those that moved, with what they were.
with moving as (
    select * from unnest(:ids::bigint[], :versions::integer[], :tiers::text[], :states::text[])
        as new (memory_id, version, tier, state)
),
locked as (
    select m.memory_id, m.version, m.tier as old_tier, m.state as old_state
    from memories m
    join moving on moving.memory_id = m.memory_id and moving.version = m.version
    where m.org_id = :org_id and m.state in ('active', 'superseded') and m.part_of is null
      and (m.tier <> moving.tier or moving.state = 'archived')
      and m.last_accessed_at <= :accessed_by
    order by m.memory_id
    for no key update of m
),
parts as (
    select p.memory_id, locked.memory_id as document_id
    from locked
    join memories p on p.org_id = :org_id and p.part_of = locked.memory_id
),
moved as (
    update memories m
    set tier = case when moving.state = 'archived' then m.tier else moving.tier end,
        state = case when moving.state = 'archived' then 'archived' else m.state end,
        tier_since = case when moving.state = 'archived' then m.tier_since else :now end,
        updated_at = case when moving.state = 'archived' then :now else m.updated_at end
    from (
        select locked.memory_id, locked.memory_id as document_id from locked
        union all
        select parts.memory_id, parts.document_id from parts
    ) each
    join moving on moving.memory_id = each.document_id
    where m.org_id = :org_id and m.memory_id = each.memory_id
)
select memory_id, version, old_tier, old_state from locked;

-- name: list_outlived_archived
-- List archived memories that neither changed nor were recalled since the given time; the exempt are never deleted.
select m.memory_id
from memories m
where m.org_id = :org_id and m.namespace_id = :namespace_id and m.state = 'archived' and m.part_of is null
  and m.type <> 'Code' and not m.pinned and m.confidence < :exempt_confidence::double precision
  and m.updated_at <= :unused_since and m.last_accessed_at <= :unused_since
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
  and m.updated_at <= :unused_since and m.last_accessed_at <= :unused_since;

-- name: restore_memories
-- Put archived memories, with their parts, back into the state that they were archived from, as used now.
with chosen as (
    select m.memory_id, m.version,
           coalesce((select e.fields ->> 'state_before'
                     from memory_events e
                     where e.org_id = m.org_id and e.memory_id = m.memory_id and e.event = 'archived'
                     order by e.event_number desc
                     limit 1), 'active') as state
    from memories m
    where m.org_id = :org_id and m.memory_id = any(:ids::bigint[]) and m.state = 'archived'
    order by m.memory_id
    for no key update of m
),
restored as (
    update memories m
    set state = chosen.state, updated_at = :now, last_accessed_at = greatest(m.last_accessed_at, :now)
    from chosen
    where m.org_id = :org_id and (m.memory_id = chosen.memory_id or m.part_of = chosen.memory_id)
)
select memory_id, version, state from chosen;

-- name: align_parts
-- Give the parts of a document its tier, salience and state.
update memories part
set tier = document.tier, salience = document.salience, state = document.state
from memories document
where document.org_id = :org_id and document.memory_id = :memory_id
  and part.org_id = document.org_id and part.part_of = document.memory_id;
