import { Badge, Group, NativeSelect, Text, TextInput } from '@mantine/core';
import { FormDialog, primary } from '../../parts/forms/FormDialog.tsx';
import { type Column, DataTable, TableSkeleton } from '../../parts/lists/DataTable.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Copyable } from '../../parts/values.tsx';
import { call } from '../../service/api.ts';
import { useQuery } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';
import type { Client } from '../../service/types.ts';

const columns: Column<Client>[] = [
  { head: 'Name', cell: (client) => client.name },
  { head: 'Client ID', cell: (client) => client.client_id, phone: 'line' },
  { head: 'Mode', cell: (client) => <Mode of={client.mode} />, phone: 'end' },
];

export function Clients() {
  const { may } = useSession();
  const clients = useQuery('clients.list', {}, { live: ['accounts'] });
  return (
    <>
      <Group justify="space-between" mb="sm">
        <Text c="dimmed" size="sm">
          Applications that use this service. Each can access only its own practices.
        </Text>
        {may('owner') && <AddClient />}
      </Group>
      <QueryResult query={clients} placeholder={<TableSkeleton columns={columns} />}>
        {(response) => (
          <DataTable
            label="Clients"
            rows={response.clients}
            columns={columns}
            rowKey={(client) => client.client_id}
            href={(client) => `/clients/${client.client_id}`}
            empty="No clients yet. Add one for your application."
          />
        )}
      </QueryResult>
    </>
  );
}

export function Mode({ of }: { of: 'live' | 'test' }) {
  return (
    <Badge variant="light" color={of === 'live' ? 'green' : 'orange'}>
      {of === 'live' ? 'Live' : 'Test'}
    </Badge>
  );
}

function AddClient() {
  const { sandbox } = useSession();
  return (
    <FormDialog
      opener="Add client"
      title="Add client"
      submit="Add"
      look={primary}
      action={(form) =>
        call('clients.create', {}, { body: { name: String(form.get('name')), mode: String(form.get('mode')) } })
      }
      done={({ client_id, client_secret }) => (
        <>
          <Text size="sm">Copy the secret now. It is not shown again.</Text>
          <Copyable label="client ID" value={client_id} />
          <Copyable label="client secret" value={client_secret} />
        </>
      )}
    >
      <TextInput name="name" label="Name" description="Shown in Link" required maxLength={100} data-autofocus />
      <NativeSelect
        name="mode"
        label="Mode"
        // The sandbox has synthetic patients only.
        defaultValue={sandbox ? 'test' : 'live'}
        data={[
          { value: 'live', label: 'Live (real patients)' },
          { value: 'test', label: 'Test (synthetic patients only)' },
        ]}
      />
    </FormDialog>
  );
}
