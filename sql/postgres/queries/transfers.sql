-- name: find_last_memory_id
-- Find the newest memory of a namespace: an export goes so far.
select coalesce(max(memory_id), 0)
from memories
where org_id = :org_id and namespace_id = :namespace_id;

-- name: count_transferable
-- Count what an export of a namespace is about to hold; parts are shown inside their documents.
select
    (select count(*) from memories
     where org_id = :org_id and namespace_id = :namespace_id and part_of is null and memory_id <= :last) as memories,
    (select count(*) from memory_events v
     join memories m on m.org_id = :org_id and m.memory_id = v.memory_id and m.namespace_id = :namespace_id
     where v.org_id = :org_id and coalesce(m.part_of, m.memory_id) <= :last) as events,
    (select count(*) from summary_members r
     join summaries s on s.org_id = :org_id and s.summary_id = r.summary_id and s.namespace_id = :namespace_id
     where r.org_id = :org_id and r.summary_id <= :last and r.member_id <= :last) as members,
    (select count(*) from edges e
     join memories s on s.org_id = :org_id and s.memory_id = e.source_id
     where e.org_id = :org_id and e.namespace_id = :namespace_id and e.source_id <= :last and e.target_id <= :last
       and not (e.type = 'PartOf' and s.part_of is not distinct from e.target_id)) as edges,
    (select count(*) from dampenings
     where org_id = :org_id and namespace_id = :namespace_id and memory_id <= :last) as dampenings,
    (select count(*) from refused_merges r
     join memories m on m.org_id = :org_id and m.memory_id = r.memory_id and m.namespace_id = :namespace_id
     where r.org_id = :org_id and r.memory_id <= :last) as refused_merges,
    (select count(*) from intentions where org_id = :org_id and namespace_id = :namespace_id) as intentions;

-- name: list_whole_memories
-- Read a page of a namespace's memories by id, those that are parts left out, with what made those that are summaries.
select m.*, s.detector, s.cosine as summary_cosine, s.writer, s.scope, s.started_at, s.made_at,
    s.updated_at as summary_updated_at, s.adopted_at
from memories m
left join summaries s on s.org_id = :org_id and s.summary_id = m.memory_id
where m.org_id = :org_id and m.namespace_id = :namespace_id and m.memory_id > :after and m.memory_id <= :last
  and m.part_of is null
order by m.memory_id
limit :limit;

-- name: list_parts_with_edges
-- Read the parts of documents in reading order, each with the edge that joins it to its document.
select p.*, e.weight as part_weight, e.created_at as joined_at
from memories p
left join edges e on e.org_id = :org_id and e.source_id = p.memory_id and e.target_id = p.part_of and e.type = 'PartOf'
where p.org_id = :org_id and p.part_of = any(:documents::bigint[])
order by p.part_of, p.memory_id;

-- name: list_namespace_events
-- Read a page of the histories of a namespace's memories, by memory and number.
select v.memory_id, v.event_number, v.event, v.version, v.at, v.key_id, v.fields
from memory_events v
join memories m on m.org_id = :org_id and m.memory_id = v.memory_id and m.namespace_id = :namespace_id
where v.org_id = :org_id and (v.memory_id, v.event_number) > (:after_memory::bigint, :after_number::integer)
  and coalesce(m.part_of, m.memory_id) <= :last
order by v.memory_id, v.event_number
limit :limit;

-- name: list_namespace_edges
-- Read a page of a namespace's edges by their ends and type; those of parts to their documents are left out.
select e.source_id, e.target_id, e.type, e.weight, e.created_at, e.linked
from edges e
join memories s on s.org_id = :org_id and s.memory_id = e.source_id
where e.org_id = :org_id and e.namespace_id = :namespace_id and e.source_id <= :last and e.target_id <= :last
  and (e.source_id, e.target_id, e.type) > (:after_source::bigint, :after_target::bigint, :after_type::text)
  and not (e.type = 'PartOf' and s.part_of is not distinct from e.target_id)
order by e.source_id, e.target_id, e.type
limit :limit;

-- name: import_memories
-- Store memories as they were exported; one whose id or whose duplicate is there already is passed over. A document
-- comes before its parts.
insert into memories (
    org_id, namespace_id, memory_id, content, type, tier, state, salience, utility, confidence, title, tags, category,
    source, url, site, related_urls, project, context, metadata, pinned, part_of, session, occurred_at, created_at,
    updated_at, last_accessed_at, expires_at, tier_since, access_count, useful_count, version, content_hash,
    duplicate_hash, terms, term_count
)
select
    :org_id, :namespace_id, new.memory_id, new.content, new.type, new.tier, new.state, new.salience, new.utility,
    new.confidence, new.title, array(select jsonb_array_elements_text(new.tags)), new.category, new.source, new.url,
    new.site, array(select jsonb_array_elements_text(new.related_urls)), new.project, new.context,
    nullif(new.metadata, 'null'::jsonb), new.pinned, new.part_of, new.session, new.occurred_at, new.created_at,
    new.updated_at, new.last_accessed_at, new.expires_at, new.tier_since, new.access_count, new.useful_count,
    new.version, decode(new.content_hash, 'hex'), decode(new.duplicate_hash, 'hex'),
    array(select jsonb_array_elements_text(new.terms)::integer), new.term_count
from jsonb_to_recordset(:memories::jsonb) as new (
    memory_id bigint, content text, type text, tier text, state text, salience double precision,
    utility double precision, confidence double precision, title text, tags jsonb, category text, source text, url text,
    site text, related_urls jsonb, project text, context jsonb, metadata jsonb, pinned boolean, part_of bigint,
    session text, occurred_at timestamptz, created_at timestamptz, updated_at timestamptz, last_accessed_at timestamptz,
    expires_at timestamptz, tier_since timestamptz, access_count bigint, useful_count bigint, version integer,
    content_hash text, duplicate_hash text, terms jsonb, term_count integer
)
order by new.part_of is not null, new.duplicate_hash
on conflict do nothing
returning memory_id;

-- name: import_events
-- Add events to the histories of a namespace's memories as they were exported; numbers that are there are passed over.
insert into memory_events (org_id, memory_id, event_number, event, version, at, key_id, fields)
select :org_id, new.memory_id, new.event_number, new.event, new.version, new.at, new.key_id, new.fields
from jsonb_to_recordset(:events::jsonb) as new (
    memory_id bigint, event_number integer, event text, version integer, at timestamptz, key_id uuid, fields jsonb
)
join memories m on m.org_id = :org_id and m.memory_id = new.memory_id and m.namespace_id = :namespace_id
order by new.memory_id, new.event_number
on conflict on constraint memory_events_pkey do nothing
returning memory_id, event_number;

-- name: import_edges
-- Join a namespace's memories as they were when exported; edges that are there are passed over.
insert into edges (org_id, namespace_id, source_id, target_id, type, weight, created_at, linked)
select :org_id, :namespace_id, new.source_id, new.target_id, new.type, new.weight, new.created_at, new.linked
from unnest(
    :sources::bigint[], :targets::bigint[], :types::text[], :weights::double precision[], :times::timestamptz[],
    :linked::boolean[]
) as new (source_id, target_id, type, weight, created_at, linked)
join memories s on s.org_id = :org_id and s.memory_id = new.source_id and s.namespace_id = :namespace_id
join memories t on t.org_id = :org_id and t.memory_id = new.target_id and t.namespace_id = :namespace_id
order by new.source_id, new.target_id, new.type
on conflict on constraint edges_pkey do nothing
returning source_id, target_id, type;

-- name: list_known_edges
-- Keep those edges that are there.
select e.source_id, e.target_id, e.type
from unnest(:sources::bigint[], :targets::bigint[], :types::text[]) as asked (source_id, target_id, type)
join edges e on e.org_id = :org_id and e.source_id = asked.source_id and e.target_id = asked.target_id
    and e.type = asked.type;

-- name: list_namespace_members
-- Read a page of the members of a namespace's summaries.
select r.summary_id, r.member_id, r.state_before, r.cosine, r.joined_at
from summary_members r
join summaries s on s.org_id = :org_id and s.summary_id = r.summary_id and s.namespace_id = :namespace_id
where r.org_id = :org_id and r.summary_id <= :last and r.member_id <= :last
  and (r.summary_id, r.member_id) > (:after_summary::bigint, :after_member::bigint)
order by r.summary_id, r.member_id
limit :limit;

-- name: import_summaries
-- Note what made memories that were just imported.
insert into summaries (
    org_id, summary_id, namespace_id, detector, cosine, writer, scope, started_at, made_at, updated_at, adopted_at
)
select
    :org_id, new.summary_id, :namespace_id, new.detector, new.cosine, new.writer, new.scope, new.started_at,
    new.made_at, new.updated_at, new.adopted_at
from jsonb_to_recordset(:summaries::jsonb) as new (
    summary_id bigint, detector text, cosine double precision, writer text, scope text, started_at timestamptz,
    made_at timestamptz, updated_at timestamptz, adopted_at timestamptz
);

-- name: import_members
-- Add the members of a namespace's summaries as they were exported; those that are there are passed over.
insert into summary_members (org_id, summary_id, member_id, state_before, cosine, joined_at)
select :org_id, new.summary_id, new.member_id, new.state_before, new.cosine, new.joined_at
from unnest(
    :summaries::bigint[], :members::bigint[], :states::text[], :cosines::double precision[], :times::timestamptz[]
) as new (summary_id, member_id, state_before, cosine, joined_at)
join summaries s on s.org_id = :org_id and s.summary_id = new.summary_id and s.namespace_id = :namespace_id
join memories m on m.org_id = :org_id and m.memory_id = new.member_id and m.namespace_id = :namespace_id
order by new.summary_id, new.member_id
on conflict on constraint summary_members_pkey do nothing
returning summary_id, member_id;

-- name: list_known_members
-- Keep those members that are there.
select r.summary_id, r.member_id
from unnest(:summaries::bigint[], :members::bigint[]) as asked (summary_id, member_id)
join summary_members r on r.org_id = :org_id and r.summary_id = asked.summary_id and r.member_id = asked.member_id;

-- name: list_namespace_refusals
-- Read a page of what must not be merged again in a namespace.
select r.refusal_id, r.memory_id, r.detector, r.at
from refused_merges r
join memories m on m.org_id = :org_id and m.memory_id = r.memory_id and m.namespace_id = :namespace_id
where r.org_id = :org_id and r.memory_id <= :last
  and (r.refusal_id, r.memory_id) > (:after_refusal::bigint, :after_memory::bigint)
order by r.refusal_id, r.memory_id
limit :limit;

-- name: import_refusals
-- Remember what must not be merged again, of a namespace's memories; what is there is passed over.
insert into refused_merges (org_id, refusal_id, memory_id, detector, at)
select :org_id, new.refusal_id, new.memory_id, new.detector, new.at
from unnest(:refusals::bigint[], :ids::bigint[], :detectors::text[], :times::timestamptz[])
    as new (refusal_id, memory_id, detector, at)
join memories m on m.org_id = :org_id and m.memory_id = new.memory_id and m.namespace_id = :namespace_id
on conflict on constraint refused_merges_pkey do nothing
returning refusal_id, memory_id;
