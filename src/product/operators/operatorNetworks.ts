import ipaddr from 'ipaddr.js';
import type { Sql } from '../../platform/db/database.ts';
import type { Context } from '../context.ts';

/** The lengths of the networks that are told apart: what one household or office usually has. */
const prefix_bits = { ipv4: 24, ipv6: 48 };

/** Longer than the setting allows. */
const kept_days = 400;

/**
 * Remembers the network of a sign-in. One that the operator has not used for as long as the setting says counts as new
 * again.
 */
export async function noteNetwork(
  { db, config }: Pick<Context, 'db' | 'config'>,
  operator_id: string,
  address: string,
): Promise<void> {
  const network = formatNetwork(address);
  if (network === undefined) return;
  const days = config.alert_new_network_days === 0 ? kept_days : config.alert_new_network_days;
  await db.system`
    INSERT INTO operator_networks AS known (operator_id, network) VALUES (${operator_id}, ${network})
    ON CONFLICT (operator_id, network) DO UPDATE SET seen_at = now(),
      new_at = CASE WHEN known.seen_at < now() - make_interval(days => ${days}) THEN now() ELSE known.new_at END`;
}

export async function purgeNetworks({ pooled: sql }: Sql): Promise<void> {
  await sql`DELETE FROM operator_networks WHERE seen_at < now() - make_interval(days => ${kept_days})`;
}

/** `203.0.113.0/24`; undefined if it is not an address. */
export function formatNetwork(address: string): string | undefined {
  const [bare = ''] = address.split('%');
  if (!ipaddr.isValid(bare)) return undefined;
  const parsed = ipaddr.process(bare);
  const bits = prefix_bits[parsed.kind()];
  const bytes = parsed.toByteArray().map((byte, n) => (n < bits / 8 ? byte : 0));
  return `${ipaddr.fromByteArray(bytes).toString()}/${bits}`;
}
