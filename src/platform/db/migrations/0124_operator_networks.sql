-- The networks that operators have signed in from, for the alert about a new one. A network that was not used for a time
-- counts as new again: `new_at` is then set anew.
CREATE TABLE operator_networks (
  operator_id uuid NOT NULL REFERENCES operators ON DELETE CASCADE,
  network     text NOT NULL,
  new_at      timestamptz NOT NULL DEFAULT now(),
  seen_at     timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (operator_id, network)
);
CREATE INDEX operator_networks_new ON operator_networks (new_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_networks TO chartwire_system;
