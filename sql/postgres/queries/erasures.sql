-- name: withdraw_namespace
-- Take a namespace's name away, so that no call finds it any more: names that clients choose begin otherwise. The next
-- write to the name makes another namespace.
update namespaces
set name = '~' || namespace_id || '/' || name
where org_id = :org_id and name = :name
returning namespace_id, memory_count;

-- name: find_withdrawn_namespace
-- Find a namespace that had this name and is being erased.
select namespace_id
from namespaces
where org_id = :org_id and name = '~' || namespace_id || '/' || :name
limit 1;

-- name: withdraw_all_namespaces
-- Take the names of all namespaces away.
update namespaces
set name = '~' || namespace_id || '/' || name
where org_id = :org_id and not starts_with(name, '~');

-- name: list_all_namespace_ids
-- List every namespace of an organization, also those that are being erased.
select namespace_id
from namespaces
where org_id = :org_id
order by namespace_id;

-- name: list_ids_to_erase
-- Read the ids of some memories of a namespace, the oldest first.
select memory_id
from memories
where org_id = :org_id and namespace_id = :namespace_id
order by memory_id
limit :limit;

-- name: erase_recalls
-- Delete some of a namespace's recalls: they hold its queries.
delete from recalls
where org_id = :org_id and recall_id in (
    select r.recall_id
    from recalls r
    where r.org_id = :org_id and r.namespace_id = :namespace_id
    limit :limit
);

-- name: lock_namespace_to_erase
-- Wait for the writers of a namespace and keep others out; its former name.
select substr(name, strpos(name, '/') + 1) as name
from namespaces
where org_id = :org_id and namespace_id = :namespace_id
for update;

-- name: erase_postings
-- Delete what is left of a namespace in the lexical index.
delete from postings
where org_id = :org_id and namespace_id = :namespace_id;

-- name: erase_embeddings
-- Delete what is left of a namespace's vectors.
delete from embeddings
where org_id = :org_id and namespace_id = :namespace_id;

-- name: erase_answers
-- Delete the answers kept for idempotency keys that name a namespace, from before it was erased: they may quote it.
delete from idempotent_answers
where org_id = :org_id and created_at <= :until and position(:mention::bytea in answer) > 0;

-- name: erase_waiting_job
-- Delete the job that would have finished an erasure which is finished.
delete from jobs
where org_id = :org_id and kind = :kind and key = :key and state = 'queued';

-- name: erase_namespace
-- Delete a namespace; what still hangs on it goes with it.
delete from namespaces
where org_id = :org_id and namespace_id = :namespace_id;

-- name: count_namespace_rows
-- Count a namespace's rows in every table that holds any.
select
    (select count(*) from namespaces where org_id = :org_id and namespace_id = :namespace_id) as namespaces,
    (select count(*) from namespace_policies
     where org_id = :org_id and namespace_id = :namespace_id) as namespace_policies,
    (select count(*) from memories where org_id = :org_id and namespace_id = :namespace_id) as memories,
    (select count(*) from memory_events v
     join memories m on m.org_id = :org_id and m.memory_id = v.memory_id and m.namespace_id = :namespace_id
     where v.org_id = :org_id) as memory_events,
    (select count(*) from edges where org_id = :org_id and namespace_id = :namespace_id) as edges,
    (select count(*) from postings where org_id = :org_id and namespace_id = :namespace_id) as postings,
    (select count(*) from embeddings where org_id = :org_id and namespace_id = :namespace_id) as embeddings,
    (select count(*) from staged_embeddings
     where org_id = :org_id and namespace_id = :namespace_id) as staged_embeddings,
    (select count(*) from recalls where org_id = :org_id and namespace_id = :namespace_id) as recalls,
    (select count(*) from dampenings where org_id = :org_id and namespace_id = :namespace_id) as dampenings,
    (select count(*) from summaries where org_id = :org_id and namespace_id = :namespace_id) as summaries,
    (select count(*) from summary_members r
     join summaries s on s.org_id = :org_id and s.summary_id = r.summary_id and s.namespace_id = :namespace_id
     where r.org_id = :org_id) as summary_members,
    (select count(*) from refused_merges r
     join memories m on m.org_id = :org_id and m.memory_id = r.memory_id and m.namespace_id = :namespace_id
     where r.org_id = :org_id) as refused_merges,
    (select count(*) from consolidation_runs where org_id = :org_id and namespace_id = :namespace_id) as consolidation_runs,
    (select count(*) from intentions where org_id = :org_id and namespace_id = :namespace_id) as intentions,
    (select count(*) from jobs where org_id = :org_id and namespace_id = :namespace_id) as jobs,
    (select count(*) from idempotent_answers
     where org_id = :org_id and created_at <= :until and position(:mention::bytea in answer) > 0) as idempotent_answers;

-- name: count_organization_rows
-- Count an organization's rows in every table.
select
    (select count(*) from organizations where org_id = :org_id) as organizations,
    (select count(*) from accounts where org_id = :org_id) as accounts,
    (select count(*) from api_keys where org_id = :org_id) as api_keys,
    (select count(*) from namespaces where org_id = :org_id) as namespaces,
    (select count(*) from namespace_policies where org_id = :org_id) as namespace_policies,
    (select count(*) from memories where org_id = :org_id) as memories,
    (select count(*) from memory_events where org_id = :org_id) as memory_events,
    (select count(*) from edges where org_id = :org_id) as edges,
    (select count(*) from postings where org_id = :org_id) as postings,
    (select count(*) from embeddings where org_id = :org_id) as embeddings,
    (select count(*) from staged_embeddings where org_id = :org_id) as staged_embeddings,
    (select count(*) from recalls where org_id = :org_id) as recalls,
    (select count(*) from dampenings where org_id = :org_id) as dampenings,
    (select count(*) from summaries where org_id = :org_id) as summaries,
    (select count(*) from summary_members where org_id = :org_id) as summary_members,
    (select count(*) from refused_merges where org_id = :org_id) as refused_merges,
    (select count(*) from consolidation_runs where org_id = :org_id) as consolidation_runs,
    (select count(*) from intentions where org_id = :org_id) as intentions,
    (select count(*) from jobs where org_id = :org_id) as jobs,
    (select count(*) from idempotent_answers where org_id = :org_id) as idempotent_answers;

-- name: revoke_all_keys
-- End every key of an organization.
update api_keys set revoked_at = coalesce(revoked_at, :now)
where org_id = :org_id;

-- name: erase_organization
-- Delete an organization; its accounts, keys, jobs, answers and whatever else is left go with it.
delete from organizations
where org_id = :org_id;
