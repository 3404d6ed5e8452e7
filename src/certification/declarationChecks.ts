import type { Check } from './check.ts';
import { fail } from './check.ts';
import { lists } from './listChecks.ts';
import { reads } from './readChecks.ts';
import { samples } from './samples.ts';

/** What a connector says of itself, before anybody is asked. */
export const declarationChecks: readonly Check[] = [
  {
    id: 'declaration.named',
    promise: 'it has a name for the API, a name for people, and a form to sign in with',
    run: async ({ connector }) => {
      if (!/^[a-z][a-z0-9_-]*$/.test(connector.name)) fail('the name is not lower-case letters, digits, - and _');
      if (!connector.display_name.trim()) fail('there is no name for people');
      const names = connector.credential_fields.map(({ name }) => name);
      if (names.length === 0 || new Set(names).size !== names.length) fail('the sign-in fields are none or double');
      if (connector.credential_fields.some(({ label }) => !label.trim())) fail('a sign-in field has no label');
    },
  },
  {
    id: 'declaration.secrets',
    promise: 'every field that holds a secret is marked, so that it is masked and never shown again',
    run: async ({ connector }) => {
      const bare = connector.credential_fields.find(
        ({ name, secret }) => !secret && /password|secret|token|private_key/i.test(name) && !/way|method/i.test(name),
      );
      if (bare) fail(`the field ${bare.name} is not marked as a secret`);
    },
  },
  {
    id: 'declaration.limits',
    promise: 'the number of lanes that may be at work at once is a whole one, from one up',
    run: async ({ connector }) => {
      const { parallel_max } = connector.limits;
      if (!Number.isInteger(parallel_max) || parallel_max < 1) fail(`parallel_max is ${parallel_max}`);
    },
  },
  {
    id: 'declaration.address',
    promise: 'the address in use is one that may be linked',
    run: async ({ connector, address }) => {
      const refused = connector.refuseAddress(new URL(address));
      if (refused !== undefined) fail(`the address ${refused}`);
    },
  },
  {
    id: 'declaration.offers',
    promise: 'it offers operations of the interface, each once',
    run: async ({ connector }) => {
      const known = [...Object.keys(lists), ...Object.keys(reads), ...Object.keys(samples)];
      const strange = connector.capabilities.find((name) => !known.includes(name));
      if (strange) fail(`there is no operation ${strange}`);
      if (new Set(connector.capabilities).size !== connector.capabilities.length) fail('an operation is offered twice');
    },
  },
  {
    id: 'offers.opened',
    promise: 'an open account gives exactly the operations it offers: each of them, and none beside them',
    run: async (env) => {
      const { grant, timezone } = await env.session();
      const { endpoint } = env.endpoint();
      const access = { credentials: env.credentials, grant, saveGrant: async () => {}, timezone };
      const given = env.connector.open(endpoint, access);
      const offered = await env.offers();
      const missing = offered.filter((name) => given[name] === undefined);
      if (missing.length > 0) fail(`offered but not given: ${missing.join(', ')}`);
      const beside = Object.entries(given).filter(([name, each]) => each && !offered.some((one) => one === name));
      if (beside.length > 0) fail(`given but not offered: ${beside.map(([name]) => name).join(', ')}`);
      const undeclared = offered.filter((name) => !env.connector.capabilities.includes(name));
      if (undeclared.length > 0) fail(`the account offers what the connector does not: ${undeclared.join(', ')}`);
    },
  },
  {
    id: 'offers.quiet',
    promise: 'opening an account asks nothing of the EMR',
    run: async (env) => {
      const { calls } = await env.open();
      await new Promise((done) => setImmediate(done));
      if (calls.length > 0) fail(`${calls.length} calls were made before anything was asked for`);
    },
  },
];
