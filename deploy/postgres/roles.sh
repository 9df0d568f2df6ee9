#!/bin/sh
# Create what the migrations may not create themselves: the roles with their passwords, and the extension. It runs once,
# as a superuser, when the database is new; on a Postgres of your own, run it by hand with the same variables:
#
#   PGHOST=… PGUSER=postgres PGPASSWORD=… POSTGRES_DB=memoria POSTGRES_OWNER_PASSWORD=… POSTGRES_APP_PASSWORD=… sh roles.sh
set -eu

psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --dbname "${POSTGRES_DB:-memoria}" \
    --set owner_password="$POSTGRES_OWNER_PASSWORD" \
    --set app_password="$POSTGRES_APP_PASSWORD" <<'SQL'
create role memoria_owner login nosuperuser password :'owner_password';
create role memoria_app login nosuperuser nocreatedb nocreaterole password :'app_password';
create role memoria_lookup nologin nosuperuser nocreatedb nocreaterole;
grant memoria_app, memoria_lookup to memoria_owner;
create extension if not exists vector;
select format('alter database %I owner to memoria_owner', current_database()) \gexec
alter schema public owner to memoria_owner;
SQL
