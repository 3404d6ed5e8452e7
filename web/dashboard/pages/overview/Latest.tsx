import { Anchor } from '@mantine/core';
import { Link } from 'wouter';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { useClient } from '../../service/client.tsx';
import { typeLabel } from '../jobs/labels.ts';

type LatestProps = { job_id: number; type: string; finished_at: string; org_id?: string };

export function Latest({ job_id, type, finished_at, org_id }: LatestProps) {
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
