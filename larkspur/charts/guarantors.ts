import { Type } from 'typebox';
import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { address, emptyAddress, flag, id, sexCode, text, textOrNull, usDateOrNull } from '../records/fields.ts';
import { getRecord, type RowOf, recordKind } from '../records/recordKind.ts';

const row = Type.Object({
  guarantorId: id,
  patientId: id,
  firstName: text,
  middleName: textOrNull,
  lastName: text,
  birthDate: usDateOrNull,
  sexCode,
  relationshipCode: id,
  guarantorIsPatient: flag,
  phone: textOrNull,
  address,
});

/** A person who pays for the patient's care: the patient or someone else. */
export const guarantors = recordKind({ table: 'guarantors', record: 'guarantor', id: 'guarantorId' }, row, {
  firstName: '',
  lastName: '',
  sexCode: 'U',
  relationshipCode: '99',
  guarantorIsPatient: 'N',
  address: emptyAddress,
});

export type Guarantor = RowOf<typeof guarantors>;

/** The relationship of a guarantor or responsible party to the patient. */
export const relationships = {
  '1': 'Self',
  '2': 'Spouse',
  '3': 'Child',
  '4': 'Adopted child',
  '5': 'Step child',
  '6': 'Foster child',
  '7': 'Ward of court',
  '8': 'Employee',
  '9': 'Unknown',
  '10': 'Handicapped dependent',
  '11': 'Organ donor',
  '12': 'Cadaver donor',
  '13': 'Grandchild',
  '14': 'Niece or nephew',
  '15': 'Injured plaintiff',
  '16': 'Sponsored dependent',
  '17': 'Minor dependent',
  '18': 'Parent',
  '19': 'Grandparent',
  '53': 'Life partner',
  '99': 'Other',
};
export const SELF = '1';

/** Throws NOT_FOUND for guarantors of other patients too. */
export async function getGuarantor(sql: Query, patientId: string, guarantorId: string): Promise<Guarantor> {
  const guarantor = await getRecord(sql, guarantors, guarantorId);
  if (guarantor.patientId === patientId) return guarantor;
  throw new EmrError('NOT_FOUND', `No guarantor with id '${guarantorId}'.`);
}
