-- Learning: the recalls that feedback refers to, what unhelpful marks have dampened, and which edges a client has made.

create table recalls (
    org_id uuid not null,
    recall_id bigint not null,
    namespace_id bigint not null,
    key_id uuid,
    query text not null,
    embedding halfvec(384),
    results jsonb not null,
    marked bigint[] not null default '{}',
    at timestamptz not null,
    constraint recalls_pkey primary key (org_id, recall_id),
    constraint recalls_namespace_fkey foreign key (org_id, namespace_id)
        references namespaces (org_id, namespace_id) on delete cascade
);
comment on table recalls is 'answered recalls that were to teach, kept for a bounded time so that feedback can name them';
comment on column recalls.embedding is 'the direction of the query; null for a recall by page alone';
comment on column recalls.results is 'best first: [id, score, seed id, [[edge type, id reached], ...]] of each result';
comment on column recalls.marked is 'the results that feedback was given for: it counts once';

-- By one key in one namespace, the latest first: whether a question was asked before, a moment ago.
create index recalls_asked_idx on recalls (org_id, namespace_id, key_id, at desc);
create index recalls_at_idx on recalls (org_id, at);
create index recalls_outlived_idx on recalls (at);

create table dampenings (
    org_id uuid not null,
    memory_id bigint not null,
    dampening_id bigint not null,
    namespace_id bigint not null,
    query text not null,
    embedding halfvec(384) not null,
    marks smallint not null,
    updated_at timestamptz not null,
    constraint dampenings_pkey primary key (org_id, memory_id, dampening_id),
    constraint dampenings_memory_fkey foreign key (org_id, memory_id)
        references memories (org_id, memory_id) on delete cascade,
    constraint dampenings_marks_check check (marks > 0)
);
comment on table dampenings is 'for which queries a memory did not help: those whose vectors lie near this one';
comment on column dampenings.marks is 'unhelpful marks less helpful ones; from the second on each halves the score';

alter table namespaces add column has_dampenings boolean not null default false;
comment on column namespaces.has_dampenings is 'whether any was ever made: recalls of the others need not look';

alter table edges add column linked boolean not null default false;
comment on column edges.linked is 'made by a client: it outlives the edits that edges are computed again from';

do $$
declare
    tenant_table text;
begin
    foreach tenant_table in array array['recalls', 'dampenings'] loop
        execute format('alter table %I enable row level security', tenant_table);
        execute format('alter table %I force row level security', tenant_table);
        execute format(
            'create policy %I on %I using (org_id = (select nullif(current_setting(''app.org_id'', true), '''')::uuid))'
            ' with check (org_id = (select nullif(current_setting(''app.org_id'', true), '''')::uuid))',
            tenant_table || '_tenant', tenant_table);
        execute format('grant select, insert, update, delete on %I to memoria_app', tenant_table);
    end loop;
end;
$$;

create policy recalls_lookup on recalls for select to memoria_lookup using (true);
grant select on recalls to memoria_lookup;

create function find_outlived_recalls(older_than timestamptz, wanted integer)
returns table (org_id uuid)
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select distinct r.org_id
    from recalls r
    where r.at <= older_than
    limit wanted
$$;

grant create on schema public to memoria_lookup;
alter function find_outlived_recalls(timestamptz, integer) owner to memoria_lookup;
revoke create on schema public from memoria_lookup;
revoke execute on function find_outlived_recalls(timestamptz, integer) from public;
grant execute on function find_outlived_recalls(timestamptz, integer) to memoria_app;
