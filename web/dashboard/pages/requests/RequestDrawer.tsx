import { Alert, Anchor, Drawer, Group, Stack, Text } from '@mantine/core';
import { Link } from 'wouter';
import { fieldLabel } from '../../parts/labels.ts';
import { formatBytes } from '../../parts/PayloadViewer.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Copyable, CopyValue, Fields } from '../../parts/values.tsx';
import type { RowOf } from '../../service/api.ts';
import { curl } from '../jobs/curl.ts';
import { findPath, findPattern } from './requestPath.ts';
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
  const { client_id, job_id, code, message, remedy } = request;
  return (
    <Stack>
      {code !== null && (
        <Alert color={request.status >= 500 ? 'red' : 'orange'} title={message ?? fieldLabel(code)}>
          <Stack gap="xs">
            {message === null && (
              <Text size="sm">The message that was sent is not stored, because it can quote the request.</Text>
            )}
            {remedy && <Text size="sm">{remedy}</Text>}
            <Anchor href={`/docs/reference/errors#${code}`} size="sm" underline="always">
              About {code}
            </Anchor>
          </Stack>
        </Alert>
      )}
      <Fields
        of={{
          Status: <StatusCode status={request.status} />,
          ...(job_id !== null &&
            client_id !== null && {
              Job: (
                <Anchor component={Link} href={`~/dashboard/clients/${client_id}/jobs/${job_id}`} size="sm">
                  Job {job_id}
                </Anchor>
              ),
            }),
          Time: <Timestamp at={request.at} show="exact" />,
          Duration: `${request.duration_ms.toLocaleString()} ms`,
          ...(request.response_bytes !== null && { Response: formatBytes(request.response_bytes) }),
          Endpoint: <code>{findPattern(request)}</code>,
          Client: request.client_name ?? 'Unauthenticated',
          Account: request.account,
          'Request ID': <Copyable value={request.id} label="request ID" />,
          ...(code !== null && { 'Error code': <code>{code}</code> }),
          ...(request.field !== null && { Field: <code>{request.field}</code> }),
        }}
      />
      <Group>
        <CopyValue value={curl(request.method, findPath(request))}>Copy as curl</CopyValue>
      </Group>
    </Stack>
  );
}
