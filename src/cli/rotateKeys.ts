import type { Config } from '../config.ts';
import { openDatabase } from '../db/database.ts';
import { openServer } from '../db/openServer.ts';
import { checkMasterKey } from '../security/checkMasterKey.ts';
import { loadMasterKeys } from '../security/masterKeys.ts';
import { openSigningKeys } from '../security/signingKeys.ts';

/** Makes new keys for EMRs that know us by our public keys, beside a running service or without one. */
export async function rotateKeysCommand(config: Config): Promise<void> {
  const server = await openServer(config, () => {});
  const db = openDatabase(server.address, 2);
  try {
    const { generated: _made, ...master } = await loadMasterKeys(config);
    await checkMasterKey(db.system, master);
    const kids = await openSigningKeys(db.system, master).rotate();
    process.stdout.write(
      `New keys are published at /.well-known/jwks.json now and sign in 24 hours:\n${kids.join('\n')}\n`,
    );
  } finally {
    await db.close();
    await server.release();
  }
}
