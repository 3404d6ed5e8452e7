import { Button, Group, Modal, Stack, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { ActionButton } from '../../parts/forms/ActionButton.tsx';
import { FormDialog } from '../../parts/forms/FormDialog.tsx';
import { fieldLabel } from '../../parts/labels.ts';
import { PageTitle } from '../../parts/layout.tsx';
import { type Column, DataTable } from '../../parts/lists/DataTable.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Status } from '../../parts/Status.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Copyable, Fields } from '../../parts/values.tsx';
import { call, type ResponseOf } from '../../service/api.ts';
import { useQuery } from '../../service/queries.ts';

type Approval = ResponseOf<'approvals.list'>['approvals'][number];

const action_column: Column<Approval> = {
  head: 'Action',
  cell: ({ summary, client, subject }) => (
    <>
      {summary}
      <div className="secondary">{[client?.name ?? client?.client_id, subject].filter(Boolean).join(' · ')}</div>
    </>
  ),
};

const request_column: Column<Approval> = {
  head: 'Requested by',
  cell: ({ requested_by, requested_at, own }) => (
    <>
      {own ? 'You' : requested_by}
      <div className="secondary">
        <Timestamp at={requested_at} />
      </div>
    </>
  ),
};

type Outcome = { summary: string; result: ResponseOf<'approvals.run'>['result'] };

function openColumns(onRun: (outcome: Outcome) => void): Column<Approval>[] {
  return [
    action_column,
    request_column,
    { head: 'Status', cell: ({ state }) => <Status of={state === 'pending' ? 'waiting' : state} /> },
    { head: 'Expires', cell: ({ expires_at }) => <Timestamp at={expires_at} /> },
    { head: 'Decision', cell: (approval) => <Actions of={approval} onRun={onRun} /> },
  ];
}

const ended_columns: Column<Approval>[] = [
  action_column,
  request_column,
  {
    head: 'Status',
    cell: ({ state, reason }) => (
      <>
        <Status of={state} />
        {reason && <div className="secondary">{reasons[reason]}</div>}
      </>
    ),
  },
  {
    head: 'Decided by',
    cell: ({ decided_by, decided_at }) => (
      <>
        {decided_by ?? '–'}
        {decided_at && (
          <div className="secondary">
            <Timestamp at={decided_at} />
          </div>
        )}
      </>
    ),
  },
];

const reasons: Record<NonNullable<Approval['reason']>, string> = {
  withdrawn: 'Withdrawn',
  requester_changed: 'The requester lost access',
  approver_changed: 'The approver lost access',
  restored: 'The database was restored from a backup',
};

/** Actions that need a second person. */
export default function Approvals() {
  const query = useQuery('approvals.list', {}, { refresh_ms: 30_000 });
  // Kept by the page: the row of what has run moves to the other table, and a secret is shown only once.
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  return (
    <>
      <PageTitle>Approvals</PageTitle>
      <Modal
        opened={outcome !== null}
        onClose={() => setOutcome(null)}
        title={outcome?.summary}
        closeOnClickOutside={false}
      >
        <Stack>
          {outcome && <Result of={outcome.result} />}
          <Group justify="flex-end">
            <Button onClick={() => setOutcome(null)}>Done</Button>
          </Group>
        </Stack>
      </Modal>
      <Text c="dimmed" size="sm" mb="sm">
        A second operator with the same right approves these actions. They run exactly as they were requested.
      </Text>
      <QueryResult query={query}>
        {({ approvals }) => (
          <>
            <DataTable
              label="Open approvals"
              rows={approvals.filter(isOpen)}
              columns={openColumns(setOutcome)}
              rowKey={({ id }) => id}
              empty="Nothing is waiting for approval."
            />
            {approvals.some((each) => !isOpen(each)) && (
              <>
                <Title order={2} size="h4" mt="lg" mb="sm">
                  Ended
                </Title>
                <DataTable
                  label="Ended approvals"
                  rows={approvals.filter((each) => !isOpen(each))}
                  columns={ended_columns}
                  rowKey={({ id }) => id}
                  empty=""
                />
              </>
            )}
          </>
        )}
      </QueryResult>
    </>
  );
}

function isOpen({ state }: Approval): boolean {
  return state === 'pending' || state === 'approved';
}

function Actions({ of, onRun }: { of: Approval; onRun: (outcome: Outcome) => void }) {
  const { id, content_hash } = of;
  return (
    <Group gap="xs">
      {of.can_decide && (
        <>
          <FormDialog
            opener="Review"
            title={of.summary}
            submit="Approve"
            success={of.returns_secret ? 'Approved. The requester can now run it.' : 'Approved and run'}
            action={() => call('approvals.approve', { id }, { body: { content_hash } })}
          >
            <Details of={of} />
            <Text size="sm">
              {of.returns_secret
                ? 'After you approve it, the requester runs it and sees the result.'
                : 'It runs as soon as you approve it.'}
            </Text>
          </FormDialog>
          <ActionButton
            action={() => call('approvals.refuse', { id }, { body: { content_hash } })}
            done={() => 'Refused'}
          >
            Refuse
          </ActionButton>
        </>
      )}
      {of.can_run && (
        <FormDialog
          opener="Run"
          title={of.summary}
          submit="Run"
          action={async () => onRun({ summary: of.summary, result: (await call('approvals.run', { id })).result })}
        >
          <Details of={of} />
          <Text size="sm">{of.returns_secret && of.own ? 'The result is shown once.' : 'It was approved.'}</Text>
        </FormDialog>
      )}
      {of.own && (
        <ActionButton action={() => call('approvals.withdraw', { id })} done={() => 'Withdrawn'}>
          Withdraw
        </ActionButton>
      )}
      {!of.can_decide && !of.can_run && !of.own && '–'}
    </Group>
  );
}

function Details({ of }: { of: Approval }) {
  const { client, subject, requested_by, content, content_hash } = of;
  const values = Object.fromEntries(content.map(({ name, value }) => [fieldLabel(name), value]));
  return (
    <Fields
      of={{
        'Requested by': requested_by,
        ...(client && { Client: client.name ?? client.client_id }),
        ...(subject && { About: subject }),
        ...values,
        Hash: <span className="breakable">{content_hash}</span>,
      }}
    />
  );
}

/** The texts of a response, such as a secret or a link. Only the requester gets them. */
function Result({ of }: { of: Outcome['result'] }) {
  const texts = Object.entries({ ...of }).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).map(([inner, text]) => [inner, text] as const)
      : [[name, value] as const],
  );
  return (
    <Stack gap="xs">
      <Text size="sm">
        {texts.length > 0 ? 'Copy what you need now: it is not shown again.' : 'The action has run.'}
      </Text>
      {texts.map(([name, text]) => (
        <div key={name}>
          <Text size="sm" fw={500}>
            {fieldLabel(name)}
          </Text>
          <Copyable label={fieldLabel(name).toLowerCase()} value={String(text)} />
        </div>
      ))}
    </Stack>
  );
}
