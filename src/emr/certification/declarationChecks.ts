import { findUnknownCapability, findUnmarkedSecret, name_pattern } from '../declaration.ts';
import { type Check, fail } from './environment.ts';

/** What a connector declares, checked before the first request. */
export const declarationChecks: readonly Check[] = [
  {
    id: 'declaration.named',
    expectation: 'the connector has a valid name, a display name and sign-in fields',
    run: async ({ connector }) => {
      if (!name_pattern.test(connector.name)) fail('the name must consist of lower-case letters, digits, - and _');
      if (!connector.display_name.trim()) fail('display_name is empty');
      const names = connector.credential_fields.map(({ name }) => name);
      if (names.length === 0 || new Set(names).size !== names.length)
        fail('credential_fields is empty or contains duplicates');
      if (connector.credential_fields.some(({ label }) => !label.trim())) fail('a credential field has no label');
    },
  },
  {
    id: 'declaration.secrets',
    expectation: 'every secret field is marked, so that it is masked and never shown again',
    run: async ({ connector }) => {
      const unmarked = findUnmarkedSecret(connector.credential_fields);
      if (unmarked) fail(`the field ${unmarked} is not marked as a secret`);
    },
  },
  {
    id: 'declaration.limits',
    expectation: 'parallel_max is a positive integer',
    run: async ({ connector }) => {
      const { parallel_max } = connector.limits;
      if (!Number.isInteger(parallel_max) || parallel_max < 1) fail(`parallel_max is ${parallel_max}`);
    },
  },
  {
    id: 'declaration.address',
    expectation: 'the address is accepted by refuseAddress',
    run: async ({ connector, address }) => {
      const refused = connector.refuseAddress(new URL(address));
      if (refused !== undefined) fail(`the address ${refused}`);
    },
  },
  {
    id: 'declaration.capabilities',
    expectation: 'capabilities contains known operations, each once',
    run: async ({ connector }) => {
      const unknown = findUnknownCapability(connector.capabilities);
      if (unknown) fail(`unknown operation ${unknown}`);
      if (new Set(connector.capabilities).size !== connector.capabilities.length)
        fail('capabilities contains duplicates');
    },
  },
  {
    id: 'capabilities.match',
    expectation: 'open returns exactly the operations that the account supports',
    run: async (env) => {
      const { grant, timezone } = await env.session();
      const { endpoint } = env.endpoint();
      const access = { credentials: env.credentials, grant, saveGrant: async () => {}, timezone };
      const operations = env.connector.open(endpoint, access);
      const supported = await env.capabilities();
      const missing = supported.filter((name) => Reflect.get(operations, name.split('.')[0] ?? '') === undefined);
      if (missing.length > 0) fail(`supported but not returned by open: ${missing.join(', ')}`);
      const extra = Object.entries(operations).filter(([name, each]) => each && !supported.some((one) => one === name));
      if (extra.length > 0) fail(`returned by open but not supported: ${extra.map(([name]) => name).join(', ')}`);
      const undeclared = supported.filter((name) => !env.connector.capabilities.includes(name));
      if (undeclared.length > 0)
        fail(`supported by the account but not declared by the connector: ${undeclared.join(', ')}`);
    },
  },
  {
    id: 'capabilities.no_requests',
    expectation: 'opening an account sends no request',
    run: async (env) => {
      const { calls } = await env.open();
      await new Promise((done) => setImmediate(done));
      if (calls.length > 0) fail(`${calls.length} requests were sent`);
    },
  },
];
