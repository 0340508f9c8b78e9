-- Two roles for a team installation, so that its processes cannot take away what the database itself refuses.
-- Run once as a superuser, connected to the database of applyviz, before the first `migrate`; then give each role a
-- password (`\password applyviz_owner`). `migrate` runs with the address of applyviz_owner, everything else with that
-- of applyviz_app. For tables that are there already: `REASSIGN OWNED BY <who has them now> TO applyviz_owner` first.

DO $$ BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'applyviz_owner') THEN
    CREATE ROLE applyviz_owner LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
  END IF;
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'applyviz_app') THEN
    CREATE ROLE applyviz_app LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS NOINHERIT;
  END IF;
  -- Nobody makes tables beside ours, that a session would find first.
  EXECUTE format('REVOKE CREATE, TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
  EXECUTE format('GRANT CONNECT ON DATABASE %I TO applyviz_owner, applyviz_app', current_database());
END $$;

REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA public TO applyviz_owner;
GRANT USAGE ON SCHEMA public TO applyviz_app;

-- Rows, and nothing of the tables: no TRUNCATE, no TRIGGER, no REFERENCES; what the owner makes later too.
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO applyviz_app;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO applyviz_app;
ALTER DEFAULT PRIVILEGES FOR ROLE applyviz_owner IN SCHEMA public
  GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO applyviz_app;
ALTER DEFAULT PRIVILEGES FOR ROLE applyviz_owner IN SCHEMA public
  GRANT USAGE, SELECT ON SEQUENCES TO applyviz_app;
