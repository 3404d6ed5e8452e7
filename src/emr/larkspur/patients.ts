import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { PatientSource } from '../../model/records/patients.ts';
import { defineList } from './lists.ts';
import { blankToNull, id, isoDate, text, textOrNull, toSex } from './values.ts';

export const patients = defineList({
  path: '/api/patients',
  row: Compile(
    Type.Object({
      patientId: id,
      mrn: id,
      firstName: text,
      middleName: textOrNull,
      lastName: text,
      birthDate: textOrNull,
      sexCode: textOrNull,
      homePhone: textOrNull,
      cellPhone: textOrNull,
      email: textOrNull,
      address: Type.Object({
        line1: textOrNull,
        line2: textOrNull,
        city: textOrNull,
        state: textOrNull,
        zip: textOrNull,
      }),
      primaryInsuranceName: textOrNull,
      primarySubscriberNumber: textOrNull,
    }),
  ),
  toSource: (row): PatientSource => ({
    ehr_id: row.patientId,
    mrn: row.mrn,
    first_name: row.firstName,
    middle_name: blankToNull(row.middleName),
    last_name: row.lastName,
    dob: isoDate(row.birthDate),
    sex: toSex(row.sexCode),
    phone: blankToNull(row.homePhone),
    cell_phone: blankToNull(row.cellPhone),
    email: blankToNull(row.email),
    address_street: blankToNull(row.address.line1),
    address_line2: blankToNull(row.address.line2),
    address_city: blankToNull(row.address.city),
    address_state: blankToNull(row.address.state),
    address_zip: blankToNull(row.address.zip),
    insurance_name: blankToNull(row.primaryInsuranceName),
    insurance_subscriber_number: blankToNull(row.primarySubscriberNumber),
  }),
});
