import { type Static, Type } from 'typebox';
import type { RecordKind } from '../machine/recordKind.ts';
import { address, addressBlank, flag, id, sexCode, text, textOrNull, usDateOrNull } from '../practice/fields.ts';

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

export type Guarantor = Static<typeof row>;

/** Who pays: the patient, or somebody else. */
export const guarantors: RecordKind<typeof row> = {
  table: 'guarantors',
  record: 'guarantor',
  id: 'guarantorId',
  row,
  blank: {
    firstName: '',
    lastName: '',
    sexCode: 'U',
    relationshipCode: '99',
    guarantorIsPatient: 'N',
    address: addressBlank,
  },
};

/** How a guarantor or responsible party stands to the patient. */
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
