-- name: insert_intention
-- Store a new intention.
insert into intentions (
    org_id, intention_id, namespace_id, content, priority, kind, trigger, event, embedding, next_at, expires_at,
    created_at, updated_at
)
values (
    :org_id, :intention_id, :namespace_id, :content, :priority, :kind, :trigger, :event, :embedding::halfvec, :next_at,
    :expires_at, :now, :now
);

-- name: lock_namespace_intentions
-- Let those who add open intentions to a namespace come one by one, and its embedder stay what it is.
select embedder
from namespaces
where org_id = :org_id and namespace_id = :namespace_id
for no key update;

-- name: count_open_intentions
-- Count the intentions of a namespace that are pending or triggered and have not expired.
select count(*)
from intentions
where org_id = :org_id and namespace_id = :namespace_id and status in ('pending', 'triggered')
  and (expires_at is null or expires_at > :now);

-- name: read_intentions
-- Read intentions by their ids, with the status of the moment.
select i.intention_id, i.namespace_id, n.name as namespace, i.content, i.priority, i.kind, i.trigger, i.next_at,
    i.is_told, i.triggered_count, i.triggered_at, i.completed_at, i.expires_at, i.created_at, i.updated_at,
    case when i.status in ('pending', 'triggered') and i.expires_at <= :now then 'expired' else i.status end as status
from intentions i
join namespaces n on n.org_id = :org_id and n.namespace_id = i.namespace_id
where i.org_id = :org_id and i.intention_id = any(:intention_ids::bigint[])
order by i.priority desc, i.intention_id;

-- name: lock_intentions
-- Keep others from changing intentions, in one order for all; those that are gone are left out.
select intention_id
from intentions
where org_id = :org_id and intention_id = any(:intention_ids::bigint[])
order by intention_id
for no key update;

-- name: list_intentions
-- Read a page of a namespace's intentions, the highest priority first and of equal ones the newest.
select i.intention_id, i.namespace_id, n.name as namespace, i.content, i.priority, i.kind, i.trigger, i.next_at,
    i.is_told, i.triggered_count, i.triggered_at, i.completed_at, i.expires_at, i.created_at, i.updated_at,
    case when i.status in ('pending', 'triggered') and i.expires_at <= :now then 'expired' else i.status end as status
from intentions i
join namespaces n on n.org_id = :org_id and n.namespace_id = i.namespace_id
where i.org_id = :org_id and i.namespace_id = :namespace_id
  and (cardinality(:statuses::text[]) = 0
       or case when i.status in ('pending', 'triggered') and i.expires_at <= :now then 'expired' else i.status end
          = any(:statuses))
  and (:before_priority::double precision is null
       or (i.priority, i.intention_id) < (:before_priority, :before_id::bigint))
order by i.priority desc, i.intention_id desc
limit :limit;

-- name: count_intentions
-- Count a namespace's intentions in some statuses.
select count(*)
from intentions i
where i.org_id = :org_id and i.namespace_id = :namespace_id
  and (cardinality(:statuses::text[]) = 0
       or case when i.status in ('pending', 'triggered') and i.expires_at <= :now then 'expired' else i.status end
          = any(:statuses));

-- name: list_met_intentions
-- Find what an occasion triggers in a namespace, the highest priority first: what the clock has triggered and nobody was
-- told of, what is due, an event, a meaning. Of keywords only the words can tell: those come with `is_met` false.
select met.intention_id, met.is_met, met.trigger
from (
    select i.intention_id, i.priority, case when i.kind = 'Keyword' then i.trigger end as trigger,
        coalesce(
            i.status = 'triggered' and not i.is_told
            or i.next_at <= :now
            or i.status = 'pending' and i.event = :event
            or i.status = 'pending'
               and 1 - (i.embedding <=> :vector::halfvec) >= (i.trigger ->> 'threshold')::double precision,
            false
        ) as is_met,
        i.status = 'pending' and i.kind = 'Keyword' and :has_text as may_be_met
    from intentions i
    where i.org_id = :org_id and i.namespace_id = :namespace_id and i.is_armed
      and (i.expires_at is null or i.expires_at > :not_expired_at)
      and (:intention_ids::bigint[] is null or i.intention_id = any(:intention_ids))
) met
where met.is_met or met.may_be_met
order by met.priority desc, met.intention_id;

-- name: set_intentions
-- Store what has become of intentions.
update intentions i
set status = new.status, is_told = new.is_told, next_at = new.next_at, triggered_count = new.triggered_count,
    triggered_at = new.triggered_at, completed_at = new.completed_at
from unnest(
    :intention_ids::bigint[], :statuses::text[], :told::boolean[], :next_times::timestamptz[], :counts::integer[],
    :triggered_times::timestamptz[], :completed_times::timestamptz[]
) as new (intention_id, status, is_told, next_at, triggered_count, triggered_at, completed_at)
where i.org_id = :org_id and i.intention_id = new.intention_id;

-- name: rewrite_intention
-- Store what a client has changed.
update intentions
set content = :content, priority = :priority, expires_at = :expires_at, updated_at = :now
where org_id = :org_id and intention_id = :intention_id;

-- name: rewrite_trigger
-- Store another trigger of an intention.
update intentions
set kind = :kind, trigger = :trigger, event = :event, embedding = :embedding::halfvec
where org_id = :org_id and intention_id = :intention_id;

-- name: delete_intention
-- Delete an intention.
delete from intentions
where org_id = :org_id and intention_id = :intention_id;

-- name: has_semantic_intentions
-- Say whether any intention of a namespace is armed that a meaning may trigger.
select exists (
    select from intentions
    where org_id = :org_id and namespace_id = :namespace_id and is_armed and embedding is not null
) as found;

-- name: find_due_intentions
-- Find organizations with intentions that are due or have expired.
select org_id
from find_due_intentions(at => :now, wanted => :wanted);

-- name: lock_due_intentions
-- Find some due intentions of an organization; those that others are at are left to them.
select intention_id
from intentions
where org_id = :org_id and is_armed and next_at <= :now and (expires_at is null or expires_at > :now)
order by next_at
limit :limit
for no key update skip locked;

-- name: expire_intentions
-- Mark some intentions that have expired.
update intentions i
set status = 'expired'
where i.org_id = :org_id and i.intention_id in (
    select e.intention_id
    from intentions e
    where e.org_id = :org_id and e.status in ('pending', 'triggered') and e.expires_at <= :now
    order by e.intention_id
    limit :limit
    for no key update skip locked
);

-- name: list_trigger_texts
-- Read the texts of a namespace's Semantic triggers: they are compared by their vectors, too.
select intention_id, trigger ->> 'text' as text
from intentions
where org_id = :org_id and namespace_id = :namespace_id and kind = 'Semantic'
order by intention_id;

-- name: replace_trigger_embeddings
-- Give Semantic triggers the vectors of the other model.
update intentions i
set embedding = new.embedding
from unnest(:intention_ids::bigint[], :embeddings::halfvec[]) as new (intention_id, embedding)
where i.org_id = :org_id and i.namespace_id = :namespace_id and i.intention_id = new.intention_id;

-- name: list_whole_intentions
-- Read a page of a namespace's intentions by id, as they are stored.
select intention_id, content, priority, status, kind, trigger, next_at, is_told, triggered_count, triggered_at,
    completed_at, expires_at, created_at, updated_at
from intentions
where org_id = :org_id and namespace_id = :namespace_id and intention_id > :after
order by intention_id
limit :limit;

-- name: list_known_intentions
-- Find what has one of these ids, in any namespace, and what was made in one namespace at one of these times.
select intention_id, namespace_id, content, kind, trigger, created_at
from intentions
where org_id = :org_id
  and (intention_id = any(:intention_ids::bigint[])
       or namespace_id = :namespace_id and created_at = any(:times::timestamptz[]));

-- name: import_intention
-- Store an intention as it was exported; one whose id is taken is passed over.
insert into intentions (
    org_id, intention_id, namespace_id, content, priority, status, kind, trigger, event, embedding, next_at, is_told,
    triggered_count, triggered_at, completed_at, expires_at, created_at, updated_at
)
values (
    :org_id, :intention_id, :namespace_id, :content, :priority, :status, :kind, :trigger, :event, :embedding::halfvec,
    :next_at, :is_told, :triggered_count, :triggered_at, :completed_at, :expires_at, :created_at, :updated_at
)
on conflict on constraint intentions_pkey do nothing;
