import { Button, Group, Stack, Title } from '@mantine/core';
import { Link, useLocation } from 'wouter';
import { ActionMenu } from '../../parts/forms/ActionMenu.tsx';
import { Erase } from '../../parts/forms/Erase.tsx';
import { HiddenDetails } from '../../parts/HiddenDetails.tsx';
import { BackLink, Section } from '../../parts/layout.tsx';
import { type Column, DataTable, PagedTable, type PagedTableProps } from '../../parts/lists/DataTable.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Status } from '../../parts/Status.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Copyable, Fields } from '../../parts/values.tsx';
import { call } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { usePages, useQuery } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';
import type { JobRow, Patient } from '../../service/types.ts';
import { typeLabel } from '../jobs/labels.ts';
import { failureReason, useAppointmentColumns } from './Appointments.tsx';
import { claim_columns } from './Claims.tsx';
import { Day } from './Day.tsx';
import { eligibility_columns, eligibilityPath } from './Eligibility.tsx';
import { order_columns } from './Orders.tsx';
import { useOrganization } from './organization.tsx';
import { referral_columns } from './Referrals.tsx';

/** A patient's stored chart. The name is not in the page title, because browsers keep titles in their history. */
export function PatientPage({ id }: { id: string }) {
  const { params } = useOrganization();
  const { may, sees_patients } = useSession();
  const [, navigate] = useLocation();
  const query = useQuery('records.get', { ...params, kind: 'patients', id });
  return (
    <QueryResult query={query}>
      {({ record, details_hidden }) => (
        <Stack>
          {details_hidden && <HiddenDetails kind="patient" id={id} />}
          {'last_name' in record && (
            <>
              {sees_patients && <BackLink href="/patients">All patients</BackLink>}
              <Group>
                <Title order={2} size="h2">
                  {[record.first_name, record.middle_name, record.last_name].filter(Boolean).join(' ')}
                </Title>
                <Status of={record.status} />
                {may('owner') && (
                  <ActionMenu label="More actions for this patient">
                    <Erase
                      noun="patient"
                      name={record.mrn ?? record.id}
                      erase={(body) => call('patients.erase', { ...params, id }, { body })}
                      onErased={() => navigate('/patients')}
                    />
                  </ActionMenu>
                )}
              </Group>
              <Section title="Demographics" order={3}>
                <Demographics patient={record} />
              </Section>
              <Section title="Insurance" order={3}>
                <Fields
                  of={{ Company: record.insurance_name, 'Subscriber number': record.insurance_subscriber_number }}
                />
              </Section>
            </>
          )}
          <DisclosuresLink id={id} />
          <Section title="Jobs" order={3}>
            <Jobs id={id} />
          </Section>
          {sees_patients && 'mrn' in record && record.mrn !== null && <Visits mrn={record.mrn} />}
        </Stack>
      )}
    </QueryResult>
  );
}

/** The patient is named by its ID: an MRN is never in the URL. */
function DisclosuresLink({ id }: { id: string }) {
  const { params } = useOrganization();
  const { linkTo } = useClient();
  const { operator } = useSession();
  if (!operator.may_see_disclosures) return null;
  const search = new URLSearchParams({ organization_id: params.organization_id, patient_id: id });
  return (
    <Group>
      <Button component={Link} href={linkTo(`/disclosures?${search}`)} variant="default">
        Who received this data
      </Button>
    </Group>
  );
}

function Demographics({ patient }: { patient: Patient }) {
  const { address_street, address_line2, address_city, address_state, address_zip } = patient;
  const city = [address_city, [address_state, address_zip].filter(Boolean).join(' ')].filter(Boolean).join(', ');
  return (
    <Fields
      of={{
        MRN: patient.mrn,
        'EMR ID': patient.ehr_id,
        'Date of birth': <Day of={patient.dob} />,
        Sex: patient.sex,
        Phone: patient.phone,
        'Cell phone': patient.cell_phone,
        Email: patient.email,
        Address: [address_street, address_line2, city].filter(Boolean).join(' · '),
        'First stored': <Timestamp at={patient.created_at} />,
        'Last changed': <Timestamp at={patient.updated_at} />,
        'Patient ID': <Copyable value={patient.id} label="patient ID" />,
      }}
    />
  );
}

function Jobs({ id }: { id: string }) {
  const { params } = useOrganization();
  const { linkTo } = useClient();
  const query = useQuery('patients.jobs', { ...params, id }, { live: ['jobs'] });
  return (
    <QueryResult query={query}>
      {({ jobs }) => (
        <DataTable
          label="Jobs"
          rows={jobs}
          columns={job_columns}
          rowKey={(job) => job.job_id}
          href={(job) => linkTo(`/jobs/${job.job_id}`)}
          empty="No jobs for this patient yet. Write requests with this MRN appear here."
        />
      )}
    </QueryResult>
  );
}

const job_columns: Column<JobRow>[] = [
  { head: 'Job', cell: (job) => job.job_id },
  { head: 'Type', cell: (job) => typeLabel(job.type), phone: 'line' },
  { head: 'Status', cell: (job) => <Status of={job.state} /> },
  { head: 'Accepted', cell: (job) => <Timestamp at={job.created_at} /> },
  { head: 'Finished', cell: (job) => <Timestamp at={job.finished_at} /> },
];

function Visits({ mrn }: { mrn: string }) {
  const { params } = useOrganization();
  const options = { filters: { patient_mrn: mrn, page_size: 10 } };
  return (
    <>
      <VisitSection
        title="Appointments"
        query={usePages('appointments.search', params, options)}
        columns={useAppointmentColumns().columns}
        rowKey={(row) => row.id}
        href={(row) => `/appointments/${row.id}`}
        below={failureReason}
      />
      <VisitSection
        title="Orders"
        query={usePages('orders.search', params, options)}
        columns={order_columns}
        rowKey={(row) => row.order_id}
      />
      <VisitSection
        title="Claims"
        query={usePages('claims.search', params, options)}
        columns={claim_columns}
        rowKey={(row) => row.id}
        href={(row) => `/claims/${row.id}`}
      />
      <VisitSection
        title="Eligibility checks"
        query={usePages('eligibility-checks.search', params, options)}
        columns={eligibility_columns}
        rowKey={(row) => row.id}
        href={eligibilityPath}
      />
      <VisitSection
        title="Referrals"
        query={usePages('referrals.search', params, options)}
        columns={referral_columns}
        rowKey={(row) => row.id}
        href={(row) => `/referrals/${row.id}`}
      />
    </>
  );
}

function VisitSection<Row>({ title, ...table }: { title: string } & Omit<PagedTableProps<Row>, 'label' | 'empty'>) {
  return (
    <Section title={title} order={3}>
      <PagedTable
        label={title}
        {...table}
        empty={`No ${title.toLowerCase()} for this patient. New ones appear after the next sync.`}
      />
    </Section>
  );
}
