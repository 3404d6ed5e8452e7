import { StartFailure } from '../../catalog/errors.ts';
import type { Config } from '../../catalog/settings/config.ts';
import { changeClient, describeClientChange, readClientSettings } from '../../product/clients/clients.ts';
import type { OriginLimits } from '../../product/clients/requestOrigins.ts';
import { command_line, findClient, withAudit } from './audit.ts';
import { checkOptions, type LimitOptions, readLimits } from './credentials.ts';
import { type JsonOption, printResult } from './output.ts';

type Values = JsonOption &
  LimitOptions & {
    client?: string | undefined;
    'any-network'?: boolean | undefined;
    certificates?: boolean | undefined;
  };

/** Lists the clients, and where their requests may come from. */
export async function listClientsCommand(config: Config, output: JsonOption): Promise<void> {
  const clients = await withAudit(config, async (db, audit) => {
    const rows = await db.system<{ id: string }[]>`SELECT id FROM clients ORDER BY created_at, id`;
    const settings = await Promise.all(rows.map(({ id }) => db.tenant(id, (tx) => readClientSettings(tx, id))));
    await audit.record({ client_id: null, ...command_line, action: 'clients.list', outcome: 'listed' });
    return settings.map(({ client_id, name, mode, allowed_networks, certificate_fingerprints }) => ({
      ...{ client_id, name, mode, allowed_networks, certificate_fingerprints },
    }));
  });
  const lines = clients.map((client) => `${client.client_id}  ${client.name}  ${describeLimits(client)}\n`);
  printResult(output, { clients }, lines.join('') || 'No clients.\n');
}

/** Sets where requests of a client may come from. Works whether or not the service is running, which applies it at once. */
export async function changeClientCommand(config: Config, values: Values): Promise<void> {
  const changes = checkOptions(config, await readChanges(values));
  const after = await withAudit(config, async (db, audit) => {
    const id = await findClient(db, values.client);
    return db.tenant(id, async (tx) => {
      const changed = await changeClient(tx, id, changes);
      const detail = { changed: Object.keys(changes), ...describeClientChange(changed.before, changed.after) };
      await audit.recordInTransaction(tx, {
        client_id: id,
        ...command_line,
        ...{ action: 'client.change', outcome: 'changed', subject: values.client, detail },
      });
      return changed.after;
    });
  });
  const { client_id, allowed_networks, certificate_fingerprints } = after;
  printResult(
    values,
    { client_id, allowed_networks, certificate_fingerprints },
    `${client_id}  ${describeLimits(after)}\n`,
  );
}

async function readChanges(values: Values): Promise<Partial<OriginLimits>> {
  const { network, certificate, 'any-network': any_network = false, certificates = true } = values;
  if (network && any_network) throw new StartFailure('--network and --any-network exclude each other.');
  if (certificate && !certificates) throw new StartFailure('--certificate and --no-certificates exclude each other.');
  const changes = {
    ...(await readLimits({ network, certificate })),
    ...(any_network && { allowed_networks: [] }),
    ...(!certificates && { certificate_fingerprints: [] }),
  };
  if (Object.keys(changes).length > 0) return changes;
  throw new StartFailure('Specify what to change, such as --network 10.0.0.0/8. See: chartwire clients change --help');
}

function describeLimits({ allowed_networks, certificate_fingerprints }: OriginLimits): string {
  const networks = allowed_networks.length > 0 ? `from ${allowed_networks.join(', ')}` : 'from anywhere';
  const count = certificate_fingerprints.length;
  if (count === 0) return networks;
  return `${networks}, with ${count === 1 ? 'its certificate' : `one of its ${count} certificates`}`;
}
