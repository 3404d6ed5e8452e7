import { Type } from 'typebox';
import type { RecordKind } from '../machine/recordKind.ts';
import { address, addressBlank, flag, id, text, textOrNull } from './fields.ts';

const row = Type.Object({ facilityId: id, name: text, activeFlag: flag, address, phone: textOrNull, fax: textOrNull });

export const facilities: RecordKind<typeof row> = {
  table: 'facilities',
  record: 'facility',
  id: 'facilityId',
  row,
  blank: { name: '', activeFlag: 'Y', address: addressBlank },
};
