import { Group, NumberInput, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { errorAt } from '../../parts/errors.tsx';
import { FormDialog } from '../../parts/forms/FormDialog.tsx';
import { type Column, DataTable } from '../../parts/lists/DataTable.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Fields } from '../../parts/values.tsx';
import { type ApiError, call } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { useSession } from '../../service/session.tsx';
import type { Account, IdentifierSample, Organization } from '../../service/types.ts';
import { formatVisitTypes, parseVisitTypes } from './visitTypes.ts';

/** How the EMR's server is used: which identifier is the MRN, how many writes run at the same time, its visit types. */
export function ServerSettings({ organization }: { organization: Organization }) {
  const { may } = useSession();
  const { mrn, measured_max, sets_visit_types, settings, accounts } = organization;
  if (!mrn && measured_max === null && !sets_visit_types) return null;
  const active = accounts.find(({ status }) => status === 'active');
  return (
    <details className="more">
      <summary>Server settings</summary>
      <Fields
        of={{
          ...(mrn && { 'MRN identifier': describeRule(mrn) }),
          ...(sets_visit_types && {
            'Visit types': settings.visit_types?.map(({ description }) => description).join(', ') || 'Not set',
          }),
          ...Object.fromEntries(
            accounts
              .filter(({ status, parallel_writes }) => status !== 'revoked' && parallel_writes)
              .map((account) => [
                `Parallel writes (${account.user_id})`,
                <ParallelWrites key={account.id} of={account} />,
              ]),
          ),
        }}
      />
      {may('operator') && (
        <Group mt="xs" mb="sm">
          <EditSettings organization={organization} />
          {mrn && active && <ShowIdentifiers account={active} />}
        </Group>
      )}
    </details>
  );
}

type Rule = NonNullable<Organization['mrn']>;

const sources: Record<Rule['source'], string> = {
  organization: 'set for this organization',
  app: 'set for the EMR app',
  guess: 'detected from a sample of patients',
  none: '',
};

function describeRule({ system, type, source }: Rule): string {
  if (source === 'none')
    return 'Automatic for each patient: type MR, then PT, then the usual identifier, then the EMR’s ID';
  const parts = [type && `type ${type}`, system && `system ${system}`].filter(Boolean);
  return `${parts.join(', ').replace(/^./, (letter) => letter.toUpperCase())} (${sources[source]})`;
}

type Parallel = NonNullable<Account['parallel_writes']>;

const reasons: Record<Parallel['reason'], string> = {
  start: 'Raised after 20 records were created without a failure',
  creates: 'Raised because the EMR created 20 records without a failure',
  too_busy: 'Lowered because the EMR reported too many requests',
  collided: 'Lowered because writes collided in the EMR',
  failed: 'Lowered because the EMR failed during parallel writes',
  setting: 'Lowered by an operator',
};

function ParallelWrites({ of: { parallel_writes } }: { of: Account }) {
  if (!parallel_writes) return null;
  const { now, max, reason, at, held_until } = parallel_writes;
  return (
    <span>
      {now} of at most {max}. {reasons[reason]}
      {at !== null && reason !== 'start' && (
        <>
          {' '}
          (<Timestamp at={at} show="clock" />)
        </>
      )}
      {held_until !== null && (
        <>
          , measured again from <Timestamp at={held_until} show="clock" />
        </>
      )}
    </span>
  );
}

function EditSettings({ organization }: { organization: Organization }) {
  const { client_id } = useClient();
  const { settings, mrn, measured_max, sets_visit_types } = organization;
  return (
    <FormDialog
      opener="Edit server settings"
      title={`Server settings for ${organization.org_id}`}
      submit="Save"
      action={(form) => {
        const text = (name: string) => String(form.get(name) ?? '').trim() || null;
        const parallel = text('parallel_writes_max');
        const body = {
          ...(mrn && { mrn_system: text('mrn_system'), mrn_type: text('mrn_type') }),
          ...(measured_max !== null && { parallel_writes_max: parallel === null ? null : Number(parallel) }),
          ...(sets_visit_types && { visit_types: parseVisitTypes(text('visit_types') ?? '') }),
        };
        return call('emr-settings.update', { client_id, organization_id: organization.id }, { body });
      }}
    >
      {(error) => (
        <>
          {mrn && <MrnFields setting={settings} error={error} />}
          {mrn && <Text size="sm">Changing the MRN identifier re-reads all records from the EMR.</Text>}
          {measured_max !== null && (
            <NumberInput
              name="parallel_writes_max"
              label="Parallel writes"
              description={`Maximum parallel writes per account. Leave empty for ${measured_max}`}
              defaultValue={settings.parallel_writes_max ?? ''}
              min={1}
              max={16}
              allowDecimal={false}
              error={errorAt(error, 'parallel_writes_max')}
            />
          )}
          {sets_visit_types && (
            <Textarea
              name="visit_types"
              label="Visit types"
              description="This EMR does not list its visit types. One per line: code, description, minutes"
              placeholder="5, Office visit, 15"
              defaultValue={formatVisitTypes(settings.visit_types ?? [])}
              autosize
              minRows={3}
              error={errorAt(error, 'visit_types')}
            />
          )}
        </>
      )}
    </FormDialog>
  );
}

/** The fields of a rule for MRNs, also for an EMR app. */
export function MrnFields({
  setting,
  error,
}: {
  setting?: { mrn_system: string | null; mrn_type: string | null };
  error: ApiError | null;
}) {
  return (
    <>
      <TextInput
        name="mrn_system"
        label="MRN identifier: system"
        description="System URI of the MRN identifier. Leave both fields empty to detect it"
        defaultValue={setting?.mrn_system ?? ''}
        maxLength={500}
        error={errorAt(error, 'mrn_system')}
      />
      <TextInput
        name="mrn_type"
        label="MRN identifier: type"
        description="Type code, for example MR"
        defaultValue={setting?.mrn_type ?? ''}
        maxLength={50}
        error={errorAt(error, 'mrn_type')}
      />
    </>
  );
}

/** Identifiers as the EMR returns them now: they are not stored. */
function ShowIdentifiers({ account }: { account: Account }) {
  const { client_id } = useClient();
  return (
    <FormDialog
      opener="Show identifiers"
      title="Patient identifiers"
      submit="Read from the EMR"
      action={() => call('accounts.identifiers', { client_id, account_id: account.id })}
      done={({ sample }) => <Identifiers sample={sample} />}
    >
      <Text size="sm">
        Reads the identifiers of a few patients and shows the last two characters of each. Viewing this is logged.
      </Text>
    </FormDialog>
  );
}

function Identifiers({ sample }: { sample: IdentifierSample }) {
  return (
    <Stack gap="xs">
      <Text size="sm">{sample.patients} patients</Text>
      <DataTable
        label="Identifiers"
        rows={sample.identifiers}
        columns={identifier_columns}
        rowKey={({ system, type }) => `${system} ${type}`}
        empty="The EMR returned no identifiers. Ask its administrator for access to them."
      />
    </Stack>
  );
}

const identifier_columns: Column<IdentifierSample['identifiers'][number]>[] = [
  { head: 'Type', cell: ({ type }) => type ?? '–' },
  { head: 'System', cell: ({ system }) => <span className="breakable">{system ?? '–'}</span> },
  { head: 'Patients', cell: ({ patients }) => patients, align: 'right' },
  { head: 'Examples', cell: ({ examples }) => examples.join(', ') },
];
