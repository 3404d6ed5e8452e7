import { chart_tables } from './chartTables.ts';
import type { Query, Sql } from './open.ts';
import { practice_tables } from './practiceTables.ts';

/** Never change a released migration; append a new one. */
const migrations: [name: string, statements: string][] = [
  ['0001_baseline', practice_tables + chart_tables],
  ['0002_plan_begins', 'alter table patient_insurances alter plan_begins drop not null'],
  // No query used it, and a long name does not fit into an index entry (2,700 bytes).
  ['0003_long_names', 'drop index patients_by_name'],
  // Tells apart the two passes of the hour that is repeated when clocks go back.
  [
    '0004_utc_offset',
    `alter table appointments add column utc_offset text;
     alter table seeded_appointments add column utc_offset text;`,
  ],
  [
    '0005_payments',
    `create sequence payment_ids;
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
     select setval('payment_ids', 279999);
     -- A practice that was seeded before has no payment methods and no types of calls yet.
     insert into codes (code_id, list, code, name)
     select list || '-' || code, list, code, name from (values
       ('payment_method', 'CASH', 'Cash'), ('payment_method', 'CHK', 'Check'),
       ('payment_method', 'CC', 'Credit card'), ('payment_method', 'DC', 'Debit card'),
       ('payment_method', 'ACH', 'Bank transfer'),
       ('phone_call_type', '1', 'Appointment request'), ('phone_call_type', '2', 'Billing question'),
       ('phone_call_type', '3', 'Clinical question'), ('phone_call_type', '4', 'Medication refill'),
       ('phone_call_type', '5', 'Test results')) as added (list, code, name)
      where exists (select from codes);`,
  ],
  [
    '0011_tasks',
    `create sequence task_ids;
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
     create sequence task_note_ids;
     create table task_notes (
       task_note_id text primary key default nextval('task_note_ids')::text,
       task_id text not null references tasks on delete cascade,
       at timestamptz not null,
       by text not null,
       text text not null
     );
     create index task_notes_by_task on task_notes (task_id);
     create trigger task_notes_append_only before update on task_notes for each row execute function reject_update();
     select setval('task_ids', 710000), setval('task_note_ids', 720000);`,
  ],
  [
    '0012_notes',
    `create sequence visit_note_ids start 730001;
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
     create index patient_notes_by_patient on patient_notes (patient_id);`,
  ],
  [
    '0015_eligibility',
    `alter table eligibility_checks
       add column status_message text,
       add column service_date date,
       add column responded_at timestamptz,
       add column appointment_id text,
       add column provider_id text,
       add column plan_name text,
       add column subscriber_name text,
       add column subscriber_number text,
       add column relationship_code text,
       add column plan_begins date,
       add column plan_ends date,
       add column benefits jsonb not null default '[]';
     update eligibility_checks set service_date = requested_at::date,
       responded_at = case when status_code <> 'REQ' then requested_at end;
     alter table eligibility_checks alter service_date set not null;`,
  ],
  ['0016_plan_ends', 'alter table patient_insurances add column plan_ends date'],
  // Null for appointments that were booked before.
  [
    '0017_booked_by',
    `alter table appointments add column created_by text;
     alter table seeded_appointments add column created_by text;`,
  ],
  [
    '0018_merged_charts',
    `alter table patients add column active_flag text not null default 'Y' check (active_flag in ('Y', 'N'));
     alter table patients add column merged_into text;
     create index patients_by_merge on patients (merged_into) where merged_into is not null;
     alter table documents add column external_ref text;
     create index documents_by_time on documents (created_at);`,
  ],
  [
    '0019_referrals',
    `create sequence referral_ids start 750101;
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
     alter table documents add column referral_id text;
     create index documents_by_referral on documents (referral_id) where referral_id is not null;`,
  ],
  [
    '0020_one_time_links',
    `create table one_time_links (
       token_hash text primary key,
       staff_id text not null references staff on delete cascade,
       path text not null,
       expires_at timestamptz not null
     );`,
  ],
];

/**
 * Applies missing migrations and runs `seed` in one transaction, under a lock: concurrent starts seed only once, and a
 * failed start leaves nothing behind.
 */
export async function migrate(sql: Sql, seed: (sql: Query) => Promise<void>): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${LOCK_KEY})`;
    await rejectOldDatabase(tx);
    await tx`create table if not exists schema_migrations (
      name text primary key, applied_at timestamptz not null default now())`;
    const applied = await tx<{ name: string }[]>`select name from schema_migrations`;
    for (const [name, statements] of migrations) {
      if (applied.some((row) => row.name === name)) continue;
      await tx.unsafe(statements);
      await tx`insert into schema_migrations (name) values (${name})`;
    }
    await seed(tx);
  });
}

/** 'lark' in ASCII. */
const LOCK_KEY = 0x6c61726b;

/** Migrations before 0.1.0 were numbered in a table of another name. */
async function rejectOldDatabase(tx: Query): Promise<void> {
  const [old] = await tx`select from pg_tables where schemaname = 'public' and tablename = 'migrations'`;
  if (!old) return;
  throw new Error(
    'The Larkspur database was created by a version before 0.1.0, which cannot be upgraded. Drop it, or use another one.',
  );
}
