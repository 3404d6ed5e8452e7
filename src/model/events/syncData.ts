import { type TProperties, Type } from 'typebox';
import { choices } from '../fields.ts';

/**
 * The data of an event about a change that a sync found. Types that writes of ours send too have it as `sync_data`, others
 * as `data` and `sync_data`.
 */
export function syncData<Properties extends TProperties>(properties: Properties) {
  return Type.Object({
    source: choices({ emr: 'Staff changed the record in the EMR' }, { description: 'Where the change was made' }),
    ...properties,
  });
}

/** The names of the fields that changed, as in the record. */
export const changed_fields = Type.Array(Type.String(), {
  description: 'Names of the fields that changed, as the list of the records has them',
  examples: [['phone', 'address_city']],
});
