/**
 * The practice (staff and their sign-ins, providers, places), patients, telephone encounters, and Larkspur's own records.
 *
 * References from encounters to providers, staff, facilities and pharmacies have no foreign keys: a chart must not
 * change when such a record is removed from the practice.
 */
export const practice_tables = `
  create table control (
    control_token text not null,
    seeded_on date,
    charts_seeded_on date,
    -- The seed date of the copies in seeded_claims, seeded_blocks and seeded_appointments.
    copies_of date
  );

  create table practice (
    practice_id text not null default 'LARK01',
    practice_name text not null,
    time_zone text not null
  );

  create sequence staff_ids;
  create table staff (
    staff_id text primary key default nextval('staff_ids')::text,
    display_name text not null,
    role text not null,
    active_flag text not null check (active_flag in ('Y', 'N')),
    user_name text unique,
    password_hash text,
    totp_secret text
  );

  create table sessions (
    token_hash text primary key,
    staff_id text not null references staff on delete cascade,
    created_at timestamptz not null,
    last_seen_at timestamptz not null
  );
  create table devices (
    token_hash text primary key,
    staff_id text not null references staff on delete cascade,
    created_at timestamptz not null
  );
  create table challenges (
    challenge_hash text primary key,
    staff_id text not null references staff on delete cascade,
    user_name text not null,
    expires_at timestamptz not null
  );
  create table lockouts (
    user_name text primary key,
    wrong_tries int not null default 0,
    locked_until timestamptz
  );

  create sequence provider_ids;
  create table providers (
    provider_id text primary key default nextval('provider_ids')::text,
    first_name text not null,
    last_name text not null,
    display_name text not null,
    npi text,
    speciality text,
    time_zone text not null,
    active_flag text not null check (active_flag in ('Y', 'N')),
    weekly_hours jsonb not null
  );

  create sequence facility_ids;
  create table facilities (
    facility_id text primary key default nextval('facility_ids')::text,
    name text not null,
    active_flag text not null check (active_flag in ('Y', 'N')),
    address jsonb not null,
    phone text,
    fax text
  );

  create sequence pharmacy_ids;
  create table pharmacies (
    pharmacy_id text primary key default nextval('pharmacy_ids')::text,
    name text not null,
    active_flag text not null check (active_flag in ('Y', 'N')),
    address jsonb not null,
    phone text,
    email text
  );

  create sequence patient_ids;
  create sequence mrn_numbers;
  create table patients (
    patient_id text primary key default nextval('patient_ids')::text,
    mrn text not null unique default 'LK' || nextval('mrn_numbers'),
    last_name text not null,
    first_name text not null,
    middle_name text,
    birth_date date,
    sex_code text not null check (sex_code in ('M', 'F', 'U')),
    home_phone text,
    cell_phone text,
    email text,
    address jsonb not null,
    primary_insurance_name text,
    primary_subscriber_number text,
    language_code text,
    race_code text,
    ethnicity_code text,
    no_email_reason text,
    self_pay_flag text not null default 'N' check (self_pay_flag in ('Y', 'N')),
    release_of_info_flag text not null default 'Y' check (release_of_info_flag in ('Y', 'N')),
    rx_consent_flag text not null default 'Y' check (rx_consent_flag in ('Y', 'N')),
    responsible_party_code text not null default '1',
    responsible_guarantor_id text,
    referring_id text,
    referring_first_name text,
    referring_last_name text,
    pcp_id text,
    pcp_first_name text,
    pcp_last_name text,
    rendering_provider_id text,
    default_facility_id text,
    emergency_contact jsonb,
    last_modified timestamptz not null
  );
  create index patients_by_name on patients (lower(last_name), lower(first_name));
  create index patients_by_birth_date on patients (birth_date);

  create sequence medication_ids;
  create table medications (
    medication_id text primary key default nextval('medication_ids')::text,
    patient_id text not null references patients on delete cascade,
    name text not null,
    strength text not null,
    frequency text not null,
    start_date date,
    refills text not null,
    notes text,
    active_flag text not null check (active_flag in ('Y', 'N'))
  );
  create index medications_by_patient on medications (patient_id);

  create sequence patient_pharmacy_ids;
  create table patient_pharmacies (
    patient_pharmacy_id text primary key default nextval('patient_pharmacy_ids')::text,
    patient_id text not null references patients on delete cascade,
    pharmacy_id text not null references pharmacies on delete cascade,
    primary_flag text not null check (primary_flag in ('Y', 'N')),
    unique (patient_id, pharmacy_id)
  );

  create sequence encounter_ids;
  create table telephone_encounters (
    encounter_id text primary key default nextval('encounter_ids')::text,
    patient_id text not null references patients on delete cascade,
    provider_id text not null,
    facility_id text not null,
    assigned_to text not null,
    reason text,
    caller text,
    message text,
    priority text not null check (priority in ('H', 'N')),
    pharmacy_id text,
    template_name text,
    status_code text not null default 'OPN',
    notes text,
    attachment_flag text not null default 'N' check (attachment_flag in ('Y', 'N')),
    created_at timestamptz not null,
    created_by text not null
  );
  create index telephone_encounters_by_patient on telephone_encounters (patient_id);

  create sequence refill_ids;
  create table refills (
    refill_id text primary key default nextval('refill_ids')::text,
    encounter_id text not null references telephone_encounters on delete cascade,
    medication_id text not null,
    medication_name text not null,
    pharmacy_id text
  );
  create index refills_by_encounter on refills (encounter_id);

  create sequence action_ids;
  create table actions (
    action_id text primary key default nextval('action_ids')::text,
    encounter_id text not null references telephone_encounters on delete cascade,
    at timestamptz not null,
    by text not null,
    text text not null,
    priority text check (priority in ('H', 'N'))
  );
  create index actions_by_encounter on actions (encounter_id);

  create table history (
    history_id bigint generated always as identity primary key,
    at timestamptz not null,
    by text not null,
    patient_id text,
    record text not null,
    record_id text not null,
    field text not null,
    before text,
    after text
  );
  create index history_by_patient on history (patient_id, history_id);

  create table ledger (
    ledger_id bigint generated always as identity primary key,
    operation text not null,
    marker text,
    patient_mrn text,
    at timestamptz not null,
    applied boolean not null
  );

  -- \`answer\` is a copy of the response, for clients that did not receive it.
  create table receipts (
    operation text not null,
    external_ref text not null,
    record_id text,
    answer jsonb,
    received_at timestamptz not null,
    primary key (operation, external_ref)
  );

  create table faults (
    fault_id int generated always as identity primary key,
    operation text not null,
    kind text not null,
    times_left int not null check (times_left >= 0),
    delay_ms int,
    reason text,
    field text,
    value jsonb
  );

  create function reject_update() returns trigger language plpgsql as
    $$ begin raise exception '% is append-only', tg_table_name; end $$;
  create trigger actions_append_only before update on actions for each row execute function reject_update();
  create trigger history_append_only before update on history for each row execute function reject_update();
  create trigger ledger_append_only before update on ledger for each row execute function reject_update();
`;
