import type { Config } from '../../catalog/settings/config.ts';
import { clientKeys } from '../../platform/security/signingKeys.ts';
import { findClient } from './findClient.ts';
import { type JsonOption, printResult } from './output.ts';
import { command_line, withAudit } from './withAudit.ts';

/** Creates new signing keys of a client, for EMRs that know its public keys. Works whether or not the service is running. */
export async function rotateKeysCommand(
  config: Config,
  { client, ...output }: JsonOption & { client?: string | undefined },
): Promise<void> {
  const kids = await withAudit(config, async (db, audit, { vault }) => {
    const client_id = await findClient(db, client);
    const created = await clientKeys({ db, vault }, client_id).rotate();
    await audit.record({
      client_id,
      ...command_line,
      action: 'keys.rotate',
      outcome: 'published',
      detail: { kids: created },
    });
    return created;
  });
  printResult(
    output,
    { kids },
    `The new keys are published in the key sets of the client's EMR apps and will be used in 24 hours:\n${kids.join('\n')}\n`,
  );
}
