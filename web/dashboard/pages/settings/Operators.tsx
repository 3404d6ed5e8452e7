import { Group, Text, TextInput, Title } from '@mantine/core';
import { errorAt } from '../../parts/errors.tsx';
import { ActionButton } from '../../parts/forms/ActionButton.tsx';
import { ActionMenu } from '../../parts/forms/ActionMenu.tsx';
import { FormDialog, primary } from '../../parts/forms/FormDialog.tsx';
import { type Column, DataTable, TableSkeleton } from '../../parts/lists/DataTable.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Status } from '../../parts/Status.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Copyable } from '../../parts/values.tsx';
import { call, type ResponseOf } from '../../service/api.ts';
import { useQuery } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';
import { role_labels } from '../../service/types.ts';
import { useClientOptions } from '../../service/useClientOptions.ts';
import { AccessFields, readAccess } from './AccessFields.tsx';

type Operator = ResponseOf<'operators.list'>['operators'][number];
type Invitation = ResponseOf<'operators.list'>['invitations'][number];

const operator_columns: Column<Operator>[] = [
  {
    head: 'Operator',
    cell: (operator) => (
      <>
        {operator.name || '–'}
        <div className="secondary">{operator.email}</div>
      </>
    ),
  },
  { head: 'Access', cell: (operator) => <Access of={operator} /> },
  {
    head: 'Status',
    cell: (operator) => <Status of={operator.inactive ? 'inactive' : operator.disabled ? 'disabled' : 'active'} />,
  },
  {
    head: 'Last active',
    cell: (operator) => (
      <>
        <Timestamp at={operator.seen_at} />
        <div className="secondary nowrap">{describeSignIn(operator)}</div>
      </>
    ),
  },
  { head: 'Actions', cell: (operator) => <Actions of={operator} /> },
];

function describeSignIn({ single_sign_on, second_factor }: Operator): string {
  if (single_sign_on) return 'Single sign-on';
  return second_factor ? 'Two factors' : 'Password';
}

const invitation_columns: Column<Invitation>[] = [
  { head: 'Email', cell: (invitation) => invitation.email },
  { head: 'Access', cell: (invitation) => <Access of={invitation} /> },
  { head: 'Invited by', cell: (invitation) => invitation.invited_by },
  {
    head: 'Expires',
    cell: ({ expired, expires_at }) => (expired ? 'Expired' : <Timestamp at={expires_at} />),
  },
  {
    head: 'Actions',
    cell: ({ id }) => <ActionButton action={() => call('invitations.revoke', { id })}>Revoke</ActionButton>,
  },
];

export function Operators() {
  const query = useQuery('operators.list', {});
  const { data: ways } = useQuery('sign-in.get', {});
  return (
    <>
      <Group justify="space-between" mb="sm">
        <Text c="dimmed" size="sm">
          People with access to this dashboard. Their actions are recorded in the audit log.
        </Text>
        {ways?.passwords && <InviteOperator />}
      </Group>
      <QueryResult query={query} placeholder={<TableSkeleton columns={operator_columns} />}>
        {({ operators, invitations }) => (
          <>
            <DataTable
              label="Operators"
              rows={operators}
              columns={operator_columns}
              rowKey={(operator) => operator.id}
              empty="No operators yet. Invite the first one."
            />
            {invitations.length > 0 && (
              <>
                <Title order={2} size="h4" mt="lg" mb="sm">
                  Pending invitations
                </Title>
                <DataTable
                  label="Pending invitations"
                  rows={invitations}
                  columns={invitation_columns}
                  rowKey={(invitation) => invitation.id}
                  empty=""
                />
              </>
            )}
          </>
        )}
      </QueryResult>
    </>
  );
}

/** `Operator · All clients`, or one line per client. */
function Access({
  of,
}: {
  of: Pick<Operator, 'role' | 'all_clients' | 'clients' | 'may_reveal' | 'may_see_disclosures' | 'may_hold'>;
}) {
  const clients = useClientOptions();
  const findName = (client_id: string) => clients.find(({ value }) => value === client_id)?.label ?? client_id;
  return (
    <>
      {of.all_clients && (
        <>
          {role_labels[of.role]}
          <div className="secondary">All clients</div>
        </>
      )}
      {!of.all_clients &&
        of.clients.map(({ client_id, role }) => (
          <div key={client_id}>
            {role_labels[role]} <span className="secondary">{findName(client_id)}</span>
          </div>
        ))}
      {!of.all_clients && of.clients.length === 0 && 'No clients'}
      {of.may_reveal && <div className="secondary">Can reveal patient details</div>}
      {of.may_see_disclosures && <div className="secondary">Can see disclosures</div>}
      {of.may_hold && <div className="secondary">Can place and lift legal holds</div>}
    </>
  );
}

function Actions({ of }: { of: Operator }) {
  const { operator } = useSession();
  const { data: ways } = useQuery('sign-in.get', {});
  if (of.id === operator.id) return null;
  return (
    <Group gap="xs" wrap="nowrap">
      <FormDialog
        opener="Change access"
        title={`Access for ${of.email}`}
        submit="Save"
        success="Access changed"
        action={(form) => call('operators.update', { id: of.id }, { body: readAccess(form) })}
      >
        {of.single_sign_on && (
          <Text size="sm">
            The identity provider also decides: the lower of its role and the role that you choose applies.
          </Text>
        )}
        <AccessFields of={of} />
        <Text size="sm" c="dimmed">
          Saving signs the operator out everywhere.
        </Text>
      </FormDialog>
      <ActionMenu label={`More actions for ${of.email}`}>
        <FormDialog
          opener={of.disabled ? 'Enable' : 'Disable'}
          title={`${of.disabled ? 'Enable' : 'Disable'} ${of.email}`}
          submit={of.disabled ? 'Enable' : 'Disable'}
          danger={!of.disabled}
          action={() => call('operators.update', { id: of.id }, { body: { disabled: !of.disabled } })}
        >
          <Text size="sm">
            {of.disabled
              ? 'The operator can sign in again.'
              : 'Signs the operator out everywhere. They cannot sign in until you enable them again. Invitations and links that they created become invalid.'}
          </Text>
        </FormDialog>
        {ways?.passwords && !of.single_sign_on && (
          <FormDialog
            opener="Reset password"
            title={`Reset password for ${of.email}`}
            submit="Reset"
            action={() => call('operators.reset', { id: of.id })}
            done={({ password }) => <NewPassword value={password} />}
          >
            <Text size="sm">
              Creates a new password, removes passkeys, authenticator app and recovery codes, and signs the operator out
              everywhere. Invitations and links that they created become invalid.
            </Text>
          </FormDialog>
        )}
        {ways?.single_sign_on && !of.sso_link_until && (
          <FormDialog
            opener="Allow single sign-on"
            title={`Allow single sign-on for ${of.email}`}
            submit="Allow"
            success="Allowed for 24 hours"
            action={() => call('operators.update', { id: of.id }, { body: { sso_link: true } })}
          >
            <Text size="sm">
              For 24 hours, the first person who signs in at the identity provider with this email address becomes this
              operator. The operator’s current sign-in stops working then, and the lower of the current role and the
              role at the identity provider applies.
            </Text>
          </FormDialog>
        )}
      </ActionMenu>
      {of.sso_link_until && (
        <ActionButton action={() => call('operators.update', { id: of.id }, { body: { sso_link: false } })}>
          Stop linking
        </ActionButton>
      )}
    </Group>
  );
}

function InviteOperator() {
  return (
    <FormDialog
      opener="Invite operator"
      title="Invite operator"
      submit="Create invitation"
      look={primary}
      action={(form) =>
        call('invitations.create', {}, { body: { email: String(form.get('email')), ...readAccess(form) } })
      }
      done={({ invitation }) => (
        <>
          <Text size="sm">
            Send this link to the operator, who uses it to choose a password. It works once, expires{' '}
            <Timestamp at={invitation.expires_at} show="clock" />, and is not shown again.
          </Text>
          <Copyable label="link" value={invitation.link} />
        </>
      )}
    >
      {(error) => (
        <>
          <TextInput name="email" type="email" label="Email" required data-autofocus error={errorAt(error, 'email')} />
          <AccessFields />
        </>
      )}
    </FormDialog>
  );
}

function NewPassword({ value }: { value: string }) {
  return (
    <>
      <Text size="sm">
        Send this temporary password to the operator, who must sign in and change it within 72 hours. It is not shown
        again.
      </Text>
      <Copyable label="password" value={value} />
    </>
  );
}
