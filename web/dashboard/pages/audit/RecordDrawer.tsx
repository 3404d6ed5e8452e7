import { Badge, Code, Drawer, Group, Paper, Stack, Text } from '@mantine/core';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Copyable, Fields } from '../../parts/values.tsx';
import type { AuditRecord, RecordGroup } from './groupReads.ts';

type Props = { group: RecordGroup | undefined; onClose: () => void };

/** The records behind a sentence, as they are stored, signed and exported. */
export function RecordDrawer({ group, onClose }: Props) {
  return (
    <Drawer
      opened={group !== undefined}
      onClose={onClose}
      position="right"
      size="lg"
      title={group?.first.sentence ?? ''}
    >
      {group && (
        <Stack>
          {group.records.map((record) => (
            <Paper key={record.id} withBorder p="md">
              <Record record={record} />
            </Paper>
          ))}
        </Stack>
      )}
    </Drawer>
  );
}

function Record({ record }: { record: AuditRecord }) {
  const { detail } = record;
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Timestamp at={record.at} show="exact" />
        <Result record={record} />
      </Group>
      <Fields
        of={{
          Action: <code>{record.action}</code>,
          Outcome: <code>{record.outcome}</code>,
          Patients: record.patients,
          Actor: <code>{record.actor}</code>,
          Client: record.client_name,
          Account: record.account,
          Job: record.job_id,
          Subject: record.subject && <code>{record.subject}</code>,
          'IP address': record.address,
          Position: record.position ?? 'Not in the chain yet',
          ...(record.request_id !== null && { 'Request ID': <code>{record.request_id}</code> }),
          'Record ID': <Copyable value={record.id} label="record ID" />,
        }}
      />
      {detail !== null && (
        <Code block className="wrapped">
          {JSON.stringify(detail, null, 2)}
        </Code>
      )}
    </Stack>
  );
}

/** Only what did not succeed has a color. */
export function Result({ record: { result, failed } }: { record: AuditRecord }) {
  return failed ? (
    <Badge color="orange" variant="light">
      {result}
    </Badge>
  ) : (
    <Text size="sm" component="span">
      {result}
    </Text>
  );
}
