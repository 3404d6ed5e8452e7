import './records.css';
import { Alert, Anchor, NativeSelect } from '@mantine/core';
import { Fragment } from 'react';
import { Link, Redirect, Route, Switch, useLocation } from 'wouter';
import { EmptyState, PageTitle } from '../../parts/layout.tsx';
import { useCurrentInView } from '../../parts/lists/useCurrentInView.ts';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { useClient } from '../../service/client.tsx';
import { useQuery } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';
import type { OrganizationOption } from '../../service/types.ts';
import { AppointmentPage, Appointments } from './Appointments.tsx';
import { ClaimPage, Claims } from './Claims.tsx';
import { Locations, Providers } from './Directory.tsx';
import { EligibilityChecks, EligibilityPage } from './Eligibility.tsx';
import { DefaultHours } from './hours/DefaultHours.tsx';
import { ProviderPage } from './hours/Provider.tsx';
import { KindList, kindPath } from './KindList.tsx';
import { Orders } from './Orders.tsx';
import { OrganizationProvider } from './organization.tsx';
import { PatientPage } from './Patient.tsx';
import { Patients } from './Patients.tsx';
import { RecordCounts } from './RecordCounts.tsx';
import { ReferralPage, Referrals } from './Referrals.tsx';
import { type KindRow, SyncNotes, useKinds } from './SyncNotes.tsx';

export default function Records() {
  const { client_id, linkTo } = useClient();
  const query = useQuery('organizations.list', { client_id }, { live: ['accounts'] });
  return (
    <QueryResult query={query}>
      {({ organizations }) => {
        const [first] = organizations;
        if (!first) {
          return (
            <>
              <PageTitle>Records</PageTitle>
              <EmptyState>
                No records yet. They appear after the first account is linked.{' '}
                <Anchor component={Link} href={linkTo('/accounts')}>
                  Link an account
                </Anchor>
              </EmptyState>
            </>
          );
        }
        return (
          <Switch>
            <Route path="/">
              <Redirect replace to={`/${first.id}`} />
            </Route>
            <Route path="/:organization" nest>
              {({ organization: id }) => <OrganizationRecords organizations={organizations} id={id} />}
            </Route>
          </Switch>
        );
      }}
    </QueryResult>
  );
}

function OrganizationRecords({ organizations, id }: { organizations: readonly OrganizationOption[]; id: string }) {
  const { sees_patients } = useSession();
  const organization = organizations.find((each) => each.id === id);
  const only = organizations.length === 1 && organization;
  return (
    <>
      {only ? (
        <PageTitle subtitle={formatName(only)}>Records</PageTitle>
      ) : (
        <PageTitle actions={<OrganizationSelect organizations={organizations} id={id} />}>Records</PageTitle>
      )}
      {organization ? (
        // Keyed, so that a search is not carried over to another organization.
        <OrganizationProvider key={id} organization={organization}>
          {sees_patients ? (
            <div className="records-layout">
              <KindMenu />
              <div>
                <SyncNotes />
                <Routes />
              </div>
            </div>
          ) : (
            <PatientRoute />
          )}
        </OrganizationProvider>
      ) : (
        <Alert color="gray">This organization does not exist. Choose another one.</Alert>
      )}
    </>
  );
}

function formatName({ org_id, emr_name }: OrganizationOption): string {
  return `${org_id} · ${emr_name}`;
}

function OrganizationSelect({ organizations, id }: { organizations: readonly OrganizationOption[]; id: string }) {
  const [, navigate] = useLocation();
  const { linkTo } = useClient();
  return (
    <NativeSelect
      aria-label="Organization"
      value={id}
      data={[
        ...(organizations.some((each) => each.id === id) ? [] : [{ value: id, label: 'Select' }]),
        ...organizations.map((each) => ({ value: each.id, label: formatName(each) })),
      ]}
      onChange={(event) => navigate(linkTo(`/records/${event.currentTarget.value}`))}
    />
  );
}

function KindMenu() {
  const counts = useKinds();
  const row = useCurrentInView(counts.data?.kinds.length);
  return (
    <nav ref={row} className="kind-menu" aria-label="Record types">
      <KindLink href="/" label="Overview" />
      {groups.map(({ title, about_patients }) => (
        <Fragment key={title}>
          <span className="kind-group">{title}</span>
          {counts.data?.kinds
            .filter((kind) => isAboutPatients(kind) === about_patients)
            .map(({ kind, label, total }) => (
              <KindLink key={kind} href={kindPath(kind)} label={label} total={total} />
            ))}
        </Fragment>
      ))}
      <KindLink href="/default-hours" label="Default hours" />
    </nav>
  );
}

const groups = [
  { title: 'Patients', about_patients: true },
  { title: 'Practice', about_patients: false },
];

function isAboutPatients({ filters }: KindRow): boolean {
  return filters.some((name) => /mrn$/.test(name));
}

function KindLink({ href, label, total }: { href: string; label: string; total?: number | undefined }) {
  const [location] = useLocation();
  const current = href === '/' ? location === '/' : location === href || location.startsWith(`${href}/`);
  return (
    <Link href={href} className="kind-link" {...(current ? { 'aria-current': 'page' as const } : {})}>
      {label}
      {total !== undefined && <span className="kind-total"> {total.toLocaleString()}</span>}
    </Link>
  );
}

/** Records are keyed, so that one is never shown in place of another while it loads. */
function Routes() {
  return (
    <Switch>
      <Route path="/" component={RecordCounts} />
      <Route path="/patients" component={Patients} />
      <Route path="/patients/:id">{({ id }) => <PatientPage key={id} id={id} />}</Route>
      <Route path="/appointments" component={Appointments} />
      <Route path="/appointments/:id">{({ id }) => <AppointmentPage key={id} id={id} />}</Route>
      <Route path="/orders" component={Orders} />
      <Route path="/claims" component={Claims} />
      <Route path="/claims/:id">{({ id }) => <ClaimPage key={id} id={id} />}</Route>
      <Route path="/eligibility-checks" component={EligibilityChecks} />
      <Route path="/eligibility-checks/:id">{({ id }) => <EligibilityPage key={id} id={id} />}</Route>
      <Route path="/referrals" component={Referrals} />
      <Route path="/referrals/:id">{({ id }) => <ReferralPage key={id} id={id} />}</Route>
      <Route path="/providers" component={Providers} />
      <Route path="/providers/:id">{({ id }) => <ProviderPage key={id} id={id} />}</Route>
      <Route path="/locations" component={Locations} />
      <Route path="/default-hours" component={DefaultHours} />
      <Route path="/:kind">{({ kind }) => <OtherList path={`/${kind}`} />}</Route>
      <Route>
        <UnknownList />
      </Route>
    </Switch>
  );
}

/** A role without patient details opens one patient at a time, from a job. */
function PatientRoute() {
  return (
    <Switch>
      <Route path="/patients/:id">{({ id }) => <PatientPage key={id} id={id} />}</Route>
      <Route>
        <Alert color="gray">Your role cannot browse records. Open a patient from a job.</Alert>
      </Route>
    </Switch>
  );
}

/** The list of a kind without a page of its own. */
function OtherList({ path }: { path: string }) {
  const counts = useKinds();
  return (
    <QueryResult query={counts}>
      {({ kinds }) => {
        const kind = kinds.find((row) => kindPath(row.kind) === path);
        return kind ? <KindList key={kind.kind} kind={kind} /> : <UnknownList />;
      }}
    </QueryResult>
  );
}

function UnknownList() {
  return <Alert color="gray">This list does not exist. Choose one above.</Alert>;
}
