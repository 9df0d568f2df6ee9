-- Vectors of another model, made beside those that serve: a namespace changes over when it has them all.

create table staged_embeddings (
    org_id uuid not null,
    namespace_id bigint not null,
    memory_id bigint not null,
    passage smallint not null,
    version integer not null,
    embedder text not null,
    embedding halfvec(384) not null,
    constraint staged_embeddings_pkey primary key (org_id, namespace_id, memory_id, passage),
    constraint staged_embeddings_memory_fkey foreign key (org_id, memory_id)
        references memories (org_id, memory_id) on delete cascade
);
comment on column staged_embeddings.version is 'of the memory that was embedded: an edit makes it stale';
create index staged_embeddings_memory_idx on staged_embeddings (org_id, memory_id);

alter table staged_embeddings enable row level security;
alter table staged_embeddings force row level security;
create policy staged_embeddings_tenant on staged_embeddings
    using (org_id = (select nullif(current_setting('app.org_id', true), '')::uuid))
    with check (org_id = (select nullif(current_setting('app.org_id', true), '')::uuid));
grant select, insert, update, delete on staged_embeddings to memoria_app;

-- Namespaces with vectors of another model, unless a job sees to it or was given up.
create function find_namespaces_to_reembed(wanted_embedder text, wanted integer)
returns table (org_id uuid, namespace_id bigint)
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select n.org_id, n.namespace_id
    from namespaces n
    where n.embedder <> wanted_embedder
      and not exists (
          select from jobs j
          where j.org_id = n.org_id and j.namespace_id = n.namespace_id and j.kind = 'reembed'
            and j.state in ('queued', 'running', 'dead') and j.payload ->> 'embedder' = wanted_embedder
      )
    limit wanted
$$;

grant create on schema public to memoria_lookup;
alter function find_namespaces_to_reembed(text, integer) owner to memoria_lookup;
revoke create on schema public from memoria_lookup;
revoke execute on function find_namespaces_to_reembed(text, integer) from public;
grant execute on function find_namespaces_to_reembed(text, integer) to memoria_app;
