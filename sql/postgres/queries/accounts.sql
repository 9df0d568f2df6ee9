-- name: insert_account
-- Create a person's account in an organization.
insert into accounts (org_id, account_id, email, name, created_at)
values (:org_id, :account_id, :email, :name, :created_at);
