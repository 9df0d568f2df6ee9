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
