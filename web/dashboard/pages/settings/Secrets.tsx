import { Badge, Code, Group, NativeSelect, Paper, Text, TextInput, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { ActionMenu } from '../../parts/forms/ActionMenu.tsx';
import { TypedConfirmation } from '../../parts/forms/Erase.tsx';
import { FormDialog } from '../../parts/forms/FormDialog.tsx';
import { type Column, DataTable } from '../../parts/lists/DataTable.tsx';
import { Timestamp, toUtc } from '../../parts/Timestamp.tsx';
import { Copyable } from '../../parts/values.tsx';
import { call } from '../../service/api.ts';
import { useSession } from '../../service/session.tsx';
import type { ClientSettings } from '../../service/types.ts';

type Secret = ClientSettings['keys'][number];

/** A client's secrets. Two of the same access can be active, so that one can be replaced without downtime. */
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
        {may('owner') && <CreateSecret client_id={client_id} />}
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
  {
    head: 'Secret',
    cell: ({ last_four, label }) => (
      <>
        <Code className="nowrap">…{last_four}</Code>
        <Detail>{label}</Detail>
      </>
    ),
  },
  {
    head: 'Access',
    cell: ({ access, org_id }) => (
      <>
        <span className="nowrap">{access_labels[access]}</span>
        <Detail>{org_id !== null && `Organization ${org_id}`}</Detail>
      </>
    ),
  },
  {
    head: 'Created',
    cell: ({ created_at, created_by }) => (
      <>
        <Timestamp at={created_at} />
        <Detail>{created_by}</Detail>
      </>
    ),
  },
  { head: 'Expires', cell: ({ expires_at }) => <Expiry at={expires_at} /> },
  { head: 'Last used', cell: (secret) => <Timestamp at={secret.last_used_at} /> },
];

function Detail({ children }: { children: ReactNode }) {
  if (!children) return null;
  return (
    <Text size="xs" c="dimmed">
      {children}
    </Text>
  );
}

const access_labels = { read_write: 'Read and write', read_only: 'Read only' } as const;

function Expiry({ at }: { at: string | null }) {
  if (at === null) return 'Never';
  if (Date.parse(at) > Date.now()) return <Timestamp at={at} />;
  return <Badge color="red">Expired</Badge>;
}

function readForm(form: FormData) {
  const text = (name: string) => String(form.get(name) ?? '').trim();
  const [label, org_id, expires_at] = [text('label'), text('org_id'), toUtc(text('expires_at'))];
  return {
    access: text('access') === 'read_only' ? ('read_only' as const) : ('read_write' as const),
    ...(label !== '' && { label }),
    ...(org_id !== '' && { org_id }),
    ...(expires_at !== '' && { expires_at }),
  };
}

function CreateSecret({ client_id }: { client_id: string }) {
  return (
    <FormDialog
      opener="Create secret"
      title="Create secret"
      submit="Create"
      action={(form) => call('clients.keys.create', { client_id }, { body: readForm(form) })}
      done={({ client_secret }) => (
        <>
          <Text size="sm">Copy this secret now. It is not shown again.</Text>
          <Copyable label="client secret" value={client_secret} />
        </>
      )}
    >
      <Text size="sm">
        Two secrets with the same access can be active. A third one revokes the oldest of them; others stay valid.
      </Text>
      <TextInput
        name="label"
        label="Label"
        description="Optional: where the secret is used"
        maxLength={100}
        data-autofocus
      />
      <NativeSelect
        name="access"
        label="Access"
        description="Read only: no writes, link tokens or webhook endpoints"
        data={Object.entries(access_labels).map(([value, label]) => ({ value, label }))}
      />
      <TextInput
        name="org_id"
        label="Organization"
        description="Optional: your org_id of the only practice it can be used for"
        maxLength={200}
        autoComplete="off"
      />
      <TextInput
        name="expires_at"
        label="Expires"
        description="Optional. An alert is sent 14 days before"
        type="datetime-local"
      />
    </FormDialog>
  );
}

function Actions({ client_id, secret }: { client_id: string; secret: Secret }) {
  const name = `secret …${secret.last_four}`;
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
