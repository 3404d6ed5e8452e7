import { Group, Paper, Stack, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import type { JobRow } from '../../../../src/model/dashboard/jobs.ts';
import type { Appointment } from '../../../../src/model/records/appointments.ts';
import type { Claim } from '../../../../src/model/records/claims.ts';
import type { Order } from '../../../../src/model/records/orders.ts';
import type { Patient as Record } from '../../../../src/model/records/patients.ts';
import { Answer } from '../../parts/Answer.tsx';
import { Copyable } from '../../parts/Copyable.tsx';
import { Fields } from '../../parts/Fields.tsx';
import { Moment } from '../../parts/Moment.tsx';
import { type Column, PagedRows, Rows } from '../../parts/Rows.tsx';
import { Status } from '../../parts/Status.tsx';
import { useClient } from '../../service/client.tsx';
import { usePages } from '../../service/usePages.ts';
import { useAnswer } from '../../service/useService.ts';
import { appointment_columns } from './Appointments.tsx';
import { claim_columns } from './Claims.tsx';
import { order_columns } from './Orders.tsx';
import { useOrganization } from './organization.tsx';

/** One patient's chart as it is held. The name stands in the page alone: windows' names stay in a browser's history. */
export function Patient({ id }: { id: string }) {
  const { of } = useOrganization();
  const asked = useAnswer<{ record: Record }>(of(`records/patients/${id}`));
  return (
    <Answer to={asked}>
      {({ record }) => (
        <Stack>
          <Group>
            <Title order={2} size="h4">
              {[record.first_name, record.middle_name, record.last_name].filter(Boolean).join(' ')}
            </Title>
            <Status of={record.status} />
          </Group>
          <Part title="Person">
            <Person patient={record} />
          </Part>
          <Part title="Insurance">
            <Fields of={{ Company: record.insurance_name, 'Subscriber number': record.insurance_subscriber_number }} />
          </Part>
          <Part title="Jobs">
            <Jobs id={id} />
          </Part>
          {record.mrn !== null && <Visits mrn={record.mrn} />}
        </Stack>
      )}
    </Answer>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Paper withBorder p="md">
      <Title order={3} size="h5" mb="sm">
        {title}
      </Title>
      {children}
    </Paper>
  );
}

function Person({ patient }: { patient: Record }) {
  const { address_street, address_line2, address_city, address_state, address_zip } = patient;
  const place = [address_city, [address_state, address_zip].filter(Boolean).join(' ')].filter(Boolean).join(', ');
  return (
    <Fields
      of={{
        MRN: patient.mrn,
        'EMR ID': patient.ehr_id,
        'Date of birth': patient.dob,
        Sex: patient.sex,
        Phone: patient.phone,
        'Cell phone': patient.cell_phone,
        'E-mail': patient.email,
        Address: [address_street, address_line2, place].filter(Boolean).join(' · '),
        'First held': <Moment at={patient.created_at} />,
        'Last changed': <Moment at={patient.updated_at} />,
        'Patient ID': <Copyable value={patient.id} label="the patient’s ID" />,
      }}
    />
  );
}

function Jobs({ id }: { id: string }) {
  const { of } = useOrganization();
  const { at } = useClient();
  const asked = useAnswer<{ jobs: JobRow[] }>(of(`patients/${id}/jobs`), { live: ['jobs'] });
  return (
    <Answer to={asked}>
      {({ jobs }) => (
        <Rows
          label="Jobs"
          rows={jobs}
          columns={job_columns}
          keyOf={(job) => job.job_id}
          href={(job) => `~/dashboard${at(`/jobs/${job.job_id}`)}`}
          empty="Nothing was written for this patient yet."
        />
      )}
    </Answer>
  );
}

const job_columns: Column<JobRow>[] = [
  { head: 'Job', cell: (job) => job.job_id },
  { head: 'Type', cell: (job) => job.type },
  { head: 'State', cell: (job) => <Status of={job.state} /> },
  { head: 'Accepted', cell: (job) => <Moment at={job.created_at} /> },
  { head: 'Ended', cell: (job) => <Moment at={job.finished_at} /> },
];

function Visits({ mrn }: { mrn: string }) {
  const { of } = useOrganization();
  // A chart begins with what is newest; the rest is asked for.
  const search = { patient_mrn: mrn, page_size: 10 };
  const appointments = usePages<Appointment>(of('records/appointments/search'), { search });
  const orders = usePages<Order>(of('records/orders/search'), { search });
  const claims = usePages<Claim>(of('records/claims/search'), { search });
  return (
    <>
      <Part title="Appointments">
        <PagedRows
          of={appointments}
          label="Appointments"
          columns={appointment_columns}
          keyOf={(row) => row.id}
          href={(row) => `/appointments/${row.id}`}
          empty="No appointment of this patient is held."
        />
      </Part>
      <Part title="Orders">
        <PagedRows
          of={orders}
          label="Orders"
          columns={order_columns}
          keyOf={(row) => row.order_id}
          empty="No order of this patient is held."
        />
      </Part>
      <Part title="Claims">
        <PagedRows
          of={claims}
          label="Claims"
          columns={claim_columns}
          keyOf={(row) => row.id}
          href={(row) => `/claims/${row.id}`}
          empty="No claim of this patient is held."
        />
      </Part>
    </>
  );
}
