import { Alert, Button, Center, Stack, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ErrorAlert } from '../../parts/errors.tsx';
import { list_rows } from '../../parts/Loading.tsx';
import { DocsLink, EmptyState, PageTitle } from '../../parts/layout.tsx';
import { type Column, DataTable, TableSkeleton } from '../../parts/lists/DataTable.tsx';
import { type Filter, FilterBar, MrnSearch, useFilters } from '../../parts/lists/FilterBar.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { saveFile } from '../../parts/saveFile.ts';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { type ApiError, call, callForFile, type ResponseOf, type RowOf } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { useAction, useQuery } from '../../service/queries.ts';
import { useAccountOptions } from '../../service/useAccountOptions.ts';
import { useUrlFilters } from '../../service/useUrlFilters.ts';

type Disclosure = RowOf<'disclosures.search'>;
type Page = ResponseOf<'disclosures.search'>;

const kinds = [
  { value: 'read', label: 'Read by the application' },
  { value: 'agent', label: 'Read by an AI agent' },
  { value: 'stream', label: 'Event stream' },
  { value: 'event', label: 'Webhook' },
  { value: 'view', label: 'Seen by an operator' },
  { value: 'reveal', label: 'Revealed to an operator' },
  { value: 'export', label: 'Exported by an operator' },
  { value: 'emr', label: 'Written to the EMR' },
];

const columns: Column<Disclosure & { n: number }>[] = [
  {
    head: 'Last',
    cell: (row) => (
      <>
        <Timestamp at={row.last_at} show="exact" />
        {row.count > 1 && (
          <Text size="xs" c="dimmed">
            from <Timestamp at={row.first_at} show="exact" />
          </Text>
        )}
      </>
    ),
  },
  {
    head: 'Recipient',
    phone: 'line',
    cell: (row) => (
      <>
        <Text size="sm" className="wide-cell breakable">
          {row.recipient}
        </Text>
        <Secondary parts={[row.user_id, row.org_id]} />
      </>
    ),
  },
  {
    head: 'What',
    phone: 'line',
    cell: (row) => (
      <>
        {kinds.find(({ value }) => value === row.kind)?.label}
        <Secondary parts={[row.event_type ?? row.action]} />
      </>
    ),
  },
  {
    head: 'Where',
    phone: 'line',
    cell: (row) => (
      <>
        <Text size="sm" className="breakable">
          {row.destination ?? (row.addresses.join(', ') || '–')}
        </Text>
        <Secondary parts={[row.endpoint_id, row.confirmed ? null : 'not confirmed, but may have been read']} />
      </>
    ),
  },
  { head: 'Times', cell: (row) => row.count, align: 'right' },
];

/** Who received data about a patient. The patient comes from the patient's page, by ID, or is searched by MRN. */
export default function Disclosures() {
  const { client_id } = useClient();
  const { get, set } = useUrlFilters();
  const organizations = useQuery('organizations.list', { client_id });
  const options = organizations.data?.organizations.map(({ id, org_id }) => ({ value: id, label: org_id }));
  const filters: Filter[] = [
    { name: 'organization_id', label: 'Practice', options: options ?? [] },
    { name: 'account_id', label: 'Account', options: useAccountOptions() },
    { name: 'kind', label: 'What', options: kinds },
    { name: 'from', label: 'From (UTC)', type: 'date' },
    { name: 'to', label: 'To (UTC)', type: 'date' },
  ];
  // An MRN is health data and therefore never in the URL.
  const [mrn, setMrn] = useState('');
  const patient_id = mrn === '' ? get('patient_id') : '';
  const search = { ...useFilters(filters), patient_id, patient_mrn: mrn };
  const searchByMrn = (value: string) => {
    set('patient_id', '');
    setMrn(value);
  };
  const chosen = patient_id !== '' || mrn !== '';
  return (
    <>
      <PageTitle
        subtitle={
          <>
            Who received data about a patient, and when. Viewing this is logged.{' '}
            <DocsLink path="/disclosures">What is counted</DocsLink>
          </>
        }
        actions={chosen && <Exports search={search} />}
      >
        Disclosures
      </PageTitle>
      <FilterBar filters={filters} used={chosen ? 1 : 0} onClear={() => setMrn('')}>
        <MrnSearch mrn={mrn} setMrn={searchByMrn} />
      </FilterBar>
      {chosen ? (
        <List search={search} />
      ) : (
        <EmptyState>Search by MRN, or open a patient under Records and choose “Who received this data”.</EmptyState>
      )}
    </>
  );
}

type Search = Record<string, string>;

/** Without the rows of the previous search while the next one loads: they may be about another patient. */
function useDisclosures(search: Search) {
  const { client_id } = useClient();
  const body = withoutBlanks(search);
  return useInfiniteQuery<Page, ApiError, { rows: Disclosure[]; first: Page | undefined }, unknown[], string | null>({
    queryKey: [[], 'disclosures.search', client_id, body],
    initialPageParam: null,
    queryFn: ({ pageParam, signal }) => {
      const sent = pageParam === null ? body : { ...body, before: pageParam };
      return call('disclosures.search', { client_id }, { body: sent, signal, background: true });
    },
    getNextPageParam: ({ next }) => next,
    select: ({ pages }) => ({ rows: pages.flatMap(({ rows }) => rows), first: pages[0] }),
  });
}

function List({ search }: { search: Search }) {
  const query = useDisclosures(search);
  return (
    <QueryResult query={query} placeholder={<TableSkeleton columns={columns} rows={list_rows} />}>
      {({ rows, first }) => (
        <Stack gap="sm">
          {first && <Notes of={first} practice={search.organization_id !== ''} />}
          <DataTable
            label="Disclosures"
            rows={rows.map((row, n) => ({ ...row, n }))}
            columns={columns}
            rowKey={({ n }) => n}
            empty="No disclosures in this period."
          />
          {query.hasNextPage && (
            <Center>
              <Button variant="default" loading={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
                Load more
              </Button>
            </Center>
          )}
        </Stack>
      )}
    </QueryResult>
  );
}

/** What the list covers. */
function Notes({ of: { patient, collected }, practice }: { of: Page; practice: boolean }) {
  const { standing, merged_charts } = patient;
  const charts = merged_charts === 1 ? '1 chart that was merged' : `${merged_charts} charts that were merged`;
  const notes = [
    merged_charts > 0 && `Includes ${charts} with this one.`,
    standing === 'erased' &&
      'This patient was erased. The audit log and this list remain; they contain no health data, only a keyed hash of the MRN.',
    standing === 'unknown' && practice && 'No patient with this MRN is among the records of the practice.',
    !practice &&
      'All practices of the client with this MRN. Choose one to include merged charts, and to leave out other patients with the same MRN.',
  ].filter((note) => note !== false);
  return (
    <>
      {!collected.complete && (
        <Alert color="yellow" role="status">
          {collected.until === null ? (
            'The audit log has not been collected yet. A worker does so.'
          ) : (
            <>
              Collected up to <Timestamp at={collected.until} show="exact" />. Newer records follow.
            </>
          )}
        </Alert>
      )}
      {notes.length > 0 && (
        <Text size="sm" c="dimmed" role="status">
          {notes.join(' ')}
        </Text>
      )}
    </>
  );
}

function Exports({ search }: { search: Search }) {
  const { client_id } = useClient();
  const { mutate, isPending, variables, error } = useAction<'csv' | 'json'>(async (format) => {
    const body = { ...withoutBlanks(search), format };
    saveFile(`disclosures.${format}`, await callForFile('disclosures.export', { client_id }, { body }));
  });
  return (
    <>
      {(['csv', 'json'] as const).map((format) => (
        <Button
          key={format}
          variant="default"
          loading={isPending && variables === format}
          onClick={() => mutate(format)}
        >
          Export {format.toUpperCase()}
        </Button>
      ))}
      {error && <ErrorAlert error={error} />}
    </>
  );
}

function Secondary({ parts }: { parts: readonly (string | null)[] }) {
  const text = parts.filter((part) => part !== null).join(' · ');
  if (text === '') return null;
  return (
    <Text size="xs" c="dimmed" className="breakable">
      {text}
    </Text>
  );
}

function withoutBlanks(search: Search): Search {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== ''));
}
