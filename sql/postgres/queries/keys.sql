-- name: insert_key
-- Store a key: its hash, never the key.
insert into api_keys (
    org_id, key_id, key_hash, key_prefix, name, scopes, namespace_patterns, default_namespace, rate_per_second, burst,
    expires_at, created_at
) values (
    :org_id, :key_id, :key_hash, :key_prefix, :name, :scopes, :namespace_patterns, :default_namespace,
    :rate_per_second, :burst, :expires_at, :created_at
);

-- name: find_key
-- Find whom a key belongs to and what it may do, before the tenant is known.
select
    org_id, key_id, own_namespace, scopes, namespace_patterns, default_namespace, rate_per_second, burst, expires_at,
    revoked_at
from find_api_key(:key_hash);

-- name: list_keys
-- List an organization's keys, oldest first.
select
    key_id, key_prefix, name, scopes, namespace_patterns, default_namespace, rate_per_second, burst, expires_at,
    revoked_at, last_used_at, created_at
from api_keys
where org_id = :org_id
order by created_at, key_id;

-- name: revoke_key
-- End a key for good; the first revocation's time stays.
update api_keys set revoked_at = coalesce(revoked_at, :revoked_at)
where org_id = :org_id and key_id = :key_id;

-- name: record_key_uses
-- Note when keys were last used, in one statement for many; an older time never replaces a newer one.
update api_keys k set last_used_at = used.at
from unnest(:key_ids::uuid[], :times::timestamptz[]) as used (key_id, at)
where k.org_id = :org_id and k.key_id = used.key_id and (k.last_used_at is null or k.last_used_at < used.at);
