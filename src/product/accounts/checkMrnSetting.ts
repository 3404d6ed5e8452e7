import { apiError } from '../../catalog/errors.ts';
import type { Context } from '../context.ts';
import type { MrnSetting } from './mrnRule.ts';
import { connectorOf } from './openAccount.ts';

/** Validates which identifier is the MRN and returns it as it is stored: a blank value is none. */
export function checkMrnSetting(
  ctx: Pick<Context, 'connectors'>,
  connector: string,
  setting: { mrn_system?: string | null | undefined; mrn_type?: string | null | undefined },
): MrnSetting {
  const system = setting.mrn_system?.trim() || null;
  const type = setting.mrn_type?.trim() || null;
  const field = system !== null ? 'mrn_system' : 'mrn_type';
  if ((system ?? type) !== null && !connectorOf(ctx, connector).sampleIdentifiers) {
    throw apiError('unsupported_field', { field }, { field });
  }
  return { mrn_system: system, mrn_type: type };
}
