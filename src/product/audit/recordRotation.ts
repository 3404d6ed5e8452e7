import type { Sql } from '../../platform/db/database.ts';
import type { RotationEntry } from '../../platform/security/openKeys.ts';
import type { SystemKeys } from '../../platform/security/systemKeys.ts';
import { storeRecords } from './auditRecords.ts';
import { openStamp } from './stamp.ts';

/** Records a rotation of the master key. It may run at a start, before the audit log is open. */
export async function recordRotation(
  system: Sql,
  keys: SystemKeys,
  { outcome, ...detail }: RotationEntry,
): Promise<void> {
  const entry = { client_id: null, actor_kind: 'system', actor: 'service', action: 'master_key.rotate' } as const;
  await storeRecords(system.pooled, [openStamp(keys).stamp({ ...entry, outcome, detail })]);
}
