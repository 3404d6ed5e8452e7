import { Anchor, Paper, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Attention as Noted } from '../../../../src/model/dashboard/overview.ts';
import { Moment } from '../../parts/Moment.tsx';
import { Status } from '../../parts/Status.tsx';
import { useClient } from '../../service/client.tsx';

/** What will not mend itself. `reviews` counts all of them, also those that are not listed. */
export function Attention({ of, reviews }: { of: Noted; reviews: number }) {
  const { at } = useClient();
  const more = reviews - of.reviews.length;
  const calm = of.accounts.length + of.endpoints.length + of.reviews.length === 0;
  return (
    <Paper withBorder p="md" component="section" aria-label="Needs attention">
      <Title order={2} size="h4" mb="xs">
        Needs attention
      </Title>
      {calm && <Text c="dimmed">Nothing needs you at present.</Text>}
      <Stack gap="sm">
        {of.accounts.map(({ id, user_id, org_id, reason }) => (
          <Item key={id} status="login_required" href={at('/accounts')} name={`${user_id} of ${org_id}`}>
            {reason ?? 'The account link has expired.'}
          </Item>
        ))}
        {of.endpoints.map(({ id, url, status, since, reason }) => (
          <Item
            key={id}
            status={status === 'disabled' ? 'disabled' : 'failing'}
            href={at('/events/endpoints')}
            name={url}
          >
            {reason} {since !== null && <>Since </>}
            {since !== null && <Moment at={since} />}
          </Item>
        ))}
        {of.reviews.map(({ job_id, type, finished_at }) => (
          <Item key={job_id} status="needs_review" href={at(`/jobs/${job_id}`)} name={`Job ${job_id}`}>
            {type}, ended <Moment at={finished_at} />
          </Item>
        ))}
        {more > 0 && (
          <Anchor component={Link} size="sm" href={`~/dashboard${at('/jobs')}?state=unresolved`}>
            {more} more to review
          </Anchor>
        )}
      </Stack>
    </Paper>
  );
}

function Item(props: { status: string; href: string; name: string; children: ReactNode }) {
  return (
    <div className="item">
      <Status of={props.status} />
      <div>
        <Anchor component={Link} href={`~/dashboard${props.href}`} size="sm" className="breakable">
          {props.name}
        </Anchor>
        <Text size="sm">{props.children}</Text>
      </div>
    </div>
  );
}
