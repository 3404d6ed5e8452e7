import { Anchor, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { Section } from '../../parts/layout.tsx';
import { Status } from '../../parts/Status.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { job_types } from '../../service/api.gen.ts';
import type { ResponseOf } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';

type Props = {
  attention: ResponseOf<'overview.get'>['overview']['attention'];
  /** All jobs that need review, including those that are not listed. */
  review_count: number;
};

/** What does not resolve itself. */
export function Attention({ attention: { accounts, endpoints, reviews }, review_count }: Props) {
  const { linkTo } = useClient();
  const more = review_count - reviews.length;
  return (
    <Section title="Needs attention">
      {accounts.length + endpoints.length + reviews.length === 0 && <Text c="dimmed">All clear</Text>}
      <Stack gap="sm">
        {accounts.map(({ id, user_id, org_id, reason }) => (
          <Item key={id} status="login_required" href={linkTo('/accounts')} name={`${org_id} · ${user_id}`}>
            {reason ?? 'The account must be re-linked.'}
          </Item>
        ))}
        {endpoints.map(({ id, url, status, since, reason }) => (
          <Item
            key={id}
            status={status === 'disabled' ? 'disabled' : 'failing'}
            href={linkTo('/events/endpoints')}
            name={url}
          >
            {reason} {since !== null && <>Since </>}
            {since !== null && <Timestamp at={since} />}
          </Item>
        ))}
        {reviews.map(({ job_id, type, finished_at }) => (
          <Item key={job_id} status="needs_review" href={linkTo(`/jobs/${job_id}`)} name={`Job ${job_id}`}>
            {(job_types as Record<string, string>)[type] ?? type}, finished <Timestamp at={finished_at} />
          </Item>
        ))}
        {more > 0 && (
          <Anchor component={Link} size="sm" href={`${linkTo('/jobs')}?state=unresolved`}>
            {more} more to review
          </Anchor>
        )}
      </Stack>
    </Section>
  );
}

function Item(props: { status: string; href: string; name: string; children: ReactNode }) {
  return (
    <div className="item">
      <Status of={props.status} />
      <div>
        <Anchor component={Link} href={props.href} size="sm" className="breakable">
          {props.name}
        </Anchor>
        <Text size="sm">{props.children}</Text>
      </div>
    </div>
  );
}
