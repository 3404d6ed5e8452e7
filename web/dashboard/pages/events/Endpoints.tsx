import { Group } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { textOr } from '../../parts/labels.ts';
import { type Column, DataTable, TableSkeleton } from '../../parts/lists/DataTable.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Status } from '../../parts/Status.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { useClient } from '../../service/client.tsx';
import { useQuery } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';
import type { Webhook } from '../../service/types.ts';
import { AddEndpoint } from './EndpointForm.tsx';
import { endpointStatus, successRate } from './EndpointPage.tsx';

export function Endpoints() {
  const { client_id } = useClient();
  const { may } = useSession();
  const query = useQuery('webhooks.list', { client_id }, { live: ['events'] });
  return (
    <>
      {may('operator') && (
        <Group justify="flex-end" mb="sm">
          <AddEndpoint />
        </Group>
      )}
      <QueryResult query={query} placeholder={<TableSkeleton columns={columns} />}>
        {({ webhooks }) => (
          <DataTable
            label="Endpoints"
            rows={webhooks}
            columns={columns}
            rowKey={(webhook) => webhook.id}
            href={(webhook) => `/endpoints/${webhook.id}`}
            empty={
              <>
                No endpoints yet. Add your application’s URL, or <Link href="/receiver">use the built-in receiver</Link>{' '}
                to see which events are sent.
              </>
            }
          />
        )}
      </QueryResult>
    </>
  );
}

const columns: Column<Webhook>[] = [
  { head: 'URL', cell: (webhook) => <span className="url">{webhook.url}</span> },
  {
    head: 'Status',
    cell: (webhook) => (
      <>
        <Status of={endpointStatus(webhook)} />
        {webhook.built_in && <div className="secondary">Built-in receiver</div>}
      </>
    ),
  },
  { head: 'Reason', cell: renderReason },
  { head: 'Attempts (24 h)', cell: successRate },
  { head: 'Pending', cell: (webhook) => webhook.pending.toLocaleString(), align: 'right' },
  { head: 'Last success', cell: (webhook) => <Timestamp at={webhook.last_success_at} /> },
];

/** Why deliveries fail, or why the endpoint is disabled. */
function renderReason({ disabled_reason, problem, failing_since }: Webhook): ReactNode {
  if (disabled_reason === null && problem === null && failing_since === null) return '–';
  return (
    <div className="reason">
      {disabled_reason ?? textOr(problem, 'Deliveries are failing.')}
      {failing_since !== null && (
        <div className="secondary">
          Since <Timestamp at={failing_since} show="clock" />
        </div>
      )}
    </div>
  );
}
