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

-- name: list_last_event_numbers
-- Read the number of the last event of each of several memories; those without events are absent.
select memory_id, max(event_number) as event_number
from memory_events
where org_id = :org_id and memory_id = any(:ids::bigint[])
group by memory_id;

-- name: insert_memory_events
-- Add one event to the history of each of several memories.
insert into memory_events (org_id, memory_id, event_number, event, version, at, key_id, fields)
select :org_id, new.memory_id, new.event_number, new.event, new.version, :at, :key_id, new.fields
from jsonb_to_recordset(:events::jsonb)
    as new (memory_id bigint, event_number integer, event text, version integer, fields jsonb)
order by new.memory_id;
