-- Retention: what a namespace keeps for how long, since when a memory has been in its tier, and which organizations keep
-- memories that expired long ago.

create table namespace_policies (
    org_id uuid not null,
    namespace_id bigint not null,
    enabled boolean not null,
    half_life_days double precision[] not null,
    prune_threshold double precision not null,
    max_memories bigint,
    delete_archived_after_days integer,
    updated_at timestamptz not null,
    constraint namespace_policies_pkey primary key (org_id, namespace_id),
    constraint namespace_policies_namespace_fkey foreign key (org_id, namespace_id)
        references namespaces (org_id, namespace_id) on delete cascade,
    constraint namespace_policies_half_life_check check (cardinality(half_life_days) = 4)
);
comment on table namespace_policies is 'retention policies that were set; a namespace without one has the defaults of the engine';
comment on column namespace_policies.half_life_days is 'of the tiers Buffer, Episodic, Semantic and Core, in this order';

alter table namespace_policies enable row level security;
alter table namespace_policies force row level security;
create policy namespace_policies_tenant on namespace_policies
    using (org_id = (select nullif(current_setting('app.org_id', true), '')::uuid))
    with check (org_id = (select nullif(current_setting('app.org_id', true), '')::uuid));
grant select, insert, update, delete on namespace_policies to memoria_app;

alter table memories add column tier_since timestamptz;
comment on column memories.tier_since is 'when it moved into its tier; null for the tier that it started in';
create index memories_expiry_idx on memories (expires_at) where expires_at is not null;

create policy memories_lookup on memories for select to memoria_lookup using (true);
grant select (org_id, expires_at, pinned, part_of) on memories to memoria_lookup;

create function find_organizations_with_expired_memories(expired_by timestamptz, wanted integer)
returns table (org_id uuid)
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select distinct m.org_id
    from memories m
    where m.expires_at <= expired_by and not m.pinned and m.part_of is null
    limit wanted
$$;

grant create on schema public to memoria_lookup;
alter function find_organizations_with_expired_memories(timestamptz, integer) owner to memoria_lookup;
revoke create on schema public from memoria_lookup;

revoke execute on function find_organizations_with_expired_memories(timestamptz, integer) from public;
grant execute on function find_organizations_with_expired_memories(timestamptz, integer) to memoria_app;
