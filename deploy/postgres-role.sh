#!/bin/sh
# Makes the role and the database of Ullage. Servers and workers connect as this role: it owns the tables and is no
# superuser, so that the policies which keep tenants apart bind it (docs/scale.md). No other role may connect: notifications
# are heard and sent by all that are connected.
set -eu
psql -v ON_ERROR_STOP=1 -v password="$ULLAGE_DB_PASSWORD" --username "${POSTGRES_USER:-postgres}" --dbname postgres <<'SQL'
CREATE ROLE ullage LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'password';
CREATE DATABASE ullage OWNER ullage;
REVOKE CONNECT, TEMPORARY ON DATABASE ullage FROM PUBLIC;
SQL
