import { Group, NativeSelect, NumberInput, Paper, Text, TextInput, Title } from '@mantine/core';
import { useState } from 'react';
import { errorAt } from '../../parts/errors.tsx';
import { FormDialog } from '../../parts/forms/FormDialog.tsx';
import { type Column, DataTable } from '../../parts/lists/DataTable.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { call } from '../../service/api.ts';
import { useQuery } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';
import type { LegalHold, RetentionPeriod } from '../../service/types.ts';

/** How long the data of a client is kept. */
export function Periods({ client_id }: { client_id: string }) {
  const { may } = useSession();
  const query = useQuery('clients.retention.get', { client_id });
  return (
    <Paper withBorder p="md" component="section" aria-label="Retention">
      <QueryResult query={query}>
        {({ periods }) => (
          <>
            <Group justify="space-between" mb="xs">
              <Title order={3} size="h4">
                Retention
              </Title>
              {may('owner') && <ChangePeriods client_id={client_id} periods={periods} />}
            </Group>
            <DataTable
              label="Retention"
              rows={periods}
              columns={period_columns}
              rowKey={({ data }) => data}
              empty="No retention periods."
            />
          </>
        )}
      </QueryResult>
    </Paper>
  );
}

const period_columns: Column<RetentionPeriod>[] = [
  { head: 'Data', cell: ({ label }) => label },
  { head: 'Kept for', cell: ({ days }) => formatDays(days) },
  {
    head: 'Period of',
    cell: ({ own_days, installation_days }) =>
      own_days === null ? 'the installation' : `this client, instead of ${formatDays(installation_days)}`,
  },
];

function formatDays(days: number): string {
  return days === 1 ? '1 day' : `${days} days`;
}

function ChangePeriods({ client_id, periods }: { client_id: string; periods: RetentionPeriod[] }) {
  return (
    <FormDialog
      opener="Change"
      title="Change retention"
      submit="Save"
      success="Saved"
      action={(form) => {
        const entries = periods.map(({ data }) => {
          const text = String(form.get(data) ?? '').trim();
          return [data, text === '' ? null : Number(text)];
        });
        return call('clients.retention.update', { client_id }, { body: Object.fromEntries(entries) });
      }}
    >
      {(error) => (
        <>
          <Text size="sm">
            In days. What is older than a shorter period is deleted within an hour, and cannot be restored.
          </Text>
          {periods.map(({ data, label, own_days, installation_days, days_max }) => (
            <NumberInput
              key={data}
              name={data}
              label={label}
              description={`1 to ${days_max}. Empty: ${installation_days}, the period of the installation`}
              defaultValue={own_days ?? ''}
              min={1}
              max={days_max}
              allowDecimal={false}
              allowNegative={false}
              error={errorAt(error, data)}
            />
          ))}
        </>
      )}
    </FormDialog>
  );
}

/** What must not be deleted, whatever the periods. */
export function LegalHolds({ client_id }: { client_id: string }) {
  const { operator } = useSession();
  const query = useQuery('clients.legal-holds.list', { client_id });
  return (
    <Paper withBorder p="md" component="section" aria-label="Legal holds">
      <QueryResult query={query}>
        {({ legal_holds }) => (
          <>
            <Group justify="space-between" mb="xs">
              <Title order={3} size="h4">
                Legal holds
              </Title>
              {operator.may_hold && <PlaceHold client_id={client_id} />}
            </Group>
            <Text size="sm" c="dimmed" mb="sm">
              While a hold is in force, nothing it covers is deleted, neither by a retention period nor by an erasure.
            </Text>
            <DataTable
              label="Legal holds"
              rows={legal_holds}
              columns={operator.may_hold ? [...hold_columns, liftColumn(client_id)] : hold_columns}
              rowKey={({ id }) => id}
              empty="No legal holds."
            />
          </>
        )}
      </QueryResult>
    </Paper>
  );
}

const hold_columns: Column<LegalHold>[] = [
  { head: 'Reference', cell: ({ reference }) => reference },
  { head: 'Covers', cell: describeCoverage, phone: 'line' },
  {
    head: 'Placed',
    cell: ({ placed_at, placed_by }) => (
      <>
        <Timestamp at={placed_at} />
        <Text size="xs" c="dimmed">
          {placed_by}
        </Text>
      </>
    ),
  },
  {
    head: 'Lifted',
    cell: ({ lifted_at, lifted_by }) => (
      <>
        {lifted_at === null ? 'In force' : <Timestamp at={lifted_at} />}
        {lifted_by !== null && (
          <Text size="xs" c="dimmed">
            {lifted_by}
          </Text>
        )}
      </>
    ),
  },
  { head: 'ID', cell: ({ id }) => <code className="breakable">{id}</code>, phone: 'line' },
];

function describeCoverage({ covers, org_id, patient_mrn, patient_id }: LegalHold): string {
  if (covers === 'client') return 'Everything of this client';
  if (covers === 'organization') return `Practice ${org_id}`;
  return `Patient ${patient_mrn ?? patient_id} of practice ${org_id}`;
}

function liftColumn(client_id: string): Column<LegalHold> {
  return {
    head: 'Actions',
    align: 'right',
    cell: ({ id, reference, lifted_at }) =>
      lifted_at === null && (
        <FormDialog
          opener="Lift"
          title={`Lift hold ${reference}`}
          submit="Lift"
          danger
          success="Lifted"
          action={() => call('clients.legal-holds.lift', { client_id, id }, { body: {} })}
        >
          <Text size="sm">What has expired is then deleted within an hour. This is recorded in the audit log.</Text>
        </FormDialog>
      ),
  };
}

const coverages = [
  { value: 'client', label: 'Everything of this client' },
  { value: 'organization', label: 'A practice' },
  { value: 'patient', label: 'A patient of a practice' },
];

function PlaceHold({ client_id }: { client_id: string }) {
  const [covers, setCovers] = useState('client');
  return (
    <FormDialog
      opener="Place hold"
      title="Place legal hold"
      submit="Place hold"
      success="The hold is in force"
      onOpenChange={() => setCovers('client')}
      action={(form) => {
        const text = (name: string) => String(form.get(name) ?? '').trim();
        return call(
          'clients.legal-holds.create',
          { client_id },
          {
            body: {
              covers: text('covers') as LegalHold['covers'],
              reference: text('reference'),
              ...(covers !== 'client' && { organization: text('organization') }),
              ...(covers === 'patient' && { patient: text('patient') }),
            },
          },
        );
      }}
    >
      {(error) => (
        <>
          <TextInput
            name="reference"
            label="Reference"
            description="What you call the case. It is recorded in the audit log, so name no patient"
            required
            maxLength={200}
            data-autofocus
            error={errorAt(error, 'reference')}
          />
          <NativeSelect
            name="covers"
            label="Covers"
            data={coverages}
            value={covers}
            onChange={(event) => setCovers(event.currentTarget.value)}
          />
          {covers !== 'client' && (
            <TextInput
              name="organization"
              label="Practice"
              description="Its ID or your org_id"
              required
              maxLength={200}
              autoComplete="off"
              error={errorAt(error, 'organization')}
            />
          )}
          {covers === 'patient' && (
            <TextInput
              name="patient"
              label="Patient"
              description="ID or MRN"
              required
              maxLength={200}
              autoComplete="off"
              error={errorAt(error, 'patient')}
            />
          )}
        </>
      )}
    </FormDialog>
  );
}
