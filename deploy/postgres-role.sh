#!/bin/sh
# Makes the role and the database of Ullage. Servers and workers connect as this role: it owns the tables and is no
# superuser, so that the policies which keep tenants apart bind it (docs/scale.md).
set -eu
psql -v ON_ERROR_STOP=1 -v password="$ULLAGE_DB_PASSWORD" --username "${POSTGRES_USER:-postgres}" --dbname postgres <<'SQL'
CREATE ROLE ullage LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'password';
CREATE DATABASE ullage OWNER ullage;
SQL
