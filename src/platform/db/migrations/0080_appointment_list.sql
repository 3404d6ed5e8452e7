-- The list of appointments: columns to filter by, and bookings that the EMR does not have yet.
ALTER TABLE appointments
  -- As in `doc`: the EMR's code, or `pending` or `failed` for a booking of ours that the EMR does not have.
  ADD COLUMN status text NOT NULL DEFAULT '',
  ADD COLUMN mode text,
  ADD COLUMN patient_folded text NOT NULL DEFAULT '',
  ADD COLUMN patient_phone text,
  -- Where the appointment was created: `emr`, or `api` for a booking of ours.
  ADD COLUMN source text NOT NULL DEFAULT 'emr' CHECK (source IN ('emr', 'api')),
  -- `doc` without the notes, if it has notes.
  ADD COLUMN doc_without_notes json,
  -- Of a pending booking that is not to be made: the earlier booking that occupies its time.
  ADD COLUMN conflict json;

-- The owner of the tables is subject to their policies, and names no tenant.
ALTER TABLE appointments NO FORCE ROW LEVEL SECURITY;
ALTER TABLE operations NO FORCE ROW LEVEL SECURITY;

UPDATE appointments SET source = 'api' FROM operations
 WHERE operations.id = appointments.id AND operations.type = 'appointment.create';
UPDATE appointments SET doc = regexp_replace(doc::text, '("object_metadata":\{"created_at":"[^"]*")\}\}$',
  format('\1,"source":"%s"}}', source))::json;

-- Values of a document with an escaped NUL cannot be read; the next sync stores them.
CREATE FUNCTION fold_name(name text) RETURNS text IMMUTABLE LANGUAGE sql AS $$
  SELECT btrim(regexp_replace(lower(regexp_replace(regexp_replace(normalize(name, NFKD),
    U&'[\0300-\036f''`\02b9-\02c0\02c8\02ca\02cb\02ee\055a\05f3\07f4\07f5\2018\2019\201b\2032\2035\275b\275c\a78b\a78c\061c\180e\200b-\200f\202a-\202e\2060-\2064\2066-\206f\feff]', '', 'g'),
    U&'[- \00ad\02d7\058a\05be\1400\1806\2010-\2015\2043\2212\2e17\2e1a\2e3a\2e3b\2e40\2e5d\301c\3030\30a0]+', ' ', 'g')), '\s+', ' ', 'g'))
$$;
UPDATE appointments SET status = doc ->> 'status',
    mode = CASE WHEN doc ->> 'appointment_mode' ~* 'video|phone|tele|virtual|remote' THEN 'telemedicine'
                WHEN doc ->> 'appointment_mode' IS NOT NULL THEN 'office' END,
    patient_folded = left(coalesce(fold_name(doc ->> 'patient_name'), ''), 300),
    patient_phone = nullif(regexp_replace(regexp_replace(doc ->> 'patient_phone', '[^0-9]', '', 'g'), '^1([0-9]{10})$', '\1'), '')
  WHERE strpos(doc::text, '\u0000') = 0;
DROP FUNCTION fold_name(text);
UPDATE appointments SET doc_without_notes =
    regexp_replace(doc::text, '"(note|progress_note)":"([^"\\]|\\.)*"', '"\1":null', 'g')::json
 WHERE doc::text ~ '"(note|progress_note)":"';

-- Bookings whose jobs wait.
ALTER TABLE jobs NO FORCE ROW LEVEL SECURITY;
ALTER TABLE patients NO FORCE ROW LEVEL SECURITY;
INSERT INTO appointments (id, client_id, organization_id, patient_mrn, starts_at, minutes, provider_ehr_id,
    secondary_provider_ehr_id, facility_ehr_id, visit_type, cancelled, status, patient_folded, source, source_hash, seen_in,
    created_at, doc)
  SELECT id, client_id, organization_id, input ->> 'mrn', (input ->> 'starts_at')::timestamptz, minutes, input ->> 'provider',
    input ->> 'secondary_provider', input ->> 'location', input ->> 'type', false, 'pending',
    coalesce(patient ->> 'folded', ''), 'api', '', 0, created_at,
    json_build_object('id', replace(id::text, '-', ''), 'ehr_appointment_id', null, 'datetime', input ->> 'starts_at',
      'duration', minutes, 'location', input ->> 'location', 'status', 'pending', 'appointment_mode', null,
      'appointment_type', input ->> 'type', 'practice_id', null, 'reason', input -> 'reason', 'complaint_type', null,
      'patient_name', patient -> 'name', 'patient_first_name', patient -> 'first_name',
      'patient_last_name', patient -> 'last_name', 'patient_mrn', input ->> 'mrn', 'patient_ehr_id', patient -> 'ehr_id',
      'patient_dob', patient -> 'dob', 'patient_gender', patient -> 'sex', 'patient_phone', patient -> 'phone',
      'provider_ehr_id', input ->> 'provider', 'secondary_provider_ehr_id', input -> 'secondary_provider',
      'insurances', '[]'::json, 'diagnoses', '[]'::json, 'medications', '[]'::json, 'note', input -> 'note',
      'progress_note', null, 'created_at', null, 'provider_name', input -> 'provider_name', 'provider_npi', null,
      'insurance', null, 'insurance_number', null, 'insurance_group_number', null, 'insurance_subscriber', null,
      'secondary_insurance', null, 'secondary_insurance_number', null,
      'object_metadata', json_build_object('created_at', iso(created_at), 'source', 'api'))
    FROM (SELECT operations.*, coalesce(input ->> 'duration', input ->> 'visit_type_minutes', input ->> 'default_minutes',
              '30')::int AS minutes,
            (SELECT json_build_object('name', concat_ws(' ', doc ->> 'first_name', doc ->> 'last_name'),
                      'folded', concat_ws(' ', first_folded, last_folded), 'first_name', doc -> 'first_name',
                      'last_name', doc -> 'last_name', 'ehr_id', ehr_id, 'dob', dob, 'sex', doc -> 'sex',
                      'phone', coalesce(doc ->> 'cell_phone', doc ->> 'phone'))
               FROM patients WHERE patients.organization_id = operations.organization_id
                AND patients.mrn = operations.patient_mrn ORDER BY patients.id LIMIT 1) AS patient
            FROM operations WHERE type = 'appointment.create' AND EXISTS (
              SELECT FROM jobs WHERE jobs.operation_id = operations.id AND jobs.state IN ('queued', 'running'))) AS waiting
    ON CONFLICT DO NOTHING;
UPDATE appointments SET doc_without_notes =
    regexp_replace(doc::text, '"(note|progress_note)" : "([^"\\]|\\.)*"', '"\1" : null', 'g')::json
 WHERE ehr_id IS NULL AND doc::text ~ '"note" : "';
ALTER TABLE jobs FORCE ROW LEVEL SECURITY;
ALTER TABLE patients FORCE ROW LEVEL SECURITY;

ALTER TABLE appointments ALTER COLUMN status DROP DEFAULT, ALTER COLUMN patient_folded DROP DEFAULT;

CALL keep_name_suffixes('appointments', ARRAY['patient_folded']);
ALTER TABLE appointments FORCE ROW LEVEL SECURITY;
ALTER TABLE operations FORCE ROW LEVEL SECURITY;

-- Each filter, followed by the order of the list.
CREATE INDEX appointments_listed ON appointments (client_id, organization_id, starts_at DESC, id);
DROP INDEX appointments_starts;
CREATE INDEX appointments_location ON appointments (client_id, organization_id, facility_ehr_id, starts_at DESC, id);
CREATE INDEX appointments_status ON appointments (client_id, organization_id, status, starts_at DESC, id);
CREATE INDEX appointments_mode ON appointments (client_id, organization_id, mode, starts_at DESC, id);
CREATE INDEX appointments_phone ON appointments (client_id, organization_id, patient_phone, starts_at DESC, id);
-- Bookings of ours that the EMR does not have: few, and compared with every new one.
CREATE INDEX appointments_pending ON appointments (client_id, organization_id, starts_at) WHERE ehr_id IS NULL;
