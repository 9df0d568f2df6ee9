-- name: find_unindexed_namespaces
-- Find large namespaces with vectors outside the graph index, in no order: no tenant comes first.
select org_id, namespace_id
from find_unindexed_namespaces(more_embeddings_than => :more_embeddings_than, wanted => :wanted);

-- name: find_outlived_answers
-- Find organizations that keep answers for idempotency keys past their lifetime.
select org_id
from find_outlived_answers(older_than => :older_than, wanted => :wanted);

-- name: delete_outlived_answers
-- Delete an organization's answers for idempotency keys past their lifetime.
delete from idempotent_answers
where org_id = :org_id and created_at <= :older_than;

-- name: find_outlived_recalls
-- Find organizations that keep recalls past their lifetime.
select org_id
from find_outlived_recalls(older_than => :older_than, wanted => :wanted);
