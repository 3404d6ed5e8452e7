import { Alert, Button, CopyButton, Stack, Text } from '@mantine/core';
import { BackLink, PageTitle, Section } from '../../parts/layout.tsx';
import { type Column, DataTable, TableSection } from '../../parts/lists/DataTable.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { AccountName, Fields } from '../../parts/values.tsx';
import { useClient } from '../../service/client.tsx';
import { useQuery } from '../../service/queries.ts';
import type { ConnectionReport, ReportRow } from '../../service/types.ts';
import { describeLinkFailure } from './linkFailures.ts';

/** What was requested from the EMR's server during one sign-in, to share with its vendor's support team. */
export function ConnectionReportPage({ report_id }: { report_id: string }) {
  const { client_id } = useClient();
  const query = useQuery('connection-reports.get', { client_id, report_id });
  return (
    <>
      <BackLink href="/">All accounts</BackLink>
      <PageTitle actions={query.data && <ReportActions report={query.data.report} />}>Connection report</PageTitle>
      <QueryResult query={query}>{({ report }) => <ReportDetails report={report} />}</QueryResult>
    </>
  );
}

function ReportActions({ report }: { report: ConnectionReport }) {
  const json = JSON.stringify(toJson(report), null, 2);
  return (
    <>
      <CopyButton value={json}>
        {({ copied, copy }) => (
          <Button size="sm" variant="default" onClick={copy}>
            {copied ? 'Copied' : 'Copy JSON'}
          </Button>
        )}
      </CopyButton>
      <Button
        size="sm"
        variant="default"
        component="a"
        href={`data:application/json;charset=utf-8,${encodeURIComponent(json)}`}
        download="connection-report.json"
      >
        Download JSON
      </Button>
    </>
  );
}

/** As the API returns it: without our ids. */
function toJson({ report, error_code, error_message, findings }: ConnectionReport) {
  return { ...report, error_code, error_message, findings };
}

function ReportDetails({ report }: { report: ConnectionReport }) {
  const { cause, remedy } = describeLinkFailure(report);
  return (
    <Stack>
      {report.error_message !== null && (
        <Alert color="red" title={cause || 'Sign-in failed'}>
          {remedy}
        </Alert>
      )}
      <Section title="Sign-in">
        <Fields
          of={{
            Account: `${report.org_id} · ${report.user_id}`,
            Address: report.report.address,
            Time: <Timestamp at={report.report.at} show="exact" />,
            ...(report.error_message !== null && { Error: <ReportedError of={report} /> }),
          }}
        />
        <Text size="sm" c="dimmed" mt="xs">
          This report contains no health data, tokens or secrets. You can share it with the EMR vendor’s support team.
        </Text>
      </Section>
      {report.findings.length > 0 && (
        <Section title="Server">
          {report.findings.map((finding) => (
            <Text key={finding} size="sm" className="breakable">
              {finding}
            </Text>
          ))}
        </Section>
      )}
      <Section title="Requests">
        <DataTable
          label="Requests"
          rows={report.report.steps.map((step, index) => ({ ...step, index }))}
          columns={step_columns}
          rowKey={({ index }) => index}
          empty="No requests were recorded."
        />
      </Section>
    </Stack>
  );
}

/** What the application was told, which is less specific than the cause. */
function ReportedError({ of: { error_code, error_message } }: { of: ConnectionReport }) {
  return (
    <>
      <code>{error_code}</code>
      <div className="secondary">{error_message}</div>
    </>
  );
}

type Step = ConnectionReport['report']['steps'][number] & { index: number };

const stage_labels: Record<Step['stage'], string> = { discovery: 'Discovery', sign_in: 'Sign-in', probe: 'Probe' };
const outcome_labels: Record<Step['outcome'], string> = { ok: 'OK', refused: 'Refused', failed: 'Failed' };

const step_columns: Column<Step>[] = [
  { head: 'Stage', cell: ({ stage }) => stage_labels[stage] },
  { head: 'Request', cell: ({ request }) => <span className="breakable">{request}</span>, phone: 'line' },
  { head: 'Status', cell: ({ status }) => status ?? '–', align: 'right' },
  { head: 'Duration (ms)', cell: ({ duration_ms }) => duration_ms, align: 'right' },
  { head: 'Result', cell: ({ outcome }) => outcome_labels[outcome] },
  { head: 'Note', cell: ({ note }) => note ?? '–', phone: 'line' },
];

/** Links that could not be completed. A developer needs their reports most. */
export function FailedLinks({ reports }: { reports: readonly ReportRow[] }) {
  const failed = reports.filter(({ account_id }) => account_id === null);
  return (
    <TableSection
      title="Failed link attempts"
      rows={failed}
      columns={failed_columns}
      rowKey={({ id }) => id}
      href={({ id }) => `/reports/${id}`}
    />
  );
}

const failed_columns: Column<ReportRow>[] = [
  { head: 'Account', cell: (report) => <AccountName account={report} /> },
  { head: 'Address', cell: ({ address }) => <span className="url">{address}</span>, phone: 'line' },
  { head: 'Time', cell: ({ at }) => <Timestamp at={at} />, phone: 'end' },
  {
    head: 'Cause',
    cell: (report) => {
      const { cause, remedy } = describeLinkFailure(report);
      return (
        <div className="wide-cell">
          <Text size="sm">{cause}</Text>
          <div className="secondary">{remedy}</div>
        </div>
      );
    },
    phone: 'line',
  },
];
