-- The spans that queued a job and sent an event, in the format of the header traceparent (W3C Trace Context), for links
-- from the job's attempts and the event's deliveries. Null if telemetry is off.
ALTER TABLE jobs ADD COLUMN traceparent text CHECK (traceparent ~ '^[0-9a-f-]{55}$');
ALTER TABLE events ADD COLUMN traceparent text CHECK (traceparent ~ '^[0-9a-f-]{55}$');
