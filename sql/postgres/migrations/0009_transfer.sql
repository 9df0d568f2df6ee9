-- Erasure: an organization that leaves takes its accounts and keys with it. Row-level security keeps each transaction to
-- its own organization here, too.

grant delete on organizations, accounts, api_keys to memoria_app;
