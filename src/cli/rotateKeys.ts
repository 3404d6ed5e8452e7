import type { Config } from '../config.ts';
import { type JsonOption, printResult } from './output.ts';
import { command_line, withAudit } from './withAudit.ts';

/** Creates new signing keys for EMRs that identify us by our public keys. Works whether or not the service is running. */
export async function rotateKeysCommand(config: Config, output: JsonOption = {}): Promise<void> {
  const kids = await withAudit(config, async (_db, audit, { signing_keys }) => {
    const created = await signing_keys.rotate();
    await audit.record({
      client_id: null,
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
    `The new keys are published at /.well-known/jwks.json and will be used in 24 hours:\n${kids.join('\n')}\n`,
  );
}
