import { Type } from 'typebox';
import type { RecordKind } from '../machine/recordKind.ts';
import { addressOneLine, addressOneLineBlank, flag, id, text, textOrNull } from './fields.ts';

const row = Type.Object({
  pharmacyId: id,
  name: text,
  activeFlag: flag,
  address: addressOneLine,
  phone: textOrNull,
  email: textOrNull,
});

export const pharmacies: RecordKind<typeof row> = {
  table: 'pharmacies',
  record: 'pharmacy',
  id: 'pharmacyId',
  row,
  blank: { name: '', activeFlag: 'Y', address: addressOneLineBlank },
};
