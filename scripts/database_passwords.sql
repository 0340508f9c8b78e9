-- Gives the two roles of database_roles.sql their passwords, from the secret files of docker-compose.yml.
-- psql reads the files itself: no password stands in a command line or in the environment.
\set owner `cat /run/secrets/owner_password`
\set app `cat /run/secrets/app_password`
ALTER ROLE applyviz_owner PASSWORD :'owner';
ALTER ROLE applyviz_app PASSWORD :'app';
