-- name: insert_recalls
-- Store answered recalls; one that is there already, or whose namespace is gone, is passed over. The results of all are
-- one document, in the same order.
insert into recalls (org_id, recall_id, namespace_id, key_id, query, embedding, results, at)
select :org_id, new.recall_id, new.namespace_id, new.key_id, new.query, new.embedding,
    :results::jsonb -> (new.position::integer - 1), new.at
from unnest(
    :recall_ids::bigint[], :namespace_ids::bigint[], :key_ids::uuid[], :queries::text[], :embeddings::halfvec[],
    :times::timestamptz[]
) with ordinality as new (recall_id, namespace_id, key_id, query, embedding, at, position)
join namespaces n on n.org_id = :org_id and n.namespace_id = new.namespace_id
order by new.recall_id
on conflict on constraint recalls_pkey do nothing
returning recall_id;

-- name: asked_before
-- Say whether the same key asked much the same in the same namespace a moment ago.
select exists (
    select
    from recalls
    where org_id = :org_id and namespace_id = :namespace_id and key_id is not distinct from :key_id::uuid
      and at between :since and :now
      and embedding <=> :embedding <= :within
);

-- name: find_recall
-- Read one answered recall.
select recall_id, namespace_id, query, embedding, results
from recalls
where org_id = :org_id and recall_id = :recall_id;

-- name: mark_result
-- Note that feedback was given for a result of a recall, unless it was before.
update recalls
set marked = marked || :memory_id::bigint
where org_id = :org_id and recall_id = :recall_id and not :memory_id = any(marked);

-- name: delete_outlived_recalls
-- Delete an organization's recalls past their lifetime.
delete from recalls
where org_id = :org_id and at <= :older_than;
