-- name: read_policy
-- Read the policy that a namespace was given.
select enabled, half_life_days, prune_threshold, max_memories, delete_archived_after_days
from namespace_policies
where org_id = :org_id and namespace_id = :namespace_id;

-- name: write_policy
-- Give a namespace its policy, in place of the one that it had.
insert into namespace_policies (
    org_id, namespace_id, enabled, half_life_days, prune_threshold, max_memories, delete_archived_after_days, updated_at
)
values (
    :org_id, :namespace_id, :enabled, :half_life_days, :prune_threshold, :max_memories, :delete_archived_after_days, :now
)
on conflict on constraint namespace_policies_pkey do update
set enabled = excluded.enabled, half_life_days = excluded.half_life_days, prune_threshold = excluded.prune_threshold,
    max_memories = excluded.max_memories, delete_archived_after_days = excluded.delete_archived_after_days,
    updated_at = excluded.updated_at;

-- name: find_organizations_with_expired_memories
-- Find organizations that keep memories whose time of grace after expiry is over.
select org_id
from find_organizations_with_expired_memories(expired_by => :expired_by, wanted => :wanted);
