import { Alert, Anchor, Text } from '@mantine/core';
import { Link } from 'wouter';
import { ClockTime } from '../../parts/ClockTime.tsx';
import { Icon } from '../../parts/Icon.tsx';
import { textOr } from '../../parts/labels.ts';
import { useClient } from '../../service/client.tsx';
import type { Organization } from '../../service/types.ts';
import { age } from '../jobs/labels.ts';

/** `Not responding since 10:53, 8 jobs waiting`. Gone when the EMR responds. */
export function OutageNotice({ organization }: { organization: Organization }) {
  const { linkTo } = useClient();
  const { id: organization_id, outage, emr_name } = organization;
  if (outage === null) return null;
  const { silent, since, waiting, reason } = outage;
  const jobs = `${linkTo('/jobs')}?${new URLSearchParams({ state: 'queued', organization_id })}`;
  return (
    <Alert
      color="red"
      my="sm"
      icon={<Icon name="alert" />}
      title={silent ? `${emr_name} is not responding` : `${emr_name} fails for some jobs`}
    >
      <Text size="sm">
        {silent ? 'Not responding' : 'Failing'} since <ClockTime at={since} /> ({age(since)}),{' '}
        <Anchor component={Link} href={jobs} inherit underline="always">
          {waiting === 1 ? '1 job waiting' : `${waiting.toLocaleString()} jobs waiting`}
        </Anchor>
        . {textOr(reason, '')}
      </Text>
    </Alert>
  );
}
