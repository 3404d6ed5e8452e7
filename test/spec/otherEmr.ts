import { endpoints } from '../../src/api/endpoints.ts';
import { buildServer } from '../../src/api/server.ts';
import type { Connector } from '../../src/connectors/connector.ts';
import { larkspur } from '../../src/connectors/larkspur/larkspur.ts';
import { openLookups } from '../../src/db/lookups.ts';
import { type Api, openApi } from '../harness/api.ts';
import type { TestSandbox } from '../harness/sandbox.ts';

/** Runs `work` while the sandbox's organisation belongs to an EMR that can be linked but has nothing of the restricted one. */
export async function withOtherEmr(world: TestSandbox, work: (api: Api) => Promise<void>): Promise<void> {
  const plain: Connector = { ...larkspur, name: 'plain', display_name: 'Plain', offers: [], open: () => ({}) };
  const connectors = new Map([...world.ctx.connectors, ['plain', plain]]);
  const server = buildServer({ ...world.ctx, connectors, lookups: openLookups() }, endpoints);
  const base_url = await server.listen({ host: '127.0.0.1', port: 0 });
  await world.owner`UPDATE organisations SET connector = 'plain' WHERE org_id = ${world.sandbox.org_id}`;
  try {
    await work(openApi({ ...world.sandbox, base_url }));
  } finally {
    await world.owner`UPDATE organisations SET connector = 'larkspur' WHERE org_id = ${world.sandbox.org_id}`;
    await server.close();
  }
}
