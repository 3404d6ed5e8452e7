import { AddressError, type DatabaseAddress, parseAddress } from '../../../sql/address.ts';
import { StartFailure } from '../../catalog/errors.ts';

/** Reads the database URL of a setting. */
export function parseDatabaseUrl(setting: string, text: string): DatabaseAddress {
  try {
    return parseAddress(text);
  } catch (error) {
    if (!(error instanceof AddressError)) throw error;
    throw new StartFailure(`${setting} ${error.message}.`, { cause: error });
  }
}
