import { Code, Group, Paper, Text, TextInput, Title } from '@mantine/core';
import { ActionMenu } from '../../parts/ActionMenu.tsx';
import { type Column, DataTable } from '../../parts/DataTable.tsx';
import { TypedConfirmation } from '../../parts/Erase.tsx';
import { FormDialog } from '../../parts/FormDialog.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Copyable } from '../../parts/values.tsx';
import { call } from '../../service/api.ts';
import { useSession } from '../../service/session.tsx';
import type { ClientSettings } from '../../service/types.ts';

type Secret = ClientSettings['keys'][number];

/** A client's secrets: at most two, so that one can be replaced without downtime. */
export function Secrets({ client: { client_id, keys } }: { client: ClientSettings }) {
  const { may } = useSession();
  const actions: Column<Secret> = {
    head: 'Actions',
    phone: 'end',
    align: 'right',
    cell: (secret) => <Actions client_id={client_id} secret={secret} />,
  };
  return (
    <Paper withBorder p="md">
      <Group justify="space-between" mb="sm">
        <Title order={3} size="h4">
          Secrets
        </Title>
        {may('owner') && <CreateSecret client_id={client_id} active={keys.length} />}
      </Group>
      <DataTable
        label="Secrets"
        rows={keys}
        columns={may('owner') ? [...columns, actions] : columns}
        rowKey={(secret) => secret.id}
        empty="No active secrets. Create one so that the application can sign in."
      />
    </Paper>
  );
}

const columns: Column<Secret>[] = [
  { head: 'Secret', cell: (secret) => (secret.last_four ? <Code className="nowrap">…{secret.last_four}</Code> : '–') },
  { head: 'Label', cell: (secret) => secret.label ?? '–' },
  { head: 'Created by', cell: (secret) => secret.created_by ?? '–' },
  { head: 'Created', cell: (secret) => <Timestamp at={secret.created_at} /> },
  { head: 'Last used', cell: (secret) => <Timestamp at={secret.last_used_at} /> },
];

function CreateSecret({ client_id, active }: { client_id: string; active: number }) {
  return (
    <FormDialog
      opener="Create secret"
      title="Create secret"
      submit="Create"
      action={(form) => call('clients.keys.create', { client_id }, { body: { label: String(form.get('label')) } })}
      done={({ client_secret }) => (
        <>
          <Text size="sm">Copy this secret now. It is not shown again.</Text>
          <Copyable label="client secret" value={client_secret} />
        </>
      )}
    >
      <Text size="sm">
        {active < 2
          ? 'The current secret stays valid until you revoke it.'
          : 'Two secrets are active. The older one is revoked immediately.'}
      </Text>
      <TextInput
        name="label"
        label="Label"
        description="Optional: where the secret is used"
        maxLength={100}
        data-autofocus
      />
    </FormDialog>
  );
}

function Actions({ client_id, secret }: { client_id: string; secret: Secret }) {
  const name = secret.last_four ? `secret …${secret.last_four}` : 'secret';
  return (
    <ActionMenu label={`More actions for ${name}`}>
      <FormDialog
        opener="Revoke"
        title={`Revoke ${name}`}
        submit="Revoke"
        success="Secret revoked"
        danger
        action={() => call('clients.keys.delete', { client_id, key_id: secret.id })}
      >
        <Text size="sm">Requests with this secret are rejected immediately. This cannot be undone.</Text>
        <TypedConfirmation text="revoke" />
      </FormDialog>
    </ActionMenu>
  );
}
