-- name: begin
-- Open a transaction that sees no tenant.
begin;

-- name: begin_tenant
-- Open a transaction confined to one organization, in one round trip; {org_id} is a UUID's own text.
begin; set local app.org_id = '{org_id}';

-- name: commit
-- Keep what the transaction did.
commit;

-- name: rollback
-- Undo what the transaction did.
rollback;

-- name: find_vector_schema
-- Find the schema that holds pgvector's types.
select n.nspname from pg_type t join pg_namespace n on n.oid = t.typnamespace where t.typname = 'halfvec';

-- name: ping
-- See whether the server answers.
select 1;
