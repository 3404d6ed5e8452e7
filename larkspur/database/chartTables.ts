/**
 * Patients and their charts: medications, encounters, tasks, the schedule, notes, orders, referrals and documents.
 *
 * References to providers, staff, facilities, pharmacies and companies have no foreign keys, here and in the other tables:
 * a chart must not change when such a record is removed from the practice. `starts_at` is the practice's local time,
 * without a zone.
 */
export const chart_tables = `
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
    active_flag text not null default 'Y' check (active_flag in ('Y', 'N')),
    merged_into text,
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
  create index patients_by_birth_date on patients (birth_date);
  create index patients_by_merge on patients (merged_into) where merged_into is not null;

  create sequence previous_address_ids;
  create table previous_addresses (
    previous_address_id text primary key default nextval('previous_address_ids')::text,
    patient_id text not null references patients on delete cascade,
    address jsonb not null,
    replaced_at timestamptz not null,
    replaced_by text not null
  );
  create index previous_addresses_by_patient on previous_addresses (patient_id);

  create table alerts (
    patient_id text primary key references patients on delete cascade,
    billing_alert text not null check (billing_alert in ('Y', 'N')),
    billing_notes text,
    global_alerts jsonb not null
  );

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

  create sequence task_ids start 710001;
  create table tasks (
    task_id text primary key default nextval('task_ids')::text,
    patient_id text not null references patients on delete cascade,
    subject text not null,
    description text not null,
    assigned_to text not null,
    phone_call_type_id text not null,
    notify_list jsonb not null,
    status_code text not null default 'OPN',
    created_at timestamptz not null,
    created_by text not null
  );
  create index tasks_by_patient on tasks (patient_id);

  create sequence task_note_ids start 720001;
  create table task_notes (
    task_note_id text primary key default nextval('task_note_ids')::text,
    task_id text not null references tasks on delete cascade,
    at timestamptz not null,
    by text not null,
    text text not null
  );
  create index task_notes_by_task on task_notes (task_id);

  create sequence appointment_ids;
  create table appointments (
    appointment_id text primary key default nextval('appointment_ids')::text,
    patient_id text not null references patients on delete cascade,
    provider_id text not null,
    secondary_provider_id text,
    facility_id text not null,
    starts_at timestamp not null,
    -- Tells apart the two passes of the hour that is repeated when clocks go back.
    utc_offset text,
    minutes int not null check (minutes > 0),
    status_code text not null,
    visit_type_code text not null,
    mode text not null,
    reason text,
    complaint_type text,
    note text,
    progress_note text,
    new_patient_flag text not null check (new_patient_flag in ('Y', 'N')),
    locked_flag text not null check (locked_flag in ('Y', 'N')),
    diagnoses jsonb not null,
    medications jsonb not null,
    created_at timestamptz not null default now(),
    created_by text
  );
  create index appointments_by_start on appointments (starts_at);
  create index appointments_by_patient on appointments (patient_id);
  create index appointments_by_provider on appointments (provider_id, starts_at);
  create index appointments_by_secondary on appointments (secondary_provider_id, starts_at);

  create sequence block_ids;
  create table blocks (
    block_id text primary key default nextval('block_ids')::text,
    provider_id text not null,
    facility_id text,
    starts_at timestamp not null,
    minutes int not null check (minutes > 0),
    reason text not null
  );
  create index blocks_by_start on blocks (starts_at);

  create sequence visit_note_ids start 730001;
  create table visit_notes (
    visit_note_id text primary key default nextval('visit_note_ids')::text,
    appointment_id text not null,
    patient_id text not null references patients on delete cascade,
    text text,
    sections jsonb,
    icd_codes jsonb not null,
    cpt_codes jsonb not null,
    created_at timestamptz not null,
    created_by text not null,
    check ((text is null) <> (sections is null))
  );
  create index visit_notes_by_patient on visit_notes (patient_id);
  create index visit_notes_by_visit on visit_notes (appointment_id);

  create sequence patient_note_ids start 740001;
  create table patient_notes (
    patient_note_id text primary key default nextval('patient_note_ids')::text,
    patient_id text not null references patients on delete cascade,
    subject text not null,
    text text not null,
    facility_id text not null,
    created_at timestamptz not null,
    created_by text not null
  );
  create index patient_notes_by_patient on patient_notes (patient_id);

  create sequence order_ids;
  create table orders (
    order_id text primary key default nextval('order_ids')::text,
    patient_id text not null references patients on delete cascade,
    name text not null,
    order_date date not null,
    provider_id text not null,
    appointment_id text,
    priority text,
    assigned_to text,
    lab_results jsonb
  );
  create index orders_by_patient on orders (patient_id);

  create sequence referral_ids start 750101;
  create table referrals (
    referral_id text primary key default nextval('referral_ids')::text,
    patient_id text not null references patients on delete cascade,
    direction text not null check (direction in ('I', 'O')),
    from_provider_id text,
    to_provider_id text,
    priority_code text not null check (priority_code in ('R', 'U', 'S')),
    urgency text,
    reason text not null,
    icd_codes jsonb not null,
    status_code text not null,
    referral_date date not null,
    created_at timestamptz not null,
    created_by text not null,
    last_activity_at timestamptz not null
  );
  create index referrals_by_patient on referrals (patient_id);
  create index referrals_by_date on referrals (referral_date);

  create table folders (
    patient_id text not null references patients on delete cascade,
    path text not null,
    primary key (patient_id, path)
  );

  create sequence document_ids;
  create table documents (
    document_id text primary key default nextval('document_ids')::text,
    patient_id text not null references patients on delete cascade,
    folder_path text not null,
    file_name text not null,
    content_type text not null,
    size_bytes int not null,
    content bytea not null,
    notes text,
    reviewed_flag text not null check (reviewed_flag in ('Y', 'N')),
    priority text not null check (priority in ('H', 'N')),
    assigned_to text,
    template_name text,
    referral_id text,
    external_ref text,
    created_at timestamptz not null,
    created_by text not null,
    foreign key (patient_id, folder_path) references folders
  );
  create index documents_by_patient on documents (patient_id);
  create index documents_by_time on documents (created_at);
  create index documents_by_referral on documents (referral_id) where referral_id is not null;
`;
