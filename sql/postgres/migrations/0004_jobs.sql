-- Work to be done in the background, one row a job, enqueued in the transaction that wants it done.

create table jobs (
    org_id uuid not null,
    job_id bigint not null,
    kind text not null,
    namespace_id bigint,
    key text not null default '',
    priority smallint not null default 0,
    payload jsonb not null default '{}',
    state text not null default 'queued',
    attempt integer not null default 0,
    failures integer not null default 0,
    run_at timestamptz not null,
    scheduled_for timestamptz,
    progress_done bigint not null default 0,
    progress_total bigint,
    result jsonb,
    error_code text,
    error_message text,
    worker text,
    created_at timestamptz not null,
    started_at timestamptz,
    heartbeat_at timestamptz,
    finished_at timestamptz,
    constraint jobs_pkey primary key (org_id, job_id),
    constraint jobs_organization_fkey foreign key (org_id) references organizations (org_id) on delete cascade,
    constraint jobs_state_check check (state in ('queued', 'running', 'succeeded', 'dead', 'cancelled'))
);
comment on table jobs is 'ids and options only: nothing that a user wrote';
comment on column jobs.key is 'jobs of one kind, namespace and key are done one at a time, and at most one more waits';
comment on column jobs.priority is '0 asked for, 1 scheduled';
comment on column jobs.attempt is 'how often it was begun; what a worker writes must name the attempt it was given';
comment on column jobs.failures is 'attempts that failed or lost their worker; those that a stopping worker gave back do not count';
comment on column jobs.scheduled_for is 'the beginning of the period that a schedule made it for';

-- Of one kind, namespace and key, one job waits that was never begun, and one has begun: it runs, or waits for its
-- next attempt.
create unique index jobs_waiting_key on jobs (org_id, kind, namespace_id, key) nulls not distinct
    where state = 'queued' and attempt = 0;
create unique index jobs_begun_key on jobs (org_id, kind, namespace_id, key) nulls not distinct
    where state in ('queued', 'running') and attempt > 0;
create unique index jobs_scheduled_key on jobs (org_id, kind, namespace_id, scheduled_for) nulls not distinct
    where scheduled_for is not null;

create index jobs_unfinished_idx on jobs (org_id) where state in ('queued', 'running');
create index jobs_queued_idx on jobs (org_id, priority, run_at, job_id) where state = 'queued';
create index jobs_running_idx on jobs (org_id, heartbeat_at) where state = 'running';
create index jobs_started_idx on jobs (org_id, started_at desc) where started_at is not null;
create index jobs_finished_idx on jobs (finished_at) where finished_at is not null;

alter table jobs enable row level security;
alter table jobs force row level security;
create policy jobs_tenant on jobs
    using (org_id = (select nullif(current_setting('app.org_id', true), '')::uuid))
    with check (org_id = (select nullif(current_setting('app.org_id', true), '')::uuid));
grant select, insert, update, delete on jobs to memoria_app;

-- What workers and operators must know before a tenant is chosen.
create policy jobs_lookup on jobs for select to memoria_lookup using (true);
grant select on jobs to memoria_lookup;

-- Whose turn it is: organizations with a job that can be begun or taken over, those with the fewest running jobs first
-- and among these the one that has waited longest since it last got a turn. Each step of the recursion jumps to the
-- next organization with unfinished jobs, so that a long queue costs no more than a short one.
create function find_organizations_to_serve(
    known_kinds text[], at timestamptz, silent_since timestamptz, most_priority integer, passed_over uuid[],
    wanted integer
)
returns table (org_id uuid)
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    with recursive unfinished as (
        (select j.org_id from jobs j where j.state in ('queued', 'running') order by j.org_id limit 1)
        union all
        select (
            select j.org_id from jobs j
            where j.state in ('queued', 'running') and j.org_id > u.org_id
            order by j.org_id limit 1
        )
        from unfinished u
        where u.org_id is not null
    )
    select u.org_id
    from unfinished u
    where u.org_id is not null
      and u.org_id <> all (passed_over)
      and (
          exists (
              select from jobs j
              where j.org_id = u.org_id and j.state = 'queued' and j.priority <= most_priority and j.run_at <= at
                and j.kind = any (known_kinds)
                and (j.attempt > 0 or not exists (
                    select from jobs b
                    where b.org_id = j.org_id and b.kind = j.kind
                      and b.namespace_id is not distinct from j.namespace_id and b.key = j.key
                      and b.state in ('queued', 'running') and b.attempt > 0
                ))
          )
          or exists (
              select from jobs j
              where j.org_id = u.org_id and j.state = 'running' and j.heartbeat_at <= silent_since
                and j.kind = any (known_kinds)
          )
      )
    order by
        (select count(*) from jobs r where r.org_id = u.org_id and r.state = 'running'),
        (select max(s.started_at) from jobs s where s.org_id = u.org_id and s.started_at is not null) nulls first,
        random()
    limit wanted
$$;

-- Places where a schedule has no job yet for the period that has begun.
create function find_namespaces_to_schedule(wanted_kind text, period timestamptz, wanted integer)
returns table (org_id uuid, namespace_id bigint)
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select n.org_id, n.namespace_id
    from namespaces n
    where not exists (
        select from jobs j
        where j.org_id = n.org_id and j.kind = wanted_kind and j.namespace_id = n.namespace_id
          and j.scheduled_for >= period
    )
    limit wanted
$$;

create function find_organizations_to_schedule(wanted_kind text, period timestamptz, wanted integer)
returns table (org_id uuid)
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select o.org_id
    from organizations o
    where not exists (
        select from jobs j
        where j.org_id = o.org_id and j.kind = wanted_kind and j.namespace_id is null and j.scheduled_for >= period
    )
    limit wanted
$$;

create function find_outlived_jobs(older_than timestamptz, wanted integer)
returns table (org_id uuid)
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select distinct j.org_id
    from jobs j
    where j.finished_at <= older_than
    limit wanted
$$;

-- For the operator: the jobs of all organizations in one state, the newest first, or the one with an id.
create function find_jobs_of_all(wanted_state text, wanted_id bigint, wanted integer)
returns table (
    org_id uuid, job_id bigint, kind text, namespace_id bigint, state text, attempt integer, failures integer,
    error_code text, worker text, created_at timestamptz, run_at timestamptz, finished_at timestamptz
)
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select j.org_id, j.job_id, j.kind, j.namespace_id, j.state, j.attempt, j.failures, j.error_code, j.worker,
        j.created_at, j.run_at, j.finished_at
    from jobs j
    where (wanted_state is null or j.state = wanted_state) and (wanted_id is null or j.job_id = wanted_id)
    order by j.job_id desc
    limit wanted
$$;

-- For the metrics: how many jobs of each kind are unfinished or dead, and since when the longest could have run.
create function count_jobs_of_all()
returns table (kind text, state text, jobs bigint, oldest timestamptz)
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select j.kind, j.state, count(*), min(j.run_at)
    from jobs j
    where j.state in ('queued', 'running')
    group by j.kind, j.state
    union all
    select j.kind, j.state, count(*), null
    from jobs j
    where j.state = 'dead'
    group by j.kind, j.state
$$;

create index jobs_dead_idx on jobs (kind) where state = 'dead';

do $$
declare
    signature text;
begin
    grant create on schema public to memoria_lookup;
    foreach signature in array array[
        'find_organizations_to_serve(text[], timestamptz, timestamptz, integer, uuid[], integer)',
        'find_namespaces_to_schedule(text, timestamptz, integer)',
        'find_organizations_to_schedule(text, timestamptz, integer)',
        'find_outlived_jobs(timestamptz, integer)',
        'find_jobs_of_all(text, bigint, integer)',
        'count_jobs_of_all()'
    ] loop
        execute format('alter function %s owner to memoria_lookup', signature);
        execute format('revoke execute on function %s from public', signature);
        execute format('grant execute on function %s to memoria_app', signature);
    end loop;
    revoke create on schema public from memoria_lookup;
end;
$$;
