/** Larkspur's own records: what was changed and received, which faults are set, and what was seeded. */
export const control_tables = `
  create table control (
    control_token text not null,
    seeded_on date,
    -- The seed date of the copies in seeded_claims, seeded_blocks and seeded_appointments.
    copies_of date
  );

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
  create trigger task_notes_append_only before update on task_notes for each row execute function reject_update();
  create trigger history_append_only before update on history for each row execute function reject_update();
  create trigger ledger_append_only before update on ledger for each row execute function reject_update();

  -- Copies of what was seeded last, from which a reset on the same day restores the rows.
  create table seeded_claims (like claims);
  create table seeded_blocks (like blocks);
  create table seeded_appointments (like appointments);
`;
