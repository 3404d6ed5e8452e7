/** The practice: its code lists, staff and their sign-ins, providers, places, and the companies and doctors it works with. */
export const practice_tables = `
  create table practice (
    practice_id text not null default 'LARK01',
    practice_name text not null,
    time_zone text not null
  );

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
  create table one_time_links (
    token_hash text primary key,
    staff_id text not null references staff on delete cascade,
    path text not null,
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
`;
