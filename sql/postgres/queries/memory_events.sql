-- name: insert_memory_event
-- Add one event to a memory's history.
insert into memory_events (org_id, memory_id, event_number, event, version, at, key_id, fields)
select :org_id, :memory_id, coalesce(max(event_number), 0) + 1, :event, :version, :at, :key_id, :fields
from memory_events
where org_id = :org_id and memory_id = :memory_id;

-- name: list_memory_events
-- Read a memory's history, oldest first.
select event, version, at, key_id, fields
from memory_events
where org_id = :org_id and memory_id = :memory_id
order by event_number;

-- name: insert_memory_events
-- Add one event to the history of each of several memories.
insert into memory_events (org_id, memory_id, event_number, event, version, at, key_id, fields)
select :org_id, new.memory_id, last.event_number + 1, new.event, new.version, :at, :key_id, new.fields
from jsonb_to_recordset(:events::jsonb) as new (memory_id bigint, event text, version integer, fields jsonb)
cross join lateral (
    select coalesce(max(e.event_number), 0) as event_number
    from memory_events e
    where e.org_id = :org_id and e.memory_id = new.memory_id
) last
order by new.memory_id;
