import { Alert, Anchor, Drawer, Group, Stack, Text } from '@mantine/core';
import { Link } from 'wouter';
import { fieldLabel } from '../../parts/labels.ts';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Copyable, CopyValue, Fields } from '../../parts/values.tsx';
import { error_messages } from '../../service/api.gen.ts';
import type { RowOf } from '../../service/api.ts';
import { curl } from '../jobs/curl.ts';
import { findPath } from './requestPath.ts';
import { StatusCode } from './StatusCode.tsx';

type RequestRow = RowOf<'requests.list'>;

/** One request: what it was, why it failed, and the job it queued. */
export function RequestDrawer({ request, onClose }: { request: RequestRow | undefined; onClose: () => void }) {
  return (
    <Drawer
      opened={request !== undefined}
      onClose={onClose}
      position="right"
      size="lg"
      title={request ? `${request.method} ${findPath(request)}` : ''}
    >
      {request && <Details request={request} />}
    </Drawer>
  );
}

function Details({ request }: { request: RequestRow }) {
  const { client_id, job_id } = request;
  return (
    <Stack>
      {request.code !== null && (
        <Alert color={request.status >= 500 ? 'red' : 'orange'} title={fieldLabel(request.code)}>
          <Text size="sm">{describeError(request)}</Text>
        </Alert>
      )}
      <Fields
        of={{
          Status: <StatusCode status={request.status} />,
          Time: <Timestamp at={request.at} show="exact" />,
          Duration: `${request.duration_ms.toLocaleString()} ms`,
          Client: request.client_name ?? 'Unauthenticated',
          Account: request.account,
          'Request ID': <Copyable value={request.id} label="request ID" />,
          ...(request.code !== null && { 'Error code': <code>{request.code}</code> }),
          ...(request.field !== null && { Field: <code>{request.field}</code> }),
          ...(job_id !== null &&
            client_id !== null && {
              Job: (
                <Anchor component={Link} href={`~/dashboard/clients/${client_id}/jobs/${job_id}`} size="sm">
                  Job {job_id}
                </Anchor>
              ),
            }),
        }}
      />
      <Group>
        <CopyValue value={curl(request.method, findPath(request))}>Copy as curl</CopyValue>
      </Group>
    </Stack>
  );
}

/** The message of the error catalogue; what stood in its placeholders is not stored, except for the field. */
function describeError({ code, field }: RequestRow): string {
  const message = (error_messages as Record<string, string>)[code ?? ''] ?? '';
  return message.replaceAll(/\{(\w+)\}/g, (_, name: string) => (name === 'field' && field ? field : '…'));
}
