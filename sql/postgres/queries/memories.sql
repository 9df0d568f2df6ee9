-- name: insert_memories
-- Store memories; one whose duplicate is there already (or arrives at the same time) is passed over.
insert into memories (
    org_id, memory_id, namespace_id, content, type, tier, state, salience, utility, confidence, title, tags, category,
    source, url, site, related_urls, project, context, metadata, pinned, part_of, session, occurred_at, created_at,
    updated_at, last_accessed_at, expires_at, content_hash, duplicate_hash, terms, term_count
)
select
    :org_id, new.memory_id, :namespace_id, new.content, new.type, new.tier, 'active', new.salience, :utility,
    new.confidence, new.title, array(select jsonb_array_elements_text(new.tags)), new.category, new.source, new.url,
    new.site, array(select jsonb_array_elements_text(new.related_urls)), new.project, new.context,
    nullif(new.metadata, 'null'::jsonb), new.pinned, new.part_of, new.session, new.occurred_at, :now, :now, :now,
    new.expires_at, decode(new.content_hash, 'hex'), decode(new.duplicate_hash, 'hex'),
    array(select jsonb_array_elements_text(new.terms)::integer), new.term_count
from jsonb_to_recordset(:memories::jsonb) as new (
    memory_id bigint, content text, type text, tier text, salience double precision, confidence double precision,
    title text, tags jsonb, category text, source text, url text, site text, related_urls jsonb, project text,
    context jsonb, metadata jsonb, pinned boolean, part_of bigint, session text, occurred_at timestamptz,
    expires_at timestamptz, content_hash text, duplicate_hash text, terms jsonb, term_count integer
)
order by new.duplicate_hash
on conflict on constraint memories_duplicate_key do nothing
returning memory_id;

-- name: find_duplicates
-- Find the memories that equal new ones.
select memory_id, duplicate_hash
from memories
where org_id = :org_id and namespace_id = :namespace_id and duplicate_hash = any(:hashes::bytea[]);

-- name: touch_memories
-- Note that memories were sent again; one that had expired lives on until the expiry it was sent with. Parts follow.
update memories
set last_accessed_at = greatest(memories.last_accessed_at, :now),
    expires_at = case when memories.expires_at <= :now then sent.expires_at else memories.expires_at end
from (
    select again.memory_id, again.expires_at
    from unnest(:ids::bigint[], :expiries::timestamptz[]) as again (memory_id, expires_at)
    union all
    select part.memory_id, again.expires_at
    from unnest(:ids, :expiries) as again (memory_id, expires_at)
    join memories part on part.org_id = :org_id and part.part_of = again.memory_id
) sent
where memories.org_id = :org_id and memories.memory_id = sent.memory_id;

-- name: read_memories
-- Read whole memories by id.
select m.*, n.name as namespace
from memories m
join namespaces n on n.org_id = m.org_id and n.namespace_id = m.namespace_id
where m.org_id = :org_id and m.memory_id = any(:ids::bigint[]);

-- name: lock_memory
-- Read one whole memory and keep others from changing it until the transaction ends.
select m.*, n.name as namespace
from memories m
join namespaces n on n.org_id = m.org_id and n.namespace_id = m.namespace_id
where m.org_id = :org_id and m.memory_id = :memory_id
for update of m;

-- name: read_candidates
-- Read what the scores of candidates are made of, in columns, in the order asked: a row each costs the reader more than
-- the query. Numbers and times (microseconds since 2000) are packed, last whether a newer memory had contradicted it and
-- whether one had taken its place at the moment that the recall looks back from; a context is there only if it may name
-- an author. Episodes are absent: they pass activation on to their members and are not answered themselves. With a
-- query's vector: also what dampens candidates for queries near it, as packed ids and marks, and how near the `compared`
-- ones are to it, as packed ids and cosines.
select string_agg(
           int8send(asked.position) || int8send(m.memory_id) || int8send(coalesce(m.part_of, 0))
           || float8send(m.salience) || float8send(m.utility)
           || int8send(m.access_count) || int8send(m.useful_count) || int8send(m.term_count)
           || timestamptz_send(m.occurred_at) || timestamptz_send(m.created_at) || timestamptz_send(m.last_accessed_at)
           || int8send(exists (
                  select from edges e
                  join memories newer on newer.org_id = :org_id and newer.memory_id = e.source_id
                  where e.org_id = :org_id and e.target_id = m.memory_id and e.type = 'Contradicts'
                    and newer.state = 'active' and newer.occurred_at <= :viewpoint
                    and (newer.expires_at is null or newer.expires_at > :viewpoint)
                    and (newer.occurred_at, newer.memory_id) > (m.occurred_at, m.memory_id)
              )::integer::bigint)
           || int8send((m.state = 'superseded' and coalesce((
                  select bool_or(
                      newer.state in ('active', 'superseded') and newer.occurred_at <= :viewpoint
                      and (newer.expires_at is null or newer.expires_at > :viewpoint)
                  )
                  from edges e
                  join memories newer on newer.org_id = :org_id and newer.memory_id = e.source_id
                  where e.org_id = :org_id and e.target_id = m.memory_id and e.type = 'Supersedes'
              ), true))::integer::bigint),
           ''::bytea order by asked.position) as numbers,
       array_agg(m.tier order by asked.position) as tiers,
       array_agg(m.session order by asked.position) as sessions,
       array_agg(m.url order by asked.position) as urls,
       array_agg(m.site order by asked.position) as sites,
       array_agg(left(m.content, 48) order by asked.position) as openings,
       jsonb_agg(case when m.context ?| :author_keys::text[] then m.context end order by asked.position) as contexts,
       (select string_agg(int8send(d.memory_id) || int8send(d.marks::bigint), ''::bytea)
        from dampenings d
        where :dampened_by::halfvec is not null and d.org_id = :org_id and d.memory_id = any(:ids)
          and d.embedding <=> :dampened_by <= :dampening_distance) as dampenings,
       (select string_agg(int8send(near.memory_id) || float8send(near.cosine), ''::bytea)
        from (select e.memory_id, max(1 - (e.embedding <=> :vector::halfvec)) as cosine
              from embeddings e
              where e.org_id = :org_id and e.namespace_id = :namespace_id and e.memory_id = any(:compared::bigint[])
              group by e.memory_id) near) as cosines
from unnest(:ids::bigint[]) with ordinality as asked (memory_id, position)
join memories m on m.org_id = :org_id and m.memory_id = asked.memory_id and m.namespace_id = :namespace_id
where not (m.type = 'Episodic' and m.source is not distinct from 'system');

-- name: list_hidden_ids
-- Pack the ids that recall leaves out unless asked: archived, quarantined and expired memories.
select string_agg(int8send(memory_id), ''::bytea)
from memories
where org_id = :org_id and namespace_id = :namespace_id
  and (state in ('archived', 'quarantined') or expires_at is not null)
  and (state in ('archived', 'quarantined') or expires_at <= :now);

-- name: list_matching_ids
-- Pack the ids of the memories that pass the filters, newest first.
select string_agg(int8send(memory_id), ''::bytea order by memory_id desc)
from memories
where org_id = :org_id and namespace_id = :namespace_id
  and state = any(:states::text[])
  and (:with_expired or expires_at is null or expires_at > :now)
  and (:with_parts or part_of is null)
  and (cardinality(:types::text[]) = 0 or type = any(:types))
  and (cardinality(:tiers::text[]) = 0 or tier = any(:tiers))
  and (cardinality(:tags_any::text[]) = 0 or tags && :tags_any)
  and tags @> :tags_all::text[]
  and not tags && :tags_none::text[]
  and (:category::text is null or category = :category)
  and (:source::text is null or source = :source)
  and (:site::text is null or site = :site)
  and (:url::text is null or url = :url)
  and (:project::text is null or project is null or project = :project)
  and context @> :context::jsonb
  and (:created_after::timestamptz is null or created_at >= :created_after)
  and (:created_before::timestamptz is null or created_at < :created_before)
  and (:occurred_after::timestamptz is null or occurred_at >= :occurred_after)
  and (:occurred_before::timestamptz is null or occurred_at < :occurred_before)
  and (:salience_min::double precision is null or salience >= :salience_min)
  and (:salience_max::double precision is null or salience <= :salience_max);

-- name: list_ids_by_salience
-- Order ids by salience, then newest first.
select memory_id
from memories
where org_id = :org_id and namespace_id = :namespace_id and memory_id = any(:ids::bigint[])
order by salience desc, memory_id desc
limit :limit offset :offset;

-- name: list_page_ids
-- Find the url's own memories, then its site's, newest first; those in states that do not pass take up no place.
select memory_id, url is not distinct from :url::text as same_page
from memories
where org_id = :org_id and namespace_id = :namespace_id
  and (url = :url or site = :site)
  and state = any(:states::text[])
order by same_page desc, memory_id desc
limit :limit;

-- name: find_temporal_neighbors
-- For each new memory find the one before and the one after it in its conversation: of the same session, or without
-- a session within the given minutes. Candidates are stored memories; a document stands for its parts.
select new.new_id, near.memory_id, near.session, near.occurred_at, near.is_earlier
from unnest(:new_ids::bigint[], :sessions::text[], :occurred::timestamptz[])
    as new (new_id, session, occurred_at)
cross join lateral (
    (select m.memory_id, m.session, m.occurred_at, true as is_earlier
     from memories m
     where m.org_id = :org_id and m.namespace_id = :namespace_id and m.state = 'active' and m.part_of is null
       and m.source is distinct from 'system'
       and m.session = new.session and m.occurred_at <= new.occurred_at
     order by m.occurred_at desc, m.memory_id desc
     limit 1)
    union all
    (select m.memory_id, m.session, m.occurred_at, false
     from memories m
     where m.org_id = :org_id and m.namespace_id = :namespace_id and m.state = 'active' and m.part_of is null
       and m.source is distinct from 'system'
       and m.session = new.session and m.occurred_at > new.occurred_at
     order by m.occurred_at, m.memory_id
     limit 1)
    union all
    (select m.memory_id, m.session, m.occurred_at, true
     from memories m
     where m.org_id = :org_id and m.namespace_id = :namespace_id and m.state = 'active' and m.part_of is null
       and m.source is distinct from 'system'
       and new.session is null and m.session is null
       and m.occurred_at between new.occurred_at - make_interval(mins => :minutes) and new.occurred_at
     order by m.occurred_at desc, m.memory_id desc
     limit 1)
) near;

-- name: update_memory
-- Write a memory's new version.
update memories
set content = :content, type = :type, tier = :tier, salience = :salience, confidence = :confidence, title = :title,
    tags = :tags, category = :category, source = :source, url = :url, site = :site, related_urls = :related_urls,
    project = :project, context = :context, metadata = :metadata, pinned = :pinned, session = :session,
    occurred_at = :occurred_at, expires_at = :expires_at, updated_at = :now, version = :version,
    content_hash = :content_hash, duplicate_hash = :duplicate_hash, terms = :terms, term_count = :term_count,
    last_accessed_at = greatest(last_accessed_at, :now)
where org_id = :org_id and memory_id = :memory_id;

-- name: set_memory_state
-- Move memories between states (active, archived).
update memories
set state = :state, updated_at = :now
where org_id = :org_id and memory_id = any(:ids::bigint[]);

-- name: list_part_ids
-- List the parts of a document in reading order.
select memory_id
from memories
where org_id = :org_id and part_of = :memory_id
order by memory_id;

-- name: list_documents
-- Find the documents that some of the memories are parts of.
select memory_id, part_of
from memories
where org_id = :org_id and memory_id = any(:ids::bigint[]) and part_of is not null;

-- name: lock_memories
-- Lock memories in order; from then on nobody adds parts to them.
select memory_id
from memories
where org_id = :org_id and memory_id = any(:ids::bigint[])
order by memory_id
for update;

-- name: lock_deletable
-- Lock the named memories and their parts, in order, and read what their traces in other tables are found by.
select memory_id, namespace_id, terms, term_count
from memories
where org_id = :org_id and (memory_id = any(:ids::bigint[]) or part_of = any(:ids))
order by memory_id
for update;

-- name: delete_memories
-- Delete memories; edges and events go with them.
delete from memories
where org_id = :org_id and memory_id = any(:ids::bigint[]);

-- name: list_ids_in_namespaces
-- Keep those ids that exist, with the names of their namespaces.
select m.memory_id, m.namespace_id, n.name as namespace
from memories m
join namespaces n on n.org_id = m.org_id and n.namespace_id = m.namespace_id
where m.org_id = :org_id and m.memory_id = any(:ids::bigint[]);

-- name: read_terms
-- Read the hashed terms of memories.
select memory_id, terms
from memories
where org_id = :org_id and memory_id = any(:ids::bigint[]);

-- name: list_ids_with_terms
-- Pack the ids of the memories that hold one of the terms.
select string_agg(int8send(memory_id), ''::bytea)
from (
    select distinct memory_id
    from postings
    where org_id = :org_id and namespace_id = :namespace_id and term = any(:terms::integer[])
) holding;

-- name: record_accesses
-- Raise the access counts of recalled memories; rows are locked in order, so that two writers never deadlock.
with locked as (
    select memory_id
    from memories
    where org_id = :org_id and memory_id = any(:ids::bigint[])
    order by memory_id
    for no key update
)
update memories m
set access_count = m.access_count + recalled.count, last_accessed_at = greatest(m.last_accessed_at, :now)
from unnest(:ids::bigint[], :counts::bigint[]) as recalled (memory_id, count), locked
where m.org_id = :org_id and m.memory_id = recalled.memory_id and locked.memory_id = m.memory_id;

-- name: teach_memory
-- Write what feedback taught about a memory, whose row the transaction has locked.
update memories
set utility = :utility, salience = :salience, useful_count = useful_count + :useful
where org_id = :org_id and memory_id = :memory_id;
