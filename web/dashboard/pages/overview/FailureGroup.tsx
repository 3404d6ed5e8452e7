import { Button } from '@mantine/core';
import { Link } from 'wouter';
import { ClockTime, formatClock } from '../../parts/ClockTime.tsx';
import { textOr } from '../../parts/labels.ts';
import { call, type ResponseOf } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { useSession } from '../../service/session.tsx';
import { describeFailure, typeLabel } from '../jobs/labels.ts';
import { RunAgainMany } from '../jobs/RunAgainMany.tsx';
import { useJobPatients } from '../jobs/useJobPatients.ts';
import { Latest } from './Latest.tsx';
import { Problem } from './Problem.tsx';
import { counted } from './Tiles.tsx';

export type FailureGroupData = ResponseOf<'overview.get'>['overview']['attention']['failures'][number];
type Props = { group: FailureGroupData; onOpenChange: (opened: boolean) => void };

/** Jobs that failed for the same reason: what they have in common, what the EMR said, and what can be done. */
export function FailureGroup({ group, onOpenChange }: Props) {
  const { code, reason, jobs, can_run, example } = group;
  const { client_id, linkTo } = useClient();
  const { may } = useSession();
  const { label, remedy, send_again } = describeFailure(code);
  // Showing it is in the audit log, so it is asked for once per job and not part of the overview.
  const message = useJobPatients([example]).of(example)?.message;
  const find = async () => (await call('overview.repeatable', { client_id }, { query: { code, reason } })).job_ids;
  const filters = { state: 'unfixed', code, ...(reason !== '' && { reason }), period: '7d' };
  return (
    <Problem
      icon="alert"
      title={`${jobs.toLocaleString()} × ${label}`}
      facts={<Story group={group} />}
      words={textOr(message, '')}
      href={`${linkTo('/jobs')}?${new URLSearchParams(filters)}`}
      more={<Latest {...example} />}
      action={
        may('operator') &&
        (can_run > 0 ? (
          <RunAgainMany
            of={{ find, count: can_run }}
            opener={can_run === 1 ? 'Run it again' : `Run the ${can_run.toLocaleString()} that can succeed`}
            onOpenChange={onOpenChange}
          />
        ) : (
          send_again === 'corrected' && (
            <Button
              component={Link}
              href={linkTo(`/jobs/${example.job_id}`)}
              size="compact-sm"
              variant="light"
              aria-label={`Correct job ${example.job_id}`}
            >
              {jobs === 1 ? 'Correct' : 'Correct the latest'}
            </Button>
          )
        ))
      }
    >
      {remedy}
    </Problem>
  );
}

/** `4 writes (Telephone encounter) for patients of Harper Samplewell, MD failed between 10:50 and 10:51. All 4 can run again.` */
function Story({ group }: { group: FailureGroupData }) {
  const { jobs, types, org_ids, first_at, last_at } = group;
  const [type] = types;
  const kind = types.length === 1 && type !== undefined ? ` (${typeLabel(type)})` : ` of ${types.length} types`;
  const same_minute = formatClock(first_at) === formatClock(last_at);
  return (
    <>
      {counted(jobs, 'write')}
      {kind}
      {describePatients(group)} failed{' '}
      {same_minute ? (
        <>
          at <ClockTime at={last_at} />
        </>
      ) : (
        <>
          between <ClockTime at={first_at} /> and <ClockTime at={last_at} />
        </>
      )}{' '}
      in {org_ids.length === 1 ? org_ids[0] : `${org_ids.length} practices`}. {describeRepeat(group)}
    </>
  );
}

function describePatients({ jobs, patients, provider }: FailureGroupData): string {
  if (provider !== null) return jobs === 1 ? ` for a patient of ${provider}` : ` for patients of ${provider}`;
  if (patients === null) return '';
  if (patients === 1) return jobs === 1 ? '' : ' for one patient';
  return ` for ${patients.toLocaleString()} patients`;
}

function describeRepeat({ code, jobs, can_run, after_relink }: FailureGroupData): string {
  const subject = (count: number) =>
    count < jobs
      ? `${count.toLocaleString()} of them`
      : jobs === 1
        ? 'It'
        : jobs === 2
          ? 'Both'
          : `All ${jobs.toLocaleString()}`;
  const sentences = [
    ...(can_run > 0 ? [`${subject(can_run)} can run again.`] : []),
    ...(after_relink > 0 ? [`${subject(after_relink)} can run again after re-linking.`] : []),
  ];
  if (sentences.length > 0) return sentences.join(' ');
  if (describeFailure(code).send_again === 'corrected') return 'Another run would send the same values.';
  return jobs === 1 ? 'It cannot run again as it is.' : 'They cannot run again as they are.';
}
