-- How many keys were unwrapped with a master key: a row per day (UTC), process and purpose. Each process adds to its rows
-- once a minute, if there is something to add. No tenant: a row says nothing about clients.
CREATE TABLE key_unwraps (
  day      date NOT NULL,
  host     text NOT NULL,
  -- command: administration on the server.
  role     text NOT NULL CHECK (role IN ('all', 'api', 'worker', 'command')),
  purpose  text NOT NULL,
  unwraps  bigint NOT NULL,
  PRIMARY KEY (day, host, role, purpose)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON key_unwraps TO chartwire_system;
