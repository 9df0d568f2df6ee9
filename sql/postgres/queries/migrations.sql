-- name: lock_migrations
-- Let one process migrate at a time (a session lock: it outlives each migration's transaction).
select pg_advisory_lock(7130911);

-- name: unlock_migrations
-- Let the next process migrate.
select pg_advisory_unlock(7130911);

-- name: create_migration_ledger
-- Make the table that remembers what was applied.
create table if not exists schema_migrations (
    name text constraint schema_migrations_pkey primary key,
    checksum text not null,
    applied_at timestamptz not null default now()
);

-- name: list_applied_migrations
-- Read the ledger.
select name, checksum from schema_migrations order by name;

-- name: share_migration_ledger
-- Let the running service read what was applied.
grant select on schema_migrations to memoria_app;

-- name: limit_lock_wait
-- Give up rather than queue behind a long transaction and block everyone who comes after.
set local lock_timeout = '4s';

-- name: record_migration
-- Remember one applied migration.
insert into schema_migrations (name, checksum) values (:name, :checksum);
