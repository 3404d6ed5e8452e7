import { Anchor, Paper, Stack, Text } from '@mantine/core';
import { Link } from 'wouter';
import type { ChangedField, JobWhole } from '../../../../src/model/dashboard/jobs.ts';
import { Answer } from '../../parts/Answer.tsx';
import { Fields } from '../../parts/Fields.tsx';
import { Moment } from '../../parts/Moment.tsx';
import { PageTitle } from '../../parts/PageTitle.tsx';
import { type Column, Rows } from '../../parts/Rows.tsx';
import { Section } from '../../parts/Section.tsx';
import { Status } from '../../parts/Status.tsx';
import { useClient } from '../../service/client.tsx';
import { useAnswer } from '../../service/useService.ts';
import { JobActions } from './JobActions.tsx';
import { JobEventPart } from './JobEventPart.tsx';
import { JobNotice } from './JobNotice.tsx';
import { type Line, wordSteps } from './wordSteps.ts';
import { tookOf, wordName, wordType } from './words.ts';

export function Job({ job_id }: { job_id: string }) {
  const { of } = useClient();
  // Every look at a job is in the audit trail: one at which nothing can change any more is not fetched anew by itself.
  const answer = useAnswer<{ job: JobWhole }>(of(`jobs/${job_id}`), {
    live: ['jobs', 'events'],
    settled: ({ job }) => isOver(job),
  });
  return (
    <>
      <PageTitle actions={answer.data && <JobActions job={answer.data.job} />}>{`Job ${job_id}`}</PageTitle>
      <Text size="sm" mb="sm">
        <Anchor component={Link} href="/" size="sm">
          All jobs
        </Anchor>
      </Text>
      <Answer to={answer}>{({ job }) => <Whole job={job} />}</Answer>
    </>
  );
}

function isOver({ finished_at, event }: JobWhole): boolean {
  return finished_at !== null && !event?.deliveries.some(({ status }) => status === 'pending');
}

function Whole({ job }: { job: JobWhole }) {
  return (
    <Stack>
      <JobNotice job={job} />
      <Paper withBorder p="md">
        <Fields
          of={{
            What: wordType(job.type),
            State: <Status of={job.state} />,
            Account: `${job.account.user_id} · ${job.account.org_id}`,
            EMR: job.emr,
            'Patient (MRN)': job.patient_mrn,
            Accepted: <Moment at={job.created_at} />,
            Begun: <Moment at={job.started_at} />,
            Ended: <Moment at={job.finished_at} />,
            Took: tookOf(job),
            Tries: job.attempts,
          }}
        />
      </Paper>
      <Section title="Timeline">
        <Rows
          label="Timeline"
          rows={wordSteps(job.steps, job.emr, job.finished_at !== null)}
          columns={timeline}
          keyOf={(line) => line.key}
          empty="Nothing has happened yet. The job waits for its turn."
        />
      </Section>
      {job.changes.length > 0 && (
        <Section title="Changed in the EMR">
          <Rows
            label="Changed in the EMR"
            rows={job.changes}
            columns={changes}
            keyOf={(each) => each.property}
            empty=""
          />
        </Section>
      )}
      <Section title="Event">
        <JobEventPart job={job} />
      </Section>
      <Section title="What was asked for">
        <Fields of={Object.fromEntries(flat(job.input))} />
      </Section>
      {job.runs.length > 1 && (
        <Section title="Runs of the same request">
          <Rows
            label="Runs of the same request"
            rows={job.runs}
            columns={runsOf(job.job_id)}
            keyOf={(run) => run.job_id}
            empty=""
          />
        </Section>
      )}
    </Stack>
  );
}

const timeline: Column<Line>[] = [
  { head: 'When', cell: (line) => <Moment at={line.at} /> },
  { head: 'Try', cell: (line) => line.attempt },
  { head: 'What happened', cell: (line) => <span className="breakable">{line.text}</span> },
  { head: 'Took', cell: (line) => line.took, align: 'right' },
];

const changes: Column<ChangedField>[] = [
  { head: 'Field', cell: (each) => each.field_label },
  { head: 'Before', cell: (each) => each.before ?? '–' },
  { head: 'After', cell: (each) => each.after ?? '–' },
  { head: 'Note', cell: (each) => each.note ?? '' },
];

function runsOf(shown_id: number): Column<JobWhole['runs'][number]>[] {
  return [
    {
      head: 'Job',
      cell: (run) =>
        run.job_id === shown_id ? (
          `${run.job_id} (this one)`
        ) : (
          <Anchor component={Link} href={`/${run.job_id}`} size="sm">
            {run.job_id}
          </Anchor>
        ),
    },
    { head: 'State', cell: (run) => <Status of={run.state} /> },
    { head: 'Accepted', cell: (run) => <Moment at={run.created_at} /> },
  ];
}

/** Each value by its name; what stands in another is named after both. Lists are shown as they were written. */
function flat(value: Record<string, unknown>, above = ''): [string, string | null][] {
  return Object.entries(value).flatMap(([name, each]): [string, string | null][] => {
    const named = above === '' ? wordName(name) : `${above}: ${wordName(name).toLowerCase()}`;
    if (each === null || each === undefined) return [[named, null]];
    // Neither null nor a list: what JSON calls an object.
    if (typeof each === 'object' && !Array.isArray(each)) return flat(each as Record<string, unknown>, named);
    return [[named, Array.isArray(each) ? JSON.stringify(each) : String(each)]];
  });
}
