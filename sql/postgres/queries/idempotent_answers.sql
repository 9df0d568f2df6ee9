-- name: find_idempotent_answer
-- Read the answer that a key got within its lifetime.
select request_digest, answer
from idempotent_answers
where org_id = :org_id and principal_id = :principal_id and key = :key and created_at > :not_before;

-- name: claim_idempotency_key
-- Take a key for this transaction; one taken by a transaction still open is waited for. An outlived one is taken over.
insert into idempotent_answers (org_id, principal_id, key, request_digest, created_at)
values (:org_id, :principal_id, :key, :request_digest, :now)
on conflict on constraint idempotent_answers_pkey do update
set request_digest = excluded.request_digest, created_at = excluded.created_at, answer = null
where idempotent_answers.created_at <= :not_before;

-- name: store_idempotent_answer
-- Keep the answer that repeats of this key will get.
update idempotent_answers
set answer = :answer
where org_id = :org_id and principal_id = :principal_id and key = :key;
