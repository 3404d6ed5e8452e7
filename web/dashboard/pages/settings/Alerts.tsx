import { Anchor, Box, Code, Group, List, Stack, Text, Title } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { ActionButton } from '../../parts/forms/ActionButton.tsx';
import { DocsLink, Section } from '../../parts/layout.tsx';
import { type Column, DataTable } from '../../parts/lists/DataTable.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Status } from '../../parts/Status.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Fields } from '../../parts/values.tsx';
import { call, type ResponseOf } from '../../service/api.ts';
import { useQuery } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';

type AlertsData = ResponseOf<'alerts.list'>['alerts'];
type Channel = AlertsData['channels'][number];
type ListedAlert = AlertsData['open'][number];
type TestResult = ResponseOf<'alerts.test'>['results'][number];

const channel_labels: Record<Channel['name'], string> = { email: 'Email', webhook: 'Webhook' };

/** Alerts are evaluated at this interval. */
const refresh_ms = 15_000;

export function Alerts() {
  const query = useQuery('alerts.list', {}, { refresh_ms });
  return (
    <QueryResult query={query}>
      {({ alerts }) => (
        <Stack gap="xl">
          <Channels alerts={alerts} />
          <Part title="Open alerts">
            <DataTable
              label="Open alerts"
              rows={alerts.open}
              columns={open_columns}
              rowKey={(alert) => alert.id}
              empty={
                <>
                  All clear. Conditions are checked every 15 seconds.{' '}
                  <DocsLink path="/alerts">See what is checked</DocsLink>.
                </>
              }
            />
          </Part>
          <Part title="Recently resolved">
            <DataTable
              label="Recently resolved"
              rows={alerts.recent}
              columns={recent_columns}
              rowKey={(alert) => alert.id}
              empty="No resolved alerts in the last 90 days. An alert moves here when its cause is fixed."
            />
          </Part>
        </Stack>
      )}
    </QueryResult>
  );
}

/** A heading above a table, which has a frame of its own. */
function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title}>
      <Title order={2} size="h4" mb="sm">
        {title}
      </Title>
      {children}
    </section>
  );
}

const shared_columns: Column<ListedAlert>[] = [
  { head: 'Severity', cell: ({ severity }) => <Status of={severity} /> },
  { head: 'Alert', cell: (alert) => <Description of={alert} />, phone: 'line' },
  { head: 'Opened', cell: ({ opened_at }) => <Timestamp at={opened_at} />, phone: 'end' },
];
const messages_column: Column<ListedAlert> = { head: 'Notified', cell: ({ messages }) => <Messages of={messages} /> };
const open_columns = [...shared_columns, messages_column];
const recent_columns: Column<ListedAlert>[] = [
  ...shared_columns,
  { head: 'Resolved', cell: ({ resolved_at }) => <Timestamp at={resolved_at} /> },
  messages_column,
];

function Description({ of: { title, summary, remedy, page, resolved_at } }: { of: ListedAlert }) {
  return (
    <Box className="wide-cell">
      <Anchor component={Link} href={`~/dashboard${page}`} size="sm" fw={600}>
        {title}
      </Anchor>
      <Text size="sm">{summary}</Text>
      {resolved_at === null && <div className="secondary">{remedy}</div>}
    </Box>
  );
}

function Messages({ of }: { of: ListedAlert['messages'] }) {
  if (of.length === 0) return <>–</>;
  return of.map(({ channel, state, sent_at }) => (
    <Box key={channel} className="wide-cell">
      {channel_labels[channel]}: {sent_at === null ? state_labels[state] : <Timestamp at={sent_at} />}
    </Box>
  ));
}

const state_labels: Record<ListedAlert['messages'][number]['state'], string> = {
  sent: 'sent',
  pending: 'pending',
  retrying: 'retrying',
  failed: 'not sent',
};

function Channels({ alerts: { channels, quiet_hours, digest } }: { alerts: AlertsData }) {
  const { may } = useSession();
  const [results, setResults] = useState<TestResult[]>([]);
  if (channels.length === 0) return <NoChannels />;
  return (
    <Part title="Channels">
      <Stack gap="sm">
        <DataTable
          label="Channels"
          rows={channels}
          columns={channel_columns}
          rowKey={(channel) => channel.name}
          empty=""
        />
        <Fields of={{ 'Quiet hours': quiet_hours ?? 'Off', 'Daily summary': digest ?? 'Off' }} />
        {may('operator') && (
          <Group>
            <ActionButton
              action={async () => {
                setResults([]);
                setResults((await call('alerts.test', {})).results);
              }}
            >
              Send test message
            </ActionButton>
          </Group>
        )}
        <div role="status">
          {results.map(({ channel, target, sent, problem }) => (
            <Text key={channel} size="sm">
              {channel_labels[channel]}: {sent ? `sent to ${target}.` : 'not sent.'} {problem}
            </Text>
          ))}
        </div>
      </Stack>
    </Part>
  );
}

const channel_columns: Column<Channel>[] = [
  { head: 'Channel', cell: ({ name }) => channel_labels[name] },
  { head: 'Sent to', cell: ({ target }) => <Box className="wide-cell">{target}</Box>, phone: 'line' },
  { head: 'Last message', cell: ({ last_sent_at }) => <Timestamp at={last_sent_at} /> },
  { head: 'Status', cell: ({ problem }) => <Status of={problem === null ? 'enabled' : 'failing'} /> },
  { head: 'Reason', cell: ({ problem }) => problem ?? '–' },
];

function NoChannels() {
  return (
    <Section title="Alerts are not sent anywhere yet">
      <Text size="sm" mb="xs">
        They are only listed here. To receive them, set one or both of these channels and restart the service:
      </Text>
      <List size="sm" mb="xs">
        <List.Item>
          Email: <Code>ALERT_SMTP_URL</Code>, <Code>ALERT_EMAIL_FROM</Code> and <Code>ALERT_EMAIL_TO</Code>
        </List.Item>
        <List.Item>
          Webhook: <Code>ALERT_WEBHOOK_URL</Code> and <Code>ALERT_WEBHOOK_SECRET</Code>
        </List.Item>
      </List>
      <Text size="sm" mb="xs">
        Then <i>Send test message</i> here, or <Code>chartwire alerts test</Code> on the server, tries them.
      </Text>
      <Anchor href="/docs/alerts" size="sm">
        Guide: Alerts
      </Anchor>
    </Section>
  );
}
