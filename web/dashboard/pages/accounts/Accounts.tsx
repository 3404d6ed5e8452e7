import { Anchor, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { Link } from 'wouter';
import type { AccountRow, OrganizationRow } from '../../../../src/model/dashboard/accounts.ts';
import { Answer } from '../../parts/Answer.tsx';
import { Empty } from '../../parts/Empty.tsx';
import { Moment } from '../../parts/Moment.tsx';
import { PageTitle } from '../../parts/PageTitle.tsx';
import { type Column, Rows } from '../../parts/Rows.tsx';
import { Status } from '../../parts/Status.tsx';
import { useClient } from '../../service/client.tsx';
import { useSession } from '../../service/session.tsx';
import { AccountActions } from './AccountActions.tsx';
import { Capabilities } from './Capabilities.tsx';
import { MakeLink } from './MakeLink.tsx';
import { isSyncing, SyncState } from './SyncState.tsx';
import { useAccounts } from './useAccounts.ts';

export default function Accounts() {
  const { may } = useSession();
  const accounts = useAccounts();
  const { organizations = [], emrs = [] } = accounts.data ?? {};
  return (
    <>
      <PageTitle actions={may('operator') && <MakeLink organizations={organizations} emrs={emrs} />}>
        Accounts
      </PageTitle>
      <Answer to={accounts}>
        {() =>
          organizations.length === 0 ? (
            <Empty>No account is linked yet. Make a link and send it to the clinic.</Empty>
          ) : (
            <Stack>
              {organizations.map((organization) => (
                <Organization key={organization.id} organization={organization} />
              ))}
            </Stack>
          )
        }
      </Answer>
    </>
  );
}

function Organization({ organization }: { organization: OrganizationRow }) {
  const { may } = useSession();
  const columns: Column<AccountRow>[] = may('operator')
    ? [
        ...shown,
        {
          head: 'Actions',
          cell: (account) => (
            <AccountActions account={account} organization={organization} syncing={isSyncing(organization)} />
          ),
        },
      ]
    : shown;
  return (
    <Paper withBorder p="md" component="section" aria-label={organization.org_id}>
      <Title order={2} size="h4" className="breakable">
        {organization.org_id}
      </Title>
      <Text size="sm" c="dimmed" className="breakable">
        {organization.emr_name} at {organization.emr_address} · {organization.timezone}
      </Text>
      <SyncState organization={organization} />
      <Rows
        label={`Accounts of ${organization.org_id}`}
        rows={organization.accounts}
        columns={columns}
        keyOf={(account) => account.id}
        empty="No account of this organization is linked."
      />
    </Paper>
  );
}

const shown: Column<AccountRow>[] = [
  { head: 'User', cell: (account) => account.user_id },
  { head: 'EMR user', cell: (account) => account.emr_user_name },
  { head: 'Health', cell: (account) => <Health account={account} /> },
  { head: 'Linked', cell: (account) => <Moment at={account.linked_at} /> },
  { head: 'Abilities', cell: (account) => <Capabilities account={account} /> },
];

/** How the account is, why, and what waits for it. */
function Health({ account }: { account: AccountRow }) {
  const { at } = useClient();
  return (
    <Stack gap={2} miw={150}>
      <Group>
        <Status of={account.status} />
      </Group>
      {account.reason && <Text size="xs">{account.reason}</Text>}
      {account.parked_jobs > 0 && (
        <Anchor component={Link} size="xs" href={`~/dashboard${at('/jobs')}?state=parked`}>
          {account.parked_jobs === 1 ? '1 job waits' : `${account.parked_jobs} jobs wait`}
        </Anchor>
      )}
    </Stack>
  );
}
