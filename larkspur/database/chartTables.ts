/**
 * Schedules, claims, orders, insurance, alerts, balances, documents and the practice's code lists. As for encounters, references
 * to providers, staff and companies have no foreign keys. `starts_at` is the practice's local time, without a zone.
 */
export const chart_tables = `
  create table settings (setting_id text primary key, value jsonb not null);
  create table codes (
    code_id text primary key,
    list text not null,
    code text not null,
    name text not null,
    unique (list, code)
  );
  create table visit_types (code text primary key, description text not null, default_minutes int not null);
  create table visit_statuses (code text primary key, description text not null);

  create sequence insurance_company_ids;
  create table insurance_companies (
    company_id text primary key default nextval('insurance_company_ids')::text,
    name text not null,
    payer_id text,
    carrier_id text,
    active_flag text not null check (active_flag in ('Y', 'N')),
    address jsonb not null,
    created_at timestamptz not null default now()
  );

  create sequence referring_ids;
  create table referring_providers (
    referring_id text primary key default nextval('referring_ids')::text,
    first_name text not null,
    last_name text not null,
    middle_initial text,
    speciality text,
    phone text,
    fax text,
    email text,
    npi text,
    address jsonb not null,
    active_flag text not null check (active_flag in ('Y', 'N'))
  );

  create sequence appointment_ids;
  create table appointments (
    appointment_id text primary key default nextval('appointment_ids')::text,
    patient_id text not null references patients on delete cascade,
    provider_id text not null,
    secondary_provider_id text,
    facility_id text not null,
    starts_at timestamp not null,
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
    created_at timestamptz not null default now()
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

  create sequence claim_ids;
  create table claims (
    claim_id text primary key default nextval('claim_ids')::text,
    appointment_id text,
    service_date date not null,
    claim_date date not null,
    status_code text not null,
    status_description text not null,
    claim_type text not null,
    void_flag text not null check (void_flag in ('Y', 'N')),
    patient_id text not null references patients on delete cascade,
    mrn text not null,
    patient_name text not null,
    provider_id text not null,
    provider_name text not null,
    total_charge numeric(12, 2) not null,
    total_payment numeric(12, 2) not null,
    net_payment numeric(12, 2) not null,
    balance numeric(12, 2) not null,
    net_adjustment numeric(12, 2) not null,
    patient_responsibility numeric(12, 2) not null,
    icd_codes jsonb not null,
    billing_notes text,
    insurances jsonb not null,
    balances jsonb not null,
    void_claim jsonb not null,
    submission_history jsonb not null,
    activity_log jsonb not null,
    line_items jsonb not null,
    payments jsonb not null,
    created_at timestamptz not null default now(),
    last_modified timestamptz not null
  );
  alter table claims set (toast_tuple_target = 8160); -- a claim fits into a page, and compressing it is slow
  create index claims_by_patient on claims (patient_id);
  create index claims_by_change on claims (last_modified);

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

  create sequence guarantor_ids;
  create table guarantors (
    guarantor_id text primary key default nextval('guarantor_ids')::text,
    patient_id text not null references patients on delete cascade,
    first_name text not null,
    middle_name text,
    last_name text not null,
    birth_date date,
    sex_code text not null check (sex_code in ('M', 'F', 'U')),
    relationship_code text not null,
    guarantor_is_patient text not null check (guarantor_is_patient in ('Y', 'N')),
    phone text,
    address jsonb not null
  );
  create index guarantors_by_patient on guarantors (patient_id);

  create sequence insurance_ids;
  create table patient_insurances (
    insurance_id text primary key default nextval('insurance_ids')::text,
    patient_id text not null references patients on delete cascade,
    priority int not null check (priority between 1 and 3),
    company_id text,
    company_name text not null,
    payer_id text,
    subscriber_number text not null,
    group_number text,
    plan_begins date not null,
    copayment numeric(10, 2),
    relationship_code text,
    guarantor_id text,
    guarantor_is_patient text not null check (guarantor_is_patient in ('Y', 'N')),
    active_flag text not null check (active_flag in ('Y', 'N'))
  );
  create index patient_insurances_by_patient on patient_insurances (patient_id);

  create sequence eligibility_check_ids;
  create table eligibility_checks (
    check_id text primary key default nextval('eligibility_check_ids')::text,
    patient_id text not null references patients on delete cascade,
    insurance_id text not null,
    company_name text not null,
    status_code text not null,
    requested_at timestamptz not null,
    requested_by text not null
  );
  create index eligibility_checks_by_patient on eligibility_checks (patient_id);

  create table balances (
    patient_id text primary key references patients on delete cascade,
    patient_balance numeric(12, 2) not null,
    account_balance numeric(12, 2) not null
  );

  create table alerts (
    patient_id text primary key references patients on delete cascade,
    billing_alert text not null check (billing_alert in ('Y', 'N')),
    billing_notes text,
    global_alerts jsonb not null
  );

  create sequence previous_address_ids;
  create table previous_addresses (
    previous_address_id text primary key default nextval('previous_address_ids')::text,
    patient_id text not null references patients on delete cascade,
    address jsonb not null,
    replaced_at timestamptz not null,
    replaced_by text not null
  );
  create index previous_addresses_by_patient on previous_addresses (patient_id);

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
    created_at timestamptz not null,
    created_by text not null,
    foreign key (patient_id, folder_path) references folders
  );
  create index documents_by_patient on documents (patient_id);

  create table seeded_claims (like claims);
  create table seeded_blocks (like blocks);
  create table seeded_appointments (like appointments);
`;
