-- Organizations, their accounts and their keys, and the two roles that everything else relies on.

create extension if not exists vector;

-- memoria_app is the role of the running service: it owns nothing and row-level security binds it.
-- memoria_lookup owns the few functions that read before the tenant is known; nobody can log in as it.
-- Roles belong to the whole cluster, so another database's migration may create them at the same moment.
do $$
begin
    begin
        if not exists (select from pg_roles where rolname = 'memoria_app') then
            create role memoria_app login nosuperuser nocreatedb nocreaterole;
        end if;
    exception when duplicate_object or unique_violation then
        null;
    end;
    begin
        if not exists (select from pg_roles where rolname = 'memoria_lookup') then
            create role memoria_lookup nologin nosuperuser nocreatedb nocreaterole;
        end if;
    exception when duplicate_object or unique_violation then
        null;
    end;
end
$$;

-- The owner of the tables connects and then becomes memoria_app, and hands functions over to memoria_lookup. It may
-- become either role but does not inherit their rights (Postgres 15 cannot say so), so that the policies of
-- memoria_lookup are not its own. A superuser may do all this anyway, and an administrator may have created the roles and
-- granted them beforehand.
do $$
declare
    needed text;
    manner text := case when current_setting('server_version_num')::int >= 160000 then ' with inherit false' else '' end;
begin
    if (select rolsuper from pg_roles where rolname = current_user) then
        return;
    end if;
    foreach needed in array array['memoria_app', 'memoria_lookup'] loop
        begin
            execute format('grant %I to %I', needed, current_user) || manner;
        exception when insufficient_privilege then
            if not pg_has_role(current_user, needed, 'MEMBER') then
                raise exception 'the role % exists already: an administrator must grant it to %', needed, current_user;
            end if;
        end;
    end loop;
end
$$;

do $$
begin
    if exists (select from pg_roles where rolname in ('memoria_app', 'memoria_lookup') and (rolsuper or rolbypassrls)) then
        raise exception 'the roles memoria_app and memoria_lookup must be bound by row-level security';
    end if;
end
$$;

revoke create on schema public from public;
grant usage on schema public to memoria_app, memoria_lookup;

create table organizations (
    org_id uuid not null,
    name text not null,
    own_namespace text not null,
    rate_per_second double precision not null default 20,
    burst integer not null default 100,
    created_at timestamptz not null default now(),
    constraint organizations_pkey primary key (org_id),
    constraint organizations_own_namespace_key unique (own_namespace),
    constraint organizations_own_namespace_form check (own_namespace ~ '^org:[a-z0-9][a-z0-9-]*-[0-9a-f]{6}$'),
    constraint organizations_rate_positive check (rate_per_second > 0),
    constraint organizations_burst_positive check (burst > 0)
);

create table accounts (
    org_id uuid not null,
    account_id uuid not null,
    email text not null,
    name text,
    created_at timestamptz not null default now(),
    constraint accounts_pkey primary key (org_id, account_id),
    constraint accounts_organization_fkey foreign key (org_id) references organizations (org_id) on delete cascade,
    constraint accounts_email_key unique (email),
    constraint accounts_email_lower_case check (email = lower(email))
);

create table api_keys (
    org_id uuid not null,
    key_id uuid not null,
    key_hash bytea not null,
    key_prefix text not null,
    name text not null,
    scopes text[] not null,
    namespace_patterns text[] not null default '{}',
    default_namespace text,
    rate_per_second double precision,
    burst integer,
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    created_at timestamptz not null default now(),
    constraint api_keys_pkey primary key (org_id, key_id),
    constraint api_keys_organization_fkey foreign key (org_id) references organizations (org_id) on delete cascade,
    constraint api_keys_key_hash_key unique (key_hash),
    constraint api_keys_key_hash_sha256 check (octet_length(key_hash) = 32),
    constraint api_keys_scopes_known check (
        cardinality(scopes) > 0 and scopes <@ array['read', 'write', 'admin', 'reveal']
    ),
    constraint api_keys_rate_positive check (rate_per_second > 0),
    constraint api_keys_burst_positive check (burst > 0)
);

alter table organizations enable row level security;
alter table organizations force row level security;
alter table accounts enable row level security;
alter table accounts force row level security;
alter table api_keys enable row level security;
alter table api_keys force row level security;

create policy organizations_tenant on organizations
    using (org_id = (select nullif(current_setting('app.org_id', true), '')::uuid))
    with check (org_id = (select nullif(current_setting('app.org_id', true), '')::uuid));
create policy accounts_tenant on accounts
    using (org_id = (select nullif(current_setting('app.org_id', true), '')::uuid))
    with check (org_id = (select nullif(current_setting('app.org_id', true), '')::uuid));
create policy api_keys_tenant on api_keys
    using (org_id = (select nullif(current_setting('app.org_id', true), '')::uuid))
    with check (org_id = (select nullif(current_setting('app.org_id', true), '')::uuid));

grant select, insert, update on organizations, accounts, api_keys to memoria_app;

-- What must be read before the tenant is known. A forced policy binds the owner of the tables too, so these functions
-- belong to a role with a policy of its own, on exactly these tables and for reading only.
create policy organizations_lookup on organizations for select to memoria_lookup using (true);
create policy accounts_lookup on accounts for select to memoria_lookup using (true);
create policy api_keys_lookup on api_keys for select to memoria_lookup using (true);
grant select on organizations, accounts, api_keys to memoria_lookup;

create function find_api_key(wanted_hash bytea)
returns table (
    org_id uuid,
    key_id uuid,
    own_namespace text,
    scopes text[],
    namespace_patterns text[],
    default_namespace text,
    rate_per_second double precision,
    burst integer,
    expires_at timestamptz,
    revoked_at timestamptz
)
language sql stable security definer rows 1
set search_path = pg_catalog, public, pg_temp
as $$
    select k.org_id, k.key_id, o.own_namespace, k.scopes, k.namespace_patterns, k.default_namespace,
        coalesce(k.rate_per_second, o.rate_per_second), coalesce(k.burst, o.burst), k.expires_at, k.revoked_at
    from api_keys k join organizations o on o.org_id = k.org_id
    where k.key_hash = wanted_hash
$$;

-- The operator's commands name an account by its e-mail address.
create function find_organization(wanted_email text)
returns table (org_id uuid, own_namespace text)
language sql stable security definer rows 1
set search_path = pg_catalog, public, pg_temp
as $$
    select o.org_id, o.own_namespace
    from accounts a join organizations o on o.org_id = a.org_id
    where a.email = lower(wanted_email)
$$;

-- A new owner of a function must be allowed to create in its schema, for that moment.
grant create on schema public to memoria_lookup;
alter function find_api_key(bytea) owner to memoria_lookup;
alter function find_organization(text) owner to memoria_lookup;
revoke create on schema public from memoria_lookup;

revoke execute on function find_api_key(bytea), find_organization(text) from public;
grant execute on function find_api_key(bytea), find_organization(text) to memoria_app;
