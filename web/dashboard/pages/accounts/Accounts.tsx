import { Paper, Stack, Text, Title } from '@mantine/core';
import type { AccountRow, OrganisationRow } from '../../../../src/model/dashboard/accounts.ts';
import { ActButton } from '../../parts/ActButton.tsx';
import { Answer } from '../../parts/Answer.tsx';
import { Empty } from '../../parts/Empty.tsx';
import { Moment } from '../../parts/Moment.tsx';
import { PageTitle } from '../../parts/PageTitle.tsx';
import { type Column, Rows } from '../../parts/Rows.tsx';
import { Status } from '../../parts/Status.tsx';
import { ask } from '../../service/ask.ts';
import { useClient } from '../../service/client.tsx';
import { useSession } from '../../service/session.tsx';
import { useAnswer } from '../../service/useService.ts';

export default function Accounts() {
  const { of } = useClient();
  const accounts = useAnswer<{ organisations: OrganisationRow[] }>(of('accounts'), { live: ['accounts', 'jobs'] });
  return (
    <>
      <PageTitle>Accounts</PageTitle>
      <Answer to={accounts}>
        {({ organisations }) =>
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
  return (
    <Paper withBorder p="md">
      <Title order={2} size="h4">
        {organisation.org_id}
      </Title>
      <Text size="sm" c="dimmed">
        {organisation.emr_name} at {organisation.emr_address} · {organisation.timezone}
      </Text>
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

const columns: Column<AccountRow>[] = [
  { head: 'User', cell: (account) => account.user_id },
  { head: 'EMR user', cell: (account) => account.emr_user_name },
  {
    head: 'State',
    cell: (account) => (
      <>
        <Status of={account.status} />
        {account.reason && <Text size="xs">{account.reason}</Text>}
      </>
    ),
  },
  { head: 'Linked', cell: (account) => <Moment at={account.linked_at} /> },
  { head: 'Actions', cell: (account) => <Actions account={account} /> },
];

function Actions({ account }: { account: AccountRow }) {
  const { of } = useClient();
  const { may } = useSession();
  if (!may('operator') || account.status !== 'active') return null;
  return <ActButton act={() => ask(of(`accounts/${account.id}/sync`), { method: 'POST' })}>Sync now</ActButton>;
}
