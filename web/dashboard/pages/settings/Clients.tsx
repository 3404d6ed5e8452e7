import { Badge, Group, NativeSelect, Text, TextInput } from '@mantine/core';
import type { ClientRow } from '../../../../src/model/dashboard/clients.ts';
import { Answer } from '../../parts/Answer.tsx';
import { Copyable } from '../../parts/Copyable.tsx';
import { Dialog } from '../../parts/Dialog.tsx';
import { type Column, Rows } from '../../parts/Rows.tsx';
import { ask } from '../../service/ask.ts';
import { useSession } from '../../service/session.tsx';
import { useAnswer } from '../../service/useService.ts';

const columns: Column<ClientRow>[] = [
  { head: 'Name', cell: (client) => client.name },
  { head: 'Client id', cell: (client) => client.client_id },
  { head: 'Mode', cell: (client) => <Mode of={client.mode} /> },
];

export function Clients() {
  const { may } = useSession();
  const clients = useAnswer<{ clients: ClientRow[] }>('clients', { live: ['accounts'] });
  return (
    <>
      <Group justify="space-between" mb="sm">
        <Text c="dimmed" size="sm">
          Applications that may call this service. Each sees its own clinics and nobody else’s.
        </Text>
        {may('owner') && <NewClient />}
      </Group>
      <Answer to={clients}>
        {(answer) => (
          <Rows
            label="Clients"
            rows={answer.clients}
            columns={columns}
            keyOf={(client) => client.client_id}
            href={(client) => `/clients/${client.client_id}`}
            empty="No application may call yet. Add the first one."
          />
        )}
      </Answer>
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

function NewClient() {
  return (
    <Dialog
      opener="Add a client"
      title="Add a client"
      submit="Add"
      act={(typed) =>
        ask<{ client_id: string; client_secret: string }>('clients', {
          method: 'POST',
          body: { name: typed.get('name'), mode: typed.get('mode') },
        })
      }
      done={(made) => (
        <>
          <Text size="sm">Give these to the application. The secret is not shown again.</Text>
          <Copyable label="client id" value={made.client_id} />
          <Copyable label="client secret" value={made.client_secret} />
        </>
      )}
    >
      <TextInput
        name="name"
        label="Name"
        description="People see it in Link."
        required
        maxLength={100}
        data-autofocus
      />
      <NativeSelect
        name="mode"
        label="Mode"
        data={[
          { value: 'live', label: 'Live: real patients' },
          { value: 'test', label: 'Test: synthetic patients only' },
        ]}
      />
    </Dialog>
  );
}
