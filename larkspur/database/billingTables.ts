/** Insurance, eligibility checks, claims, balances and payments. */
export const billing_tables = `
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
    plan_begins date,
    plan_ends date,
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
    service_date date not null,
    appointment_id text,
    provider_id text,
    requested_at timestamptz not null,
    requested_by text not null,
    status_code text not null,
    status_message text,
    responded_at timestamptz,
    plan_name text,
    plan_begins date,
    plan_ends date,
    subscriber_name text,
    subscriber_number text,
    relationship_code text,
    benefits jsonb not null default '[]'
  );
  create index eligibility_checks_by_patient on eligibility_checks (patient_id);

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
  ) with (toast_tuple_target = 8160); -- a claim fits into a page, and compressing it is slow
  create index claims_by_patient on claims (patient_id);
  create index claims_by_change on claims (last_modified);

  create table balances (
    patient_id text primary key references patients on delete cascade,
    patient_balance numeric(12, 2) not null,
    account_balance numeric(12, 2) not null
  );

  create sequence payment_ids;
  create table payments (
    payment_id text primary key default nextval('payment_ids')::text,
    patient_id text not null references patients on delete cascade,
    deposit_date date not null,
    amount numeric(12, 2) not null check (amount > 0),
    method_code text not null,
    method_name text not null,
    reference_number text not null,
    facility_id text not null,
    notes text,
    balance_after numeric(12, 2) not null,
    created_at timestamptz not null,
    created_by text not null
  );
  create index payments_by_patient on payments (patient_id);
`;
