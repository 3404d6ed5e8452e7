import { Anchor, Button, Group, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { Icon, type IconName } from '../../parts/Icon.tsx';
import { textOr } from '../../parts/labels.ts';
import { Section } from '../../parts/layout.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import type { ResponseOf } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { useSession } from '../../service/session.tsx';
import { describeFailure, typeLabel } from '../jobs/labels.ts';
import { RunAgainMany } from '../jobs/RunAgainMany.tsx';

type AttentionData = ResponseOf<'overview.get'>['overview']['attention'];
type FailureGroupData = AttentionData['failures'][number];
type Props = {
  attention: AttentionData;
  /** All jobs that need review, including those that are not listed. */
  review_count: number;
};

/** Problems that do not resolve themselves, by cause. */
export function Attention({ attention: { failures, accounts, endpoints, reviews, alerts }, review_count }: Props) {
  const { linkTo } = useClient();
  const [review] = reviews;
  // While its dialog is open, a group stays as it was: running its jobs again removes it from the list.
  const [opened, setOpened] = useState<FailureGroupData>();
  const groups = failures.filter(({ code }) => code !== opened?.code);
  const clear = failures.length + accounts.length + endpoints.length + reviews.length + alerts.length === 0;
  return (
    <Section title="Needs attention">
      {clear && (
        <Group gap="xs">
          <Icon name="check" color="var(--chart-succeeded)" />
          <Text c="dimmed">All clear</Text>
        </Group>
      )}
      {alerts.map(({ id, title, summary, remedy, page, opened_at }) => (
        <Problem key={id} icon="alert" title={title} href={`~/dashboard${page}`} name="View">
          {summary} {remedy} Since <Timestamp at={opened_at} show="clock" />
        </Problem>
      ))}
      {endpoints.map(({ id, url, status, since, reason }) => (
        <Problem
          key={id}
          icon="events"
          title={status === 'disabled' ? 'Webhook endpoint disabled' : 'Webhook endpoint failing'}
          href={linkTo(`/events/endpoints/${id}`)}
          name={url}
        >
          {textOr(reason, 'Deliveries are failing.')} {since !== null && <>Since </>}
          {since !== null && <Timestamp at={since} show="clock" />}
        </Problem>
      ))}
      {accounts.map(({ id, user_id, org_id, reason }) => (
        <Problem
          key={id}
          icon="accounts"
          title="Account needs re-linking"
          href={linkTo('/accounts')}
          name={`${org_id} · ${user_id}`}
        >
          {textOr(reason, 'The account must be re-linked.')}
        </Problem>
      ))}
      {review && (
        <Problem
          icon="question"
          title={`${review_count.toLocaleString()} × ${describeFailure('outcome_unknown').label}`}
          href={`${linkTo('/jobs')}?state=unresolved`}
          name="View"
          example={<Example {...review} />}
        >
          Check in the EMR whether it was saved, then resolve the job.
        </Problem>
      )}
      {[...groups, ...(opened ? [opened] : [])].map((group) => (
        <FailureGroup
          key={group.code}
          group={group}
          onOpenChange={(is_open) => setOpened(is_open ? group : undefined)}
        />
      ))}
    </Section>
  );
}

function FailureGroup(props: { group: FailureGroupData; onOpenChange: (opened: boolean) => void }) {
  const { code, jobs, example } = props.group;
  const { linkTo } = useClient();
  const { may } = useSession();
  const { label, remedy } = describeFailure(code);
  const filters = { state: 'unfixed', code };
  return (
    <Problem
      icon="alert"
      title={`${jobs.toLocaleString()} × ${label}`}
      href={`${linkTo('/jobs')}?${new URLSearchParams({ ...filters, period: '7d' })}`}
      name="View"
      example={<Example {...example} />}
      action={
        may('operator') && <RunAgainMany of={{ filters, count: jobs }} code={code} onOpenChange={props.onOpenChange} />
      }
    >
      {remedy}
    </Problem>
  );
}

type ExampleProps = { job_id: number; type: string; finished_at: string; org_id?: string };

function Example({ job_id, type, finished_at, org_id }: ExampleProps) {
  const { linkTo } = useClient();
  return (
    <>
      Latest:{' '}
      <Anchor component={Link} href={linkTo(`/jobs/${job_id}`)} inherit underline="always">
        Job {job_id}
      </Anchor>
      , {typeLabel(type)}
      {org_id && `, ${org_id}`}, <Timestamp at={finished_at} />
    </>
  );
}

type ProblemProps = {
  icon: IconName;
  title: string;
  href: string;
  /** The link: `View`, or the name of what has the problem. */
  name: string;
  example?: ReactNode;
  action?: ReactNode;
  children: ReactNode;
};

function Problem({ icon, title, href, name, example, action, children }: ProblemProps) {
  return (
    <article className="problem" aria-label={title}>
      <Icon name={icon} color="var(--mantine-color-error)" />
      <div>
        <Text size="sm" fw={600}>
          {title}
        </Text>
        {name !== 'View' && (
          <Anchor component={Link} href={href} size="sm" className="breakable">
            {name}
          </Anchor>
        )}
        <Text size="sm">{children}</Text>
        {example && <div className="secondary">{example}</div>}
      </div>
      <Group gap="xs">
        {action}
        <Button
          component={Link}
          href={href}
          size="compact-sm"
          variant="default"
          aria-label={name === 'View' ? `View ${title}` : `View ${name}`}
        >
          View
        </Button>
      </Group>
    </article>
  );
}
