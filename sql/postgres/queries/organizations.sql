-- name: insert_organization
-- Create an organization; `app.org_id` must already name it.
insert into organizations (org_id, name, own_namespace, rate_per_second, burst, created_at)
values (:org_id, :name, :own_namespace, :rate_per_second, :burst, :created_at);

-- name: find_organization
-- Find the organization of an account by its e-mail address, before the tenant is known.
select org_id, own_namespace from find_organization(:email);
