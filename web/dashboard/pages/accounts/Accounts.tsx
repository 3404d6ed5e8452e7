import { Anchor, Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { Link, Route, Switch } from 'wouter';
import { ActionMenu } from '../../parts/forms/ActionMenu.tsx';
import { Erase } from '../../parts/forms/Erase.tsx';
import { EmptyState, PageTitle } from '../../parts/layout.tsx';
import { type Column, DataTable } from '../../parts/lists/DataTable.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Status } from '../../parts/Status.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { call } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { useSession } from '../../service/session.tsx';
import type { Account, Organization } from '../../service/types.ts';
import { useUrlFilters } from '../../service/useUrlFilters.ts';
import { AccountActions } from './AccountActions.tsx';
import { Capabilities } from './Capabilities.tsx';
import { ConnectionReportPage, FailedLinks } from './ConnectionReport.tsx';
import { CreateLink } from './CreateLink.tsx';
import { OutageNotice } from './OutageNotice.tsx';
import { ServerSettings } from './ServerSettings.tsx';
import { SyncStatus } from './SyncStatus.tsx';
import { isSyncing, useAccounts, useReports } from './useAccounts.ts';
import './accounts.css';

export default function Accounts() {
  return (
    <Switch>
      <Route path="/reports/:report_id">
        {({ report_id }) => <ConnectionReportPage key={report_id} report_id={report_id} />}
      </Route>
      <Route>
        <AccountList />
      </Route>
    </Switch>
  );
}

function AccountList() {
  const { may } = useSession();
  const accounts = useAccounts();
  const reports = useReports();
  const { organizations = [], emrs = [] } = accounts.data ?? {};
  const { get, set } = useUrlFilters();
  // Set by a link of another page.
  const only_expired = get('status') === 'login_required';
  const listed = only_expired ? organizations.flatMap(withExpired) : organizations;
  return (
    <>
      <PageTitle actions={may('operator') && <CreateLink organizations={organizations} emrs={emrs} />}>
        Accounts
      </PageTitle>
      <QueryResult query={accounts}>
        {() =>
          organizations.length === 0 ? (
            <EmptyState>No accounts yet. Create a link and send it to a practice.</EmptyState>
          ) : (
            <Stack>
              {only_expired && (
                <Group gap="sm">
                  <Text size="sm">
                    {listed.length === 0 ? 'No account needs re-linking.' : 'Only accounts that need re-linking.'}
                  </Text>
                  <Button size="compact-sm" variant="default" onClick={() => set('status', '')}>
                    Show all
                  </Button>
                </Group>
              )}
              {listed.map((organization) => (
                <OrganizationCard key={organization.id} organization={organization} />
              ))}
            </Stack>
          )
        }
      </QueryResult>
      {reports.length > 0 && (
        <Stack mt="md">
          <FailedLinks reports={reports} />
        </Stack>
      )}
    </>
  );
}

function withExpired({ accounts, ...organization }: Organization): Organization[] {
  const expired = accounts.filter(({ status }) => status === 'login_required');
  return expired.length === 0 ? [] : [{ ...organization, accounts: expired }];
}

function OrganizationCard({ organization }: { organization: Organization }) {
  const { may } = useSession();
  const { client_id } = useClient();
  const actions: Column<Account> = {
    head: 'Actions',
    cell: (account) => (
      <AccountActions account={account} organization={organization} syncing={isSyncing(organization)} />
    ),
  };
  return (
    <Paper withBorder p="md" component="section" aria-label={organization.org_id}>
      <Group justify="space-between" align="flex-start" wrap="nowrap">
        <Title order={2} size="h4" className="breakable">
          {organization.org_id}
        </Title>
        {may('owner') && (
          <ActionMenu label={`More actions for ${organization.org_id}`}>
            <Erase
              noun="practice"
              name={organization.org_id}
              erase={(body) => call('organizations.erase', { client_id, organization_id: organization.id }, { body })}
            />
          </ActionMenu>
        )}
      </Group>
      <Text size="sm" c="dimmed" className="breakable">
        {organization.emr_name} at {organization.emr_address} · {organization.timezone}
      </Text>
      <OutageNotice organization={organization} />
      <SyncStatus organization={organization} />
      <ServerSettings organization={organization} />
      <DataTable
        label={`Accounts for ${organization.org_id}`}
        rows={organization.accounts}
        columns={may('operator') ? [...columns, actions] : columns}
        rowKey={(account) => account.id}
        empty="No linked accounts. Create a link and send it to the practice."
      />
    </Paper>
  );
}

const columns: Column<Account>[] = [
  { head: 'User', cell: (account) => <AccountUser account={account} /> },
  { head: 'EMR user', cell: (account) => account.emr_user_name },
  { head: 'Status', cell: (account) => <AccountStatus account={account} />, phone: 'line' },
  { head: 'Linked', cell: (account) => <Timestamp at={account.linked_at} /> },
  { head: 'Capabilities', cell: (account) => <Capabilities account={account} /> },
];

/** The account in the URL is shown first, and marked. */
function AccountUser({ account: { id, user_id } }: { account: Account }) {
  const { get } = useUrlFilters();
  const chosen = get('account') === id;
  const name = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (chosen) name.current?.scrollIntoView({ block: 'center' });
  }, [chosen]);
  return (
    <span ref={name} className={chosen ? 'chosen-account' : undefined} aria-current={chosen ? 'true' : undefined}>
      {user_id}
    </span>
  );
}

function AccountStatus({ account }: { account: Account }) {
  const { linkTo } = useClient();
  const report = useReports().find(({ account_id }) => account_id === account.id);
  return (
    <Stack gap={2}>
      <Group>
        <Status of={account.status} />
      </Group>
      {account.reason && (
        <Text size="xs" className="wide-cell">
          {account.reason}
        </Text>
      )}
      {account.parked_jobs > 0 && (
        <Anchor component={Link} size="xs" href={`${linkTo('/jobs')}?state=parked`}>
          {account.parked_jobs === 1 ? '1 waiting job' : `${account.parked_jobs} waiting jobs`}
        </Anchor>
      )}
      {report && (
        <Anchor component={Link} size="xs" href={`/reports/${report.id}`}>
          Connection report
        </Anchor>
      )}
    </Stack>
  );
}
