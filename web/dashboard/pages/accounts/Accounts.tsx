import { Paper, Stack, Table, Text, Title } from '@mantine/core';
import type { AccountRow, OrganisationRow } from '../../../../src/model/dashboard/accounts.ts';
import { ActButton } from '../../parts/ActButton.tsx';
import { Answer } from '../../parts/Answer.tsx';
import { Empty } from '../../parts/Empty.tsx';
import { Moment } from '../../parts/Moment.tsx';
import { PageTitle } from '../../parts/PageTitle.tsx';
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
      <div className="scroll">
        <Table mt="sm" aria-label={`Accounts of ${organisation.org_id}`}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>User</Table.Th>
              <Table.Th>EMR user</Table.Th>
              <Table.Th>State</Table.Th>
              <Table.Th>Linked</Table.Th>
              <Table.Th>
                <span className="mantine-visually-hidden">Actions</span>
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {organisation.accounts.map((account) => (
              <Account key={account.id} account={account} />
            ))}
          </Table.Tbody>
        </Table>
      </div>
    </Paper>
  );
}

function Account({ account }: { account: AccountRow }) {
  const { of } = useClient();
  const { may } = useSession();
  return (
    <Table.Tr>
      <Table.Td>{account.user_id}</Table.Td>
      <Table.Td>{account.emr_user_name}</Table.Td>
      <Table.Td>
        <Status of={account.status} />
        {account.reason && <Text size="xs">{account.reason}</Text>}
      </Table.Td>
      <Table.Td>
        <Moment at={account.linked_at} />
      </Table.Td>
      <Table.Td>
        {may('operator') && account.status === 'active' && (
          <ActButton act={() => ask(of(`accounts/${account.id}/sync`), { method: 'POST' })}>Sync now</ActButton>
        )}
      </Table.Td>
    </Table.Tr>
  );
}
