import type { Config } from '../config.ts';
import { command_line, withAudit } from './withAudit.ts';

/** Makes new keys for EMRs that know us by our public keys, beside a running service or without one. */
export async function rotateKeysCommand(config: Config): Promise<void> {
  const kids = await withAudit(config, async (_db, audit, { signing_keys }) => {
    const made = await signing_keys.rotate();
    await audit.record({
      client_id: null,
      ...command_line,
      action: 'keys.rotate',
      outcome: 'published',
      detail: { kids: made },
    });
    return made;
  });
  process.stdout.write(
    `New keys are published at /.well-known/jwks.json now and sign in 24 hours:\n${kids.join('\n')}\n`,
  );
}
