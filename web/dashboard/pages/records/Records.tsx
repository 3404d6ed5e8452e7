import './records.css';
import { Alert, Anchor, Button, Group, NativeSelect, Text } from '@mantine/core';
import { Link, Redirect, Route, Switch, useLocation } from 'wouter';
import type { KindRow } from '../../../../src/model/dashboard/recordKinds.ts';
import type { OrganizationChoice } from '../../../../src/model/dashboard/records.ts';
import { Answer } from '../../parts/Answer.tsx';
import { Empty } from '../../parts/Empty.tsx';
import { PageTitle } from '../../parts/PageTitle.tsx';
import { useClient } from '../../service/client.tsx';
import { useAnswer } from '../../service/useService.ts';
import { Appointment } from './Appointment.tsx';
import { Appointments } from './Appointments.tsx';
import { Claim } from './Claim.tsx';
import { Claims } from './Claims.tsx';
import { DefaultHours } from './DefaultHours.tsx';
import { InsuranceCompanies, Pharmacies, ReferringProviders, Staff } from './Directory.tsx';
import { Kinds } from './Kinds.tsx';
import { Locations } from './Locations.tsx';
import { Orders } from './Orders.tsx';
import { OrganizationScope, useOrganization } from './organization.tsx';
import { Patient } from './Patient.tsx';
import { Patients } from './Patients.tsx';
import { Provider } from './Provider.tsx';
import { Providers } from './Providers.tsx';
import { kind_paths, kind_words } from './words.ts';

export default function Records() {
  const { of, at } = useClient();
  const asked = useAnswer<{ organizations: OrganizationChoice[] }>(of('organizations'), { live: ['accounts'] });
  return (
    <Answer to={asked}>
      {({ organizations }) => {
        const [first] = organizations;
        if (!first) {
          return (
            <>
              <PageTitle>Records</PageTitle>
              <Empty>
                There are no records yet: they come with the first linked account.{' '}
                <Anchor component={Link} href={`~/dashboard${at('/accounts')}`}>
                  Link an account
                </Anchor>
              </Empty>
            </>
          );
        }
        return (
          <Switch>
            <Route path="/">
              <Redirect replace to={`/${first.id}`} />
            </Route>
            <Route path="/:organization" nest>
              {({ organization: id }) => <OfOrganization organizations={organizations} id={id} />}
            </Route>
          </Switch>
        );
      }}
    </Answer>
  );
}

function OfOrganization({ organizations, id }: { organizations: readonly OrganizationChoice[]; id: string }) {
  const organization = organizations.find((each) => each.id === id);
  const choice = <OrganizationMenu organizations={organizations} id={id} />;
  return (
    <>
      <PageTitle actions={choice}>Records</PageTitle>
      {organization ? (
        // Keyed: what was searched for in one organization is not carried to another.
        <OrganizationScope key={id} organization={organization}>
          <KindMenu />
          <Places />
        </OrganizationScope>
      ) : (
        <Alert color="gray">There is no such organization. Choose another one.</Alert>
      )}
    </>
  );
}

function OrganizationMenu({ organizations, id }: { organizations: readonly OrganizationChoice[]; id: string }) {
  const [, go] = useLocation();
  const { at } = useClient();
  const [only] = organizations;
  if (organizations.length === 1 && only?.id === id) {
    return (
      <Text size="sm" c="dimmed">
        {only.org_id} · {only.emr_name}
      </Text>
    );
  }
  return (
    <NativeSelect
      aria-label="Organization"
      value={id}
      data={[
        ...(organizations.some((each) => each.id === id) ? [] : [{ value: id, label: 'Choose' }]),
        ...organizations.map((each) => ({ value: each.id, label: `${each.org_id} · ${each.emr_name}` })),
      ]}
      onChange={(event) => go(`~/dashboard${at(`/records/${event.currentTarget.value}`)}`)}
    />
  );
}

function KindMenu() {
  const { of } = useOrganization();
  const counts = useAnswer<{ kinds: KindRow[] }>(of('records'), { live: ['jobs'] });
  const total = (kind: string) => counts.data?.kinds.find((row) => row.kind === kind)?.total;
  return (
    <Group component="nav" gap={4} mb="md" aria-label="Kinds of record">
      <KindLink href="/" word="Overview" />
      {Object.entries(kind_words).map(([kind, word]) => (
        <KindLink key={kind} href={kind_paths[kind] ?? '/'} word={word} total={total(kind)} />
      ))}
      <KindLink href="/default-hours" word="Default hours" />
    </Group>
  );
}

function KindLink({ href, word, total }: { href: string; word: string; total?: number | undefined }) {
  const [location] = useLocation();
  const here = href === '/' ? location === '/' : location === href || location.startsWith(`${href}/`);
  return (
    <Button
      component={Link}
      href={href}
      size="compact-sm"
      fw={500}
      variant={here ? 'filled' : 'default'}
      {...(here ? { 'aria-current': 'page' as const } : {})}
    >
      {word}
      {total === undefined ? '' : ` ${total.toLocaleString()}`}
    </Button>
  );
}

/** Records are keyed: one is never shown in the place of another, not even while that one is on its way. */
function Places() {
  return (
    <Switch>
      <Route path="/" component={Kinds} />
      <Route path="/patients" component={Patients} />
      <Route path="/patients/:id">{({ id }) => <Patient key={id} id={id} />}</Route>
      <Route path="/appointments" component={Appointments} />
      <Route path="/appointments/:id">{({ id }) => <Appointment key={id} id={id} />}</Route>
      <Route path="/orders" component={Orders} />
      <Route path="/claims" component={Claims} />
      <Route path="/claims/:id">{({ id }) => <Claim key={id} id={id} />}</Route>
      <Route path="/providers" component={Providers} />
      <Route path="/providers/:id">{({ id }) => <Provider key={id} id={id} />}</Route>
      <Route path="/locations" component={Locations} />
      <Route path="/staff" component={Staff} />
      <Route path="/pharmacies" component={Pharmacies} />
      <Route path="/insurance-companies" component={InsuranceCompanies} />
      <Route path="/referring-providers" component={ReferringProviders} />
      <Route path="/default-hours" component={DefaultHours} />
      <Route>
        <Alert color="gray">There is no such list. Choose one above.</Alert>
      </Route>
    </Switch>
  );
}
