import { Anchor, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { Link } from 'wouter';
import type { AccountRow, OrganisationRow } from '../../../../src/model/dashboard/accounts.ts';
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
  const { organisations = [], emrs = [] } = accounts.data ?? {};
  return (
    <>
      <PageTitle actions={may('operator') && <MakeLink organisations={organisations} emrs={emrs} />}>
        Accounts
      </PageTitle>
      <Answer to={accounts}>
        {() =>
          organisations.length === 0 ? (
            <Empty>No account is linked yet. Make a link and send it to the clinic.</Empty>
          ) : (
            <Stack>
              {organisations.map((organisation) => (
                <Organisation key={organisation.id} organisation={organisation} />
              ))}
            </Stack>
          )
        }
      </Answer>
    </>
  );
}

function Organisation({ organisation }: { organisation: OrganisationRow }) {
  const { may } = useSession();
  const columns: Column<AccountRow>[] = may('operator')
    ? [
        ...shown,
        {
          head: 'Actions',
          cell: (account) => (
            <AccountActions account={account} organisation={organisation} syncing={isSyncing(organisation)} />
          ),
        },
      ]
    : shown;
  return (
    <Paper withBorder p="md" component="section" aria-label={organisation.org_id}>
      <Title order={2} size="h4" className="breakable">
        {organisation.org_id}
      </Title>
      <Text size="sm" c="dimmed" className="breakable">
        {organisation.emr_name} at {organisation.emr_address} · {organisation.timezone}
      </Text>
      <SyncState organisation={organisation} />
      <Rows
        label={`Accounts of ${organisation.org_id}`}
        rows={organisation.accounts}
        columns={columns}
        keyOf={(account) => account.id}
        empty="No account of this organisation is linked."
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
