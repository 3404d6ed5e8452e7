-- Some vendors count the requests of an application at all of its practices together, so that a budget belongs to the EMR
-- app instead of the address. `counted_by`: an address, or `emr_app:<id>`.
ALTER TABLE emr_request_budgets RENAME COLUMN emr_address TO counted_by;
ALTER TABLE emr_apps ADD COLUMN requests_counted_per text NOT NULL DEFAULT 'address'
  CHECK (requests_counted_per IN ('address', 'app'));

-- The requests that a sync has sent in its current hour, which may be limited: one that has sent as many goes on in the
-- next hour. `emr_requests` has all of them.
ALTER TABLE jobs ADD COLUMN emr_hour_started_at timestamptz, ADD COLUMN emr_hour_requests integer;
