import { Checkbox, NativeSelect, Radio, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { client_roles } from '../../service/api.gen.ts';
import type { Body, ResponseOf } from '../../service/api.ts';
import { useQuery } from '../../service/queries.ts';
import { role_labels } from '../../service/types.ts';

type Access = Pick<
  ResponseOf<'operators.list'>['operators'][number],
  'role' | 'all_clients' | 'clients' | 'may_reveal' | 'may_see_disclosures' | 'may_hold'
>;

const role_options = [
  { value: 'support', label: 'Support: view data without patient details' },
  { value: 'read_only', label: 'Read-only: view data' },
  { value: 'operator', label: 'Operator: view and change data' },
  { value: 'owner', label: 'Owner: also manage secrets and operators' },
];

const no_access = { value: '', label: 'No access' };

/** What an operator may do: a role in all clients, or a role in each of some clients. */
export function AccessFields({ of }: { of?: Access }) {
  const { data } = useQuery('clients.list', {});
  const [all, setAll] = useState(of?.all_clients ?? true);
  const client_options = [no_access, ...client_roles.map((value) => ({ value, label: role_labels[value] }))];
  const roleIn = (client_id: string) => of?.clients.find((each) => each.client_id === client_id)?.role;
  return (
    <>
      <Radio.Group
        label="Access to"
        name="access"
        value={all ? 'all' : 'some'}
        onChange={(value) => setAll(value === 'all')}
      >
        <Stack gap={6} mt={4}>
          <Radio value="all" label="All clients" />
          <Radio value="some" label="Selected clients" />
        </Stack>
      </Radio.Group>
      {all ? (
        <NativeSelect
          name="role"
          label="Role"
          data={role_options}
          defaultValue={of?.all_clients === false ? 'support' : (of?.role ?? 'operator')}
        />
      ) : (
        <Stack gap="xs" role="group" aria-label="Role per client">
          {data?.clients.map(({ client_id, name }) => (
            <NativeSelect
              key={client_id}
              name={`client ${client_id}`}
              label={name}
              data={client_options}
              defaultValue={roleIn(client_id) ?? ''}
            />
          ))}
        </Stack>
      )}
      <div>
        <Checkbox
          name="may_reveal"
          label="Can reveal patient details by giving a reason"
          defaultChecked={of?.may_reveal ?? false}
        />
        <Text size="xs" c="dimmed" mt={4}>
          For the Support role, which hides them. Every reveal is recorded in the audit log.
        </Text>
      </div>
      <div>
        <Checkbox
          name="may_see_disclosures"
          label="Can see who received data about a patient"
          defaultChecked={of?.may_see_disclosures ?? false}
        />
        <Text size="xs" c="dimmed" mt={4}>
          The Disclosures page, for any role. Every view is recorded in the audit log.
        </Text>
      </div>
      <div>
        <Checkbox name="may_hold" label="Can place and lift legal holds" defaultChecked={of?.may_hold ?? false} />
        <Text size="xs" c="dimmed" mt={4}>
          Not part of any role, not even of Owner. It needs Read-only at least.
        </Text>
      </div>
    </>
  );
}

/** The access that the fields describe. With roles per client, the role for all clients is not used. */
export function readAccess(form: FormData): Omit<Body<'invitations.create'>, 'email'> {
  const rights = {
    may_reveal: form.get('may_reveal') !== null,
    may_see_disclosures: form.get('may_see_disclosures') !== null,
    may_hold: form.get('may_hold') !== null,
  };
  if (form.get('access') === 'all') return { role: String(form.get('role')), clients: null, ...rights };
  const clients = [...form].flatMap(([name, role]) => {
    const [kind, client_id = ''] = name.split(' ');
    return kind === 'client' && role !== '' ? [{ client_id, role: String(role) }] : [];
  });
  return { role: 'support', clients, ...rights };
}
