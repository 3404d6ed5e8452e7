import { Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useState } from 'react';
import { ClockTime } from '../../parts/ClockTime.tsx';
import { Icon } from '../../parts/Icon.tsx';
import { fieldLabel, textOr } from '../../parts/labels.ts';
import { Section } from '../../parts/layout.tsx';
import type { ResponseOf } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { describeLinkFailure } from '../accounts/linkFailures.ts';
import { age, describeFailure } from '../jobs/labels.ts';
import { FailureGroup, type FailureGroupData } from './FailureGroup.tsx';
import { Latest } from './Latest.tsx';
import { Problem } from './Problem.tsx';
import { counted } from './Tiles.tsx';

type AttentionData = ResponseOf<'overview.get'>['overview']['attention'];
type Props = {
  attention: AttentionData;
  /** All jobs that need review, including those that are not listed. */
  review_count: number;
};

/** Everything that is open and does not resolve itself, by cause. Outages come first. */
export function Attention({ attention, review_count }: Props) {
  const { failures, reviews, syncs, links } = attention;
  const { linkTo } = useClient();
  const [review] = reviews;
  // While its dialog is open, a group stays as and where it was: running its jobs again removes it from the list.
  const [opened, setOpened] = useState<FailureGroupData>();
  const isOpened = (group: FailureGroupData) => opened !== undefined && identifyGroup(group) === identifyGroup(opened);
  const kept = opened !== undefined && !failures.some(isOpened) ? [opened] : [];
  const groups = [...failures.map((group) => (isOpened(group) && opened ? opened : group)), ...kept];
  return (
    <Section title="Needs attention">
      {isClear(attention) && (
        <Group gap="xs">
          <Icon name="check" color="var(--chart-succeeded)" />
          <Text c="dimmed">All clear</Text>
        </Group>
      )}
      {groupBy(attention.outages, ({ emr_address, silent, reason }) => [emr_address, silent, silent || reason]).map(
        (outages) => (
          <OutageGroup key={outages[0].org_id} outages={outages} />
        ),
      )}
      {groupBy(attention.alerts, ({ code }) => [code]).map((alerts) => (
        <AlertGroup key={alerts[0].id} alerts={alerts} />
      ))}
      {groupBy(attention.endpoints, ({ status, reason }) => [status, reason]).map((endpoints) => (
        <EndpointGroup key={endpoints[0].id} endpoints={endpoints} />
      ))}
      {groupBy(attention.accounts, ({ reason }) => [reason]).map((accounts) => (
        <AccountGroup key={accounts[0].id} accounts={accounts} />
      ))}
      {syncs.map((sync) => (
        <SyncProblem key={sync.org_id} sync={sync} />
      ))}
      {links.map((link) => (
        <LinkProblem key={link.report_id} link={link} />
      ))}
      {review && (
        <Problem
          icon="question"
          title={`${review_count.toLocaleString()} × ${describeFailure('outcome_unknown').label}`}
          href={`${linkTo('/jobs')}?state=unresolved`}
          more={<Latest {...review} />}
        >
          Check in the EMR whether it was saved, then resolve the job.
        </Problem>
      )}
      {groups.map((group) => (
        <FailureGroup
          key={identifyGroup(group)}
          group={group}
          onOpenChange={(is_open) => setOpened(is_open ? group : undefined)}
        />
      ))}
    </Section>
  );
}

export function isClear(attention: AttentionData): boolean {
  return Object.values(attention).every((rows) => rows.length === 0);
}

function identifyGroup({ code, reason }: FailureGroupData): string {
  return `${code} ${reason}`;
}

/** Rows with equal keys, in the order of their first one. */
function groupBy<Row>(rows: readonly Row[], key: (row: Row) => unknown): [Row, ...Row[]][] {
  const groups = new Map<string, [Row, ...Row[]]>();
  for (const row of rows) {
    const name = JSON.stringify(key(row));
    const group = groups.get(name);
    if (group) group.push(row);
    else groups.set(name, [row]);
  }
  return [...groups.values()];
}

type Rows<Name extends keyof AttentionData> = [AttentionData[Name][number], ...AttentionData[Name]];

/** `3 × Account needs re-linking`. */
function titled(rows: readonly unknown[], title: string): string {
  return rows.length === 1 ? title : `${rows.length.toLocaleString()} × ${title}`;
}

/** An EMR that does not respond, for every practice that it affects. It disappears when the EMR responds. */
function OutageGroup({ outages }: { outages: Rows<'outages'> }) {
  const { linkTo } = useClient();
  const [first] = outages;
  const sum = (name: 'retrying' | 'waiting') => outages.reduce((total, outage) => total + outage[name], 0);
  const retrying = sum('retrying');
  const waiting = sum('waiting') - retrying;
  const since = outages.map((outage) => outage.since).sort()[0] ?? first.since;
  const toJobs = (practice: { organization_id?: string }) =>
    `${linkTo('/jobs')}?${new URLSearchParams({ state: 'retrying', ...practice })}`;
  const single = outages.length === 1;
  return (
    <Problem
      icon="alert"
      severe
      title={first.silent ? `${first.emr_name} is not responding` : `${first.emr_name} fails for some jobs`}
      facts={
        <>
          {retrying > 0 ? `${counted(retrying, 'job')} retrying since ` : 'No job is waiting for it, since '}
          <ClockTime at={since} /> ({age(since)}){waiting > 0 && `, ${counted(waiting, 'job')} waiting behind`}
          {' · '}
          {single ? first.org_id : `${outages.length} practices`}
        </>
      }
      words={textOr(first.reason, '')}
      href={toJobs(single ? { organization_id: first.organization_id } : {})}
      items={
        single
          ? []
          : outages.map(({ org_id, organization_id, ...outage }) => ({
              key: org_id,
              href: toJobs({ organization_id }),
              name: org_id,
              detail: `${counted(outage.retrying, 'job')} retrying`,
            }))
      }
    >
      Jobs are retried for an hour and then fail. Nothing is lost or doubled, and they resume by themselves when{' '}
      {readHost(first.emr_address)} responds.
    </Problem>
  );
}

function readHost(address: string): string {
  return URL.canParse(address) ? new URL(address).host : address;
}

function AlertGroup({ alerts }: { alerts: Rows<'alerts'> }) {
  const [first] = alerts;
  const single = alerts.length === 1;
  return (
    <Problem
      icon="alert"
      severe={first.severity === 'critical'}
      title={titled(alerts, first.title)}
      facts={
        single && (
          <>
            {first.summary} Since <Since at={first.opened_at} />
          </>
        )
      }
      items={
        single ? [] : alerts.map(({ id, page, summary }) => ({ key: id, href: `~/dashboard${page}`, name: summary }))
      }
      href={`~/dashboard${first.page}`}
    >
      {first.remedy}
    </Problem>
  );
}

function EndpointGroup({ endpoints }: { endpoints: Rows<'endpoints'> }) {
  const { linkTo } = useClient();
  const [{ id, status, reason, since }] = endpoints;
  const pending = endpoints.reduce((total, endpoint) => total + endpoint.pending, 0);
  const toPage = (endpoint_id: string) => linkTo(`/events/endpoints/${endpoint_id}`);
  return (
    <Problem
      icon="events"
      title={titled(endpoints, status === 'disabled' ? 'Webhook endpoint disabled' : 'Webhook endpoint failing')}
      facts={
        <>
          {pending > 0 ? `${counted(pending, 'event')} waiting` : 'No events waiting'}
          {since !== null && (
            <>
              {' · '}Since <Since at={since} />
            </>
          )}
        </>
      }
      words={textOr(reason, 'Deliveries are failing.')}
      items={endpoints.map((endpoint) => ({
        key: endpoint.id,
        href: toPage(endpoint.id),
        name: endpoint.url,
        ...(endpoints.length > 1 && { detail: `${counted(endpoint.pending, 'event')} waiting` }),
      }))}
      href={endpoints.length === 1 ? toPage(id) : linkTo('/events/endpoints')}
    />
  );
}

function AccountGroup({ accounts }: { accounts: Rows<'accounts'> }) {
  const { linkTo } = useClient();
  const [{ id, reason }] = accounts;
  const parked = accounts.reduce((total, account) => total + account.parked, 0);
  const toAccount = (account: string) => `${linkTo('/accounts')}?${new URLSearchParams({ account })}`;
  return (
    <Problem
      icon="accounts"
      title={titled(accounts, 'Account needs re-linking')}
      facts={parked > 0 ? `${counted(parked, 'job')} waiting` : 'No jobs waiting'}
      words={textOr(reason, '')}
      items={accounts.map((account) => ({
        key: account.id,
        href: toAccount(account.id),
        name: `${account.org_id} · ${account.user_id}`,
        ...(accounts.length > 1 && account.parked > 0 && { detail: `${counted(account.parked, 'job')} waiting` }),
      }))}
      href={accounts.length === 1 ? toAccount(id) : `${linkTo('/accounts')}?status=login_required`}
    />
  );
}

function SyncProblem({ sync }: { sync: AttentionData['syncs'][number] }) {
  const { linkTo } = useClient();
  const { org_id, job_id, failed, kind, code, reason, since, synced_at } = sync;
  const list = kind === null ? '' : ` (${fieldLabel(kind).toLowerCase()})`;
  return (
    <Problem
      icon="records"
      title={failed ? 'Sync failed' : 'Sync makes no progress'}
      facts={
        <>
          {org_id}
          {list}
          {since !== null && (
            <>
              {' · '}
              {failed ? '' : 'nothing read since '}
              <Since at={since} />
            </>
          )}
          {' · '}
          {synced_at === null ? (
            'never synced completely'
          ) : (
            <>
              last complete sync <Since at={synced_at} />
            </>
          )}
        </>
      }
      words={textOr(reason, '')}
      href={linkTo(`/jobs/${job_id}`)}
    >
      {code !== null && describeFailure(code).remedy}
    </Problem>
  );
}

function LinkProblem({ link }: { link: AttentionData['links'][number] }) {
  const { linkTo } = useClient();
  const { report_id, links, org_id, user_id, address, at, code } = link;
  const { cause, remedy } = describeLinkFailure(link);
  return (
    <Problem
      icon="accounts"
      title={links === 1 ? 'Link failed' : `${links.toLocaleString()} × Link failed`}
      facts={
        <>
          {address} · {org_id} · {user_id} · <Since at={at} />
        </>
      }
      words={cause || code || undefined}
      href={linkTo(`/accounts/reports/${report_id}`)}
    >
      {remedy}
    </Problem>
  );
}

/** `10:53 AM (14 min)`. */
function Since({ at }: { at: string }): ReactNode {
  return (
    <>
      <ClockTime at={at} /> ({age(at)})
    </>
  );
}
