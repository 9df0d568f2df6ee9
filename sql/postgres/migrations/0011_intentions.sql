-- Prospective memory: what somebody wants to be reminded of, and what triggers it.

create table intentions (
    org_id uuid not null,
    intention_id bigint not null,
    namespace_id bigint not null,
    content text not null,
    priority double precision not null,
    status text not null default 'pending',
    kind text not null,
    trigger jsonb not null,
    event text,
    embedding halfvec(384),
    next_at timestamptz,
    is_told boolean not null default false,
    triggered_count integer not null default 0,
    triggered_at timestamptz,
    completed_at timestamptz,
    expires_at timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    is_armed boolean not null generated always as (
        status = 'pending' or (status = 'triggered' and (not is_told or next_at is not null))
    ) stored,
    constraint intentions_pkey primary key (org_id, intention_id),
    constraint intentions_namespace_fkey foreign key (org_id, namespace_id)
        references namespaces (org_id, namespace_id) on delete cascade,
    constraint intentions_status_check check (status in ('pending', 'triggered', 'completed', 'cancelled', 'expired')),
    constraint intentions_kind_check check (kind in ('Keyword', 'Time', 'Semantic', 'Event')),
    constraint intentions_priority_check check (priority between 0 and 1)
);
comment on column intentions.event is 'the name of an Event trigger in the form that is compared';
comment on column intentions.embedding is 'the direction of a Semantic trigger''s text';
comment on column intentions.next_at is 'when the clock triggers it next';
comment on column intentions.is_told is 'a check or a recall has answered it since it was triggered';
comment on column intentions.is_armed is 'a check, a recall or the clock may still find it';

create index intentions_armed_idx on intentions (org_id, namespace_id) where is_armed;
create index intentions_listed_idx on intentions (org_id, namespace_id, priority desc, intention_id desc);
create index intentions_due_idx on intentions (next_at) where is_armed and next_at is not null;
create index intentions_expiry_idx on intentions (expires_at)
    where status in ('pending', 'triggered') and expires_at is not null;

alter table intentions enable row level security;
alter table intentions force row level security;
create policy intentions_tenant on intentions
    using (org_id = (select nullif(current_setting('app.org_id', true), '')::uuid))
    with check (org_id = (select nullif(current_setting('app.org_id', true), '')::uuid));
grant select, insert, update, delete on intentions to memoria_app;

-- What the clock must know before a tenant is chosen: whose intentions are due, or have expired.
create policy intentions_lookup on intentions for select to memoria_lookup using (true);
grant select (org_id, status, next_at, expires_at, is_armed) on intentions to memoria_lookup;

create function find_due_intentions(at timestamptz, wanted integer)
returns table (org_id uuid)
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select found.org_id
    from (
        select i.org_id
        from intentions i
        where i.is_armed and i.next_at <= at and (i.expires_at is null or i.expires_at > at)
        union
        select i.org_id
        from intentions i
        where i.status in ('pending', 'triggered') and i.expires_at <= at
    ) found
    limit wanted
$$;

grant create on schema public to memoria_lookup;
alter function find_due_intentions(timestamptz, integer) owner to memoria_lookup;
revoke create on schema public from memoria_lookup;
revoke execute on function find_due_intentions(timestamptz, integer) from public;
grant execute on function find_due_intentions(timestamptz, integer) to memoria_app;
