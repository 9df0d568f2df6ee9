-- name: hurry_job
-- Find a queued job that waits longer, or ranks lower, than what is asked for now, and bring it forward.
update jobs
set run_at = least(run_at, :run_at), priority = least(priority, :priority)
where org_id = :org_id and kind = :kind and namespace_id is not distinct from :namespace_id::bigint and key = :key
  and state = 'queued' and (run_at > :run_at or priority > :priority::smallint)
returning job_id;

-- name: find_queued_job
-- Find the queued job of a kind, namespace and key, locked: no worker begins it before this transaction has committed.
select job_id
from jobs
where org_id = :org_id and kind = :kind and namespace_id is not distinct from :namespace_id::bigint and key = :key
  and state = 'queued'
order by attempt
limit 1
for share;

-- name: insert_job
-- Enqueue a job, unless an equal one waits.
insert into jobs (org_id, job_id, kind, namespace_id, key, priority, payload, run_at, scheduled_for, created_at)
values (:org_id, :job_id, :kind, :namespace_id, :key, :priority, :payload, :run_at, :scheduled_for, :now)
on conflict do nothing;

-- name: schedule_waiting_job
-- Let a job that waits anyway serve for the period of a schedule.
update jobs
set scheduled_for = :scheduled_for
where org_id = :org_id and kind = :kind and namespace_id is not distinct from :namespace_id::bigint and key = ''
  and state = 'queued' and attempt = 0 and (scheduled_for is null or scheduled_for < :scheduled_for);

-- name: find_namespaces_to_schedule
-- Find namespaces of all organizations without a job of a kind for the period that has begun.
select org_id, namespace_id
from find_namespaces_to_schedule(wanted_kind => :kind, period => :period, wanted => :wanted);

-- name: find_organizations_to_schedule
-- Find organizations without a job of a kind, and of no namespace, for the period that has begun.
select org_id
from find_organizations_to_schedule(wanted_kind => :kind, period => :period, wanted => :wanted);

-- name: find_organizations_to_serve
-- Find the organizations whose turn it is, best first.
select org_id
from find_organizations_to_serve(
    known_kinds => :kinds, at => :now, silent_since => :silent_since, most_priority => :most_priority,
    passed_over => :passed_over, wanted => :wanted
);

-- name: take_over_job
-- Claim a running job whose worker has fallen silent. Whoever holds it in a transaction is alive: it is left alone.
update jobs
set attempt = attempt + 1, failures = failures + 1, worker = :worker, started_at = :now, heartbeat_at = :now
where org_id = :org_id and job_id = (
    select job_id
    from jobs
    where org_id = :org_id and state = 'running' and heartbeat_at <= :silent_since and kind = any (:kinds::text[])
    order by heartbeat_at
    limit 1
    for update skip locked
)
returning job_id, kind, namespace_id, payload, attempt, failures, run_at, created_at;

-- name: claim_job
-- Claim an organization's next job: asked for before scheduled, then in their order, one of each key at a time.
update jobs
set state = 'running', attempt = attempt + 1, worker = :worker, started_at = :now, heartbeat_at = :now
where org_id = :org_id and job_id = (
    select j.job_id
    from jobs j
    where j.org_id = :org_id and j.state = 'queued' and j.priority <= :most_priority::smallint and j.run_at <= :now
      and j.kind = any (:kinds::text[])
      and (j.attempt > 0 or not exists (
          select from jobs b
          where b.org_id = :org_id and b.kind = j.kind and b.namespace_id is not distinct from j.namespace_id
            and b.key = j.key and b.state in ('queued', 'running') and b.attempt > 0
      ))
    order by j.priority, j.run_at, j.job_id
    limit 1
    for update skip locked
)
returning job_id, kind, namespace_id, payload, attempt, failures, run_at, created_at;

-- name: hold_job
-- Make sure that an attempt is still ours, and that nobody takes it over before this transaction has ended.
select true
from jobs
where org_id = :org_id and job_id = :job_id and attempt = :attempt and state = 'running'
for key share;

-- name: beat_job
-- Say that an attempt is alive.
update jobs
set heartbeat_at = :now
where org_id = :org_id and job_id = :job_id and attempt = :attempt and state = 'running';

-- name: report_job
-- Say how far an attempt is, and that it is alive.
update jobs
set progress_done = :done, progress_total = :total, heartbeat_at = :now
where org_id = :org_id and job_id = :job_id and attempt = :attempt and state = 'running';

-- name: succeed_job
-- End a job well.
update jobs
set state = 'succeeded', result = :result, error_code = null, error_message = null, finished_at = :now
where org_id = :org_id and job_id = :job_id and attempt = :attempt and state = 'running';

-- name: fail_job
-- Record a failed attempt: the job waits for the next one.
update jobs
set state = 'queued', failures = failures + 1, run_at = :run_at, error_code = :code, error_message = :message
where org_id = :org_id and job_id = :job_id and attempt = :attempt and state = 'running';

-- name: bury_job
-- Give a job up: it stays for an operator to see and to retry.
update jobs
set state = 'dead', failures = :failures, error_code = :code, error_message = :message, finished_at = :now
where org_id = :org_id and job_id = :job_id and attempt = :attempt and state = 'running';

-- name: release_job
-- Give an unfinished attempt back: another worker goes on at once, and nothing has failed.
update jobs
set state = 'queued', run_at = :now
where org_id = :org_id and job_id = :job_id and attempt = :attempt and state = 'running';

-- name: retry_dead_job
-- Queue a dead job again, with all its attempts before it.
update jobs
set state = 'queued', failures = 0, run_at = :now, finished_at = null
where org_id = :org_id and job_id = :job_id and state = 'dead';

-- name: cancel_job
-- Cancel a job that has not ended; the worker that runs it finds it gone and writes nothing more.
update jobs
set state = 'cancelled', finished_at = :now
where org_id = :org_id and job_id = :job_id and state in ('queued', 'running');

-- name: read_job
-- Read one job.
select j.job_id, j.kind, j.namespace_id, n.name as namespace, j.state, j.attempt, j.progress_done, j.progress_total,
    j.result, j.error_code, j.error_message, j.created_at, j.run_at, j.started_at, j.finished_at
from jobs j
left join namespaces n on n.org_id = j.org_id and n.namespace_id = j.namespace_id
where j.org_id = :org_id and j.job_id = :job_id;

-- name: list_jobs
-- Read a page of the jobs that a key may see, newest first: those of its namespaces, or all where it is not bound to any.
select j.job_id, j.kind, j.namespace_id, n.name as namespace, j.state, j.attempt, j.progress_done, j.progress_total,
    j.result, j.error_code, j.error_message, j.created_at, j.run_at, j.started_at, j.finished_at
from jobs j
left join namespaces n on n.org_id = j.org_id and n.namespace_id = j.namespace_id
where j.org_id = :org_id
  and (cardinality(:states::text[]) = 0 or j.state = any(:states))
  and (:before::bigint is null or j.job_id < :before)
  and (cardinality(:exact_names::text[]) + cardinality(:prefixes::text[]) = 0
       or n.name = any(:exact_names)
       or exists (select from unnest(:prefixes) prefix where starts_with(n.name, prefix)))
order by j.job_id desc
limit :limit;

-- name: count_jobs
-- Count the jobs that a key may see.
select count(*)
from jobs j
left join namespaces n on n.org_id = j.org_id and n.namespace_id = j.namespace_id
where j.org_id = :org_id
  and (cardinality(:states::text[]) = 0 or j.state = any(:states))
  and (cardinality(:exact_names::text[]) + cardinality(:prefixes::text[]) = 0
       or n.name = any(:exact_names)
       or exists (select from unnest(:prefixes) prefix where starts_with(n.name, prefix)));

-- name: delete_namespace_jobs
-- Delete every job of a namespace, whatever its state.
delete from jobs
where org_id = :org_id and namespace_id = :namespace_id;

-- name: find_outlived_jobs
-- Find organizations with jobs that ended long ago.
select org_id
from find_outlived_jobs(older_than => :older_than, wanted => :wanted);

-- name: delete_outlived_jobs
-- Delete an organization's jobs that ended long ago.
delete from jobs
where org_id = :org_id and finished_at <= :older_than;

-- name: find_jobs_of_all
-- Find jobs of all organizations for an operator, by state or by id.
select org_id, job_id, kind, namespace_id, state, attempt, failures, error_code, worker, created_at, run_at, finished_at
from find_jobs_of_all(wanted_state => :state, wanted_id => :job_id, wanted => :wanted);

-- name: count_jobs_of_all
-- Count the unfinished and dead jobs of all organizations for the metrics.
select kind, state, jobs, oldest
from count_jobs_of_all();
