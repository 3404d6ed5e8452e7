import type { Tx } from '../../platform/db/database.ts';
import { type DestinationChange, destinationOf } from '../../platform/security/destinations.ts';
import { findLinkToken, type LinkPurpose } from './linkTokens.ts';

type AddressDetail = { org_id: string; emr_address: string; destinations?: DestinationChange[] };

/** The audit detail of a link: the address of its EMR, as a new destination if the organization has no EMR yet. */
export async function describeAddress(
  tx: Tx,
  { org_id, emr_address }: Pick<LinkPurpose, 'org_id' | 'emr_address'>,
): Promise<AddressDetail> {
  const address = destinationOf(emr_address);
  const [known] = await tx`SELECT FROM organizations WHERE org_id = ${org_id}`;
  const destinations: DestinationChange[] = known ? [] : [{ kind: 'emr', old: null, new: address }];
  return { org_id, emr_address: address, ...(destinations.length > 0 && { destinations }) };
}

/** The same for a link token that was created in this transaction. */
export async function describeLinkToken(tx: Tx, token: string): Promise<AddressDetail | undefined> {
  const purpose = await findLinkToken(tx, token);
  return purpose && describeAddress(tx, purpose);
}
