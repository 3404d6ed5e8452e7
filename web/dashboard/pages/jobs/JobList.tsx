import { Text } from '@mantine/core';
import { useState } from 'react';
import { useSearchParams } from 'wouter';
import type { JobRow } from '../../../../src/model/dashboard/jobs.ts';
import { Moment } from '../../parts/Moment.tsx';
import { PageTitle } from '../../parts/PageTitle.tsx';
import { type Column, PagedRows } from '../../parts/Rows.tsx';
import { Status } from '../../parts/Status.tsx';
import { useClient } from '../../service/client.tsx';
import { usePages } from '../../service/usePages.ts';
import { filter_names, JobFilters } from './JobFilters.tsx';
import { review_words, tookOf, wordEnd, wordType } from './words.ts';

export function JobList() {
  const { of } = useClient();
  const [params] = useSearchParams();
  // Kept here and not in the address, which ends up in histories and logs.
  const [mrn, setMrn] = useState('');
  const filters = Object.fromEntries(filter_names.map((name) => [name, params.get(name) ?? undefined]));
  const narrowed = mrn !== '' || Object.values(filters).some((value) => value !== undefined);
  // Every look at a patient's jobs is in the audit trail, so that list is not fetched anew by itself.
  const jobs = usePages<JobRow>(of(mrn === '' ? 'jobs' : 'jobs/search'), {
    live: mrn === '' ? ['jobs'] : [],
    filters,
    search: mrn === '' ? undefined : { mrn },
  });
  return (
    <>
      <PageTitle>Jobs</PageTitle>
      <JobFilters mrn={mrn} setMrn={setMrn} />
      <PagedRows
        of={jobs}
        label="Jobs"
        columns={columns}
        keyOf={(job) => job.job_id}
        href={(job) => `/${job.job_id}`}
        empty={
          narrowed
            ? 'No job fits these filters. Clear some of them.'
            : 'No job yet. A job begins with the first write that an application asks for, and with each sync.'
        }
      />
    </>
  );
}

const columns: Column<JobRow>[] = [
  { head: 'Job', cell: (job) => job.job_id },
  { head: 'What', cell: (job) => wordType(job.type) },
  {
    head: 'State',
    cell: (job) => (
      <>
        <Status of={job.state} />
        <Text size="xs" c="dimmed">
          {job.review_outcome ? `Resolved: ${review_words[job.review_outcome].toLowerCase()}` : reasonOf(job)}
        </Text>
      </>
    ),
  },
  { head: 'Account', cell: (job) => `${job.account.user_id} · ${job.account.org_id}` },
  { head: 'Accepted', cell: (job) => <Moment at={job.created_at} /> },
  { head: 'Took', cell: tookOf, align: 'right' },
  { head: 'Tries', cell: (job) => job.attempts, align: 'right' },
];

function reasonOf(job: JobRow): string {
  if (job.run_again_of !== null) return `Job ${job.run_again_of} run again`;
  return job.error_code === null ? '' : wordEnd(job.error_code).short;
}
