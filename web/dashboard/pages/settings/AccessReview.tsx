import { Alert, Button, Group, SegmentedControl, Stack, Text, Textarea, Title } from '@mantine/core';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { ActionButton } from '../../parts/forms/ActionButton.tsx';
import { FormDialog, primary } from '../../parts/forms/FormDialog.tsx';
import { type Column, DataTable } from '../../parts/lists/DataTable.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Status } from '../../parts/Status.tsx';
import { saveFile } from '../../parts/saveFile.ts';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { call, callForFile, type ResponseOf } from '../../service/api.ts';
import { useQuery } from '../../service/queries.ts';
import { role_labels } from '../../service/types.ts';
import { useClientOptions } from '../../service/useClientOptions.ts';

type Row = ResponseOf<'access.get'>['access'][number];
type ReviewRow = ResponseOf<'access-reviews.list'>['reviews'][number];
type Review = ResponseOf<'access-reviews.get'>['review'];
type Decision = NonNullable<Review['decisions']>[string];

const kinds: Record<Row['kind'], string> = {
  operator: 'Operator',
  invitation: 'Invitation',
  client_secret: 'Client secret',
  client: 'Client without secrets',
};

const ways: Record<Row['sign_in'][number] | Row['second_factor'][number], string> = {
  password: 'Password',
  passkey: 'Passkey',
  single_sign_on: 'Single sign-on',
  authenticator_app: 'Authenticator app',
  identity_provider: 'Identity provider',
};

/** `read_only in ci_test_1` as “Read-only in Sandbox”, `read_write` of a secret as “Read and write”. */
function Right({ of }: { of: string }) {
  const clients = useClientOptions();
  const [, role = '', where = ''] = /^(\w+) in (.+)$/.exec(of) ?? [];
  if (isRole(role)) {
    const client = clients.find(({ value }) => value === where)?.label ?? where;
    return <div>{`${role_labels[role]} in ${client}`}</div>;
  }
  // IDs of organizations stay as they are.
  const words = { read_write: 'read and write', read_only: 'read only' }[of] ?? of;
  return <div>{words.replace(/^./, (letter) => letter.toUpperCase())}</div>;
}

function isRole(text: string): text is keyof typeof role_labels {
  return Object.hasOwn(role_labels, text);
}

const columns: Column<Row>[] = [
  {
    head: 'Who',
    cell: ({ kind, name, account, label }) => (
      <>
        <span className="breakable">
          {kind === 'operator' || kind === 'invitation' ? account : `${name} ${label ?? ''}`}
        </span>
        <div className="secondary">{kinds[kind]}</div>
      </>
    ),
  },
  { head: 'Rights', cell: ({ rights }) => rights.map((right) => <Right key={right} of={right} />) },
  {
    head: 'Sign-in',
    cell: ({ sign_in, second_factor }) => (
      <>
        {sign_in.map((way) => ways[way]).join(', ') || '–'}
        {sign_in.length > 0 && (
          <div className="secondary">
            {second_factor.length === 0
              ? 'No second factor'
              : `Second factor: ${second_factor.map((way) => ways[way].toLowerCase()).join(', ')}`}
          </div>
        )}
      </>
    ),
  },
  {
    head: 'Created',
    cell: ({ created_at, created_by }) => (
      <>
        <Timestamp at={created_at} />
        <div className="secondary breakable">{created_by === null ? '' : `by ${created_by}`}</div>
      </>
    ),
  },
  {
    head: 'Last used',
    cell: ({ last_used_at, last_sign_in_at }) => (
      <>
        <Timestamp at={last_used_at} />
        {last_sign_in_at && (
          <div className="secondary">
            Sign-in <Timestamp at={last_sign_in_at} />
          </div>
        )}
      </>
    ),
  },
  { head: 'Status', cell: ({ status }) => <Status of={status} /> },
];

const review_columns: Column<ReviewRow>[] = [
  { head: 'Started', cell: ({ started_at }) => <Timestamp at={started_at} /> },
  { head: 'Started by', cell: ({ started_by }) => started_by },
  {
    head: 'Attested',
    cell: ({ attested_at, attested_by }) =>
      attested_at === null ? (
        'Not yet'
      ) : (
        <>
          <Timestamp at={attested_at} />
          <div className="secondary">{attested_by}</div>
        </>
      ),
  },
  {
    head: 'Review',
    cell: ({ id, attested_at }) => (
      <Button size="compact-sm" variant="default" component={Link} href={`/access/${id}`}>
        {attested_at === null ? 'Continue' : 'Open'}
      </Button>
    ),
  },
];

/** Who has access now, and the reviews so far. */
export function Access() {
  const report = useQuery('access.get', {});
  const reviews = useQuery('access-reviews.list', {});
  const [, navigate] = useLocation();
  return (
    <>
      <Group justify="space-between" mb="sm">
        <Text c="dimmed" size="sm">
          Operators, invitations and client secrets. A review records which of them were confirmed.
        </Text>
        <Group gap="xs">
          <ActionButton size="sm" action={async () => saveFile('access.csv', await callForFile('access.export', {}))}>
            Export CSV
          </ActionButton>
          <ActionButton size="sm" action={async () => saveJson('access.json', await call('access.get', {}))}>
            Export JSON
          </ActionButton>
          <ActionButton
            {...primary}
            action={async () => navigate(`/access/${(await call('access-reviews.create', {})).id}`)}
          >
            Start review
          </ActionButton>
        </Group>
      </Group>
      <QueryResult query={report}>
        {({ access }) => (
          <DataTable
            label="Access"
            rows={access}
            columns={columns}
            rowKey={({ id }) => id}
            empty="Nobody has access."
          />
        )}
      </QueryResult>
      <Title order={2} size="h4" mt="lg" mb="sm">
        Reviews
      </Title>
      <QueryResult query={reviews}>
        {({ reviews }) => (
          <DataTable
            label="Reviews"
            rows={reviews}
            columns={review_columns}
            rowKey={({ id }) => id}
            empty="No review yet."
          />
        )}
      </QueryResult>
    </>
  );
}

/** One review: open, or as it was attested. */
export function AccessReview({ id }: { id: string }) {
  const query = useQuery('access-reviews.get', { id });
  return (
    <QueryResult query={query}>
      {({ review }) => (review.decisions ? <Attested review={review} /> : <OpenReview review={review} />)}
    </QueryResult>
  );
}

function OpenReview({ review: { id, rows, started_at, started_by } }: { review: Review }) {
  const [decisions, setDecisions] = useState<Record<string, Decision>>({});
  const [, navigate] = useLocation();
  const missing = rows.filter((row) => decisions[row.id] === undefined).length;
  const decide = (changed: Record<string, Decision>) => setDecisions((before) => ({ ...before, ...changed }));
  const confirmRest = () => {
    const rest = rows.filter((row) => decisions[row.id] === undefined);
    decide(Object.fromEntries(rest.map((row) => [row.id, 'confirmed' as const])));
  };
  const decision_column: Column<Row> = {
    head: 'Decision',
    cell: (row) => (
      <SegmentedControl
        size="xs"
        aria-label={`Decision about ${row.account}`}
        value={decisions[row.id] ?? ''}
        onChange={(value) => decide({ [row.id]: value as Decision })}
        data={[
          { value: 'confirmed', label: 'Confirm' },
          { value: 'remove', label: 'Remove' },
        ]}
      />
    ),
  };
  return (
    <>
      <Group justify="space-between" mb="sm">
        <Text c="dimmed" size="sm">
          Access as it was <Timestamp at={started_at} show="clock" />, when {started_by} started this review. A decision
          changes nothing by itself.
        </Text>
        <Group gap="xs">
          <Button size="sm" variant="default" onClick={confirmRest} disabled={missing === 0}>
            Confirm the rest
          </Button>
          <FormDialog
            opener="Attest"
            title="Attest this review"
            submit="Attest"
            look={primary}
            success="Attested"
            action={(form) =>
              call('access-reviews.attest', { id }, { body: { decisions: toList(decisions), note: readNote(form) } })
            }
          >
            <Text size="sm">
              {missing > 0
                ? `${missing} of ${rows.length} rows have no decision yet. Close this dialog and decide about them first.`
                : `${rows.length} rows, ${Object.values(decisions).filter((each) => each === 'remove').length} of them to be removed. An attested review cannot be changed.`}
            </Text>
            <Textarea name="note" label="Note" maxLength={2_000} autosize minRows={2} />
          </FormDialog>
          <ActionButton
            size="sm"
            action={async () => {
              await call('access-reviews.discard', { id });
              navigate('/access');
            }}
          >
            Discard
          </ActionButton>
        </Group>
      </Group>
      <DataTable
        label="Access to review"
        rows={rows}
        columns={[...columns, decision_column]}
        rowKey={(row) => row.id}
        empty="Nobody has access."
      />
    </>
  );
}

function Attested({ review }: { review: Review }) {
  const { id, rows, decisions, remaining, intact, note, hash, attested_by, attested_at, started_at } = review;
  const decision_column: Column<Row> = {
    head: 'Decision',
    cell: (row) => (
      <>
        <Status of={decisions?.[row.id] ?? 'unknown'} />
        {remaining.includes(row.id) && <div className="secondary">Still has access</div>}
      </>
    ),
  };
  return (
    <Stack gap="sm">
      {!intact && (
        <Alert color="red" title="This review was changed in the database">
          Compare it with its record in the audit log.
        </Alert>
      )}
      <Group justify="space-between">
        <Text size="sm">
          Attested by {attested_by} <Timestamp at={attested_at} show="clock" />, for the access of{' '}
          <Timestamp at={started_at} show="clock" />.
        </Text>
        <Group gap="xs">
          <ActionButton
            size="sm"
            action={async () => saveFile('access-review.csv', await callForFile('access-reviews.export', { id }))}
          >
            Export CSV
          </ActionButton>
          <ActionButton size="sm" action={async () => saveJson('access-review.json', review)}>
            Export JSON
          </ActionButton>
        </Group>
      </Group>
      {note && <Text size="sm">{note}</Text>}
      <Text size="xs" c="dimmed" className="breakable">
        SHA-256 {hash}
      </Text>
      <DataTable
        label="Reviewed access"
        rows={rows}
        columns={[...columns, decision_column]}
        rowKey={(row) => row.id}
        empty="Nobody had access."
      />
    </Stack>
  );
}

function toList(decisions: Record<string, Decision>): { id: string; decision: Decision }[] {
  return Object.entries(decisions).map(([id, decision]) => ({ id, decision }));
}

function readNote(form: FormData): string {
  return String(form.get('note') ?? '').replaceAll('\r\n', '\n');
}

function saveJson(name: string, value: object): void {
  saveFile(name, new Blob([JSON.stringify(value, null, 2)], { type: 'application/json' }));
}
