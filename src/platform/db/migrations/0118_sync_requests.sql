-- How many requests a sync has sent to the EMR, over all its attempts. Null for other jobs.
ALTER TABLE jobs ADD COLUMN emr_requests integer;
