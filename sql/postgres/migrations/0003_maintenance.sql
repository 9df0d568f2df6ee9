-- What workers must know before a tenant is chosen: where there is maintenance to do. The functions name
-- organizations and namespaces only; the work itself is done inside each tenant.

create policy namespaces_lookup on namespaces for select to memoria_lookup using (true);
create policy embeddings_lookup on embeddings for select to memoria_lookup using (true);
create policy idempotent_answers_lookup on idempotent_answers for select to memoria_lookup using (true);
grant select on namespaces, embeddings, idempotent_answers to memoria_lookup;

create function find_unindexed_namespaces(more_embeddings_than bigint, wanted integer)
returns table (org_id uuid, namespace_id bigint)
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select n.org_id, n.namespace_id
    from namespaces n
    where n.embedding_count > more_embeddings_than
      and exists (
          select from embeddings e
          where e.org_id = n.org_id and e.namespace_id = n.namespace_id and not e.in_graph
      )
    order by random()
    limit wanted
$$;

create function find_outlived_answers(older_than timestamptz, wanted integer)
returns table (org_id uuid)
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select distinct a.org_id
    from idempotent_answers a
    where a.created_at <= older_than
    limit wanted
$$;

grant create on schema public to memoria_lookup;
alter function find_unindexed_namespaces(bigint, integer) owner to memoria_lookup;
alter function find_outlived_answers(timestamptz, integer) owner to memoria_lookup;
revoke create on schema public from memoria_lookup;

revoke execute on function find_unindexed_namespaces(bigint, integer) from public;
revoke execute on function find_outlived_answers(timestamptz, integer) from public;
grant execute on function find_unindexed_namespaces(bigint, integer) to memoria_app;
grant execute on function find_outlived_answers(timestamptz, integer) to memoria_app;

create index idempotent_answers_outlived_idx on idempotent_answers (created_at);

-- Recalls update access counts in place; room on each page keeps those updates out of the indexes.
alter table memories set (fillfactor = 90);
