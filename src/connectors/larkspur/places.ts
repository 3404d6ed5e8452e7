import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { LocationSource } from '../../model/records/locations.ts';
import type { PharmacySource } from '../../model/records/pharmacies.ts';
import { list } from './lists.ts';
import { activity, addressOneLine, blankToNull, flag, id, text, textOrNull } from './values.ts';

export const locations = list({
  path: '/api/facilities',
  row: Compile(
    Type.Object({
      facilityId: id,
      name: text,
      activeFlag: flag,
      address: Type.Object({ ...addressOneLine.properties, line2: textOrNull }),
      phone: textOrNull,
      fax: textOrNull,
    }),
  ),
  source: (row): LocationSource => ({
    ehr_id: row.facilityId,
    name: row.name,
    status: activity(row.activeFlag),
    address: {
      address1: blankToNull(row.address.line1),
      address2: blankToNull(row.address.line2),
      city: blankToNull(row.address.city),
      state: blankToNull(row.address.state),
      zip: blankToNull(row.address.zip),
    },
    phone: blankToNull(row.phone),
    fax: blankToNull(row.fax),
  }),
});

export const pharmacies = list({
  path: '/api/pharmacies',
  row: Compile(
    Type.Object({
      pharmacyId: id,
      name: text,
      activeFlag: flag,
      address: addressOneLine,
      phone: textOrNull,
      email: textOrNull,
    }),
  ),
  source: (row): PharmacySource => ({
    ehr_id: row.pharmacyId,
    name: row.name,
    address: {
      address1: blankToNull(row.address.line1),
      city: blankToNull(row.address.city),
      state: blankToNull(row.address.state),
      zip: blankToNull(row.address.zip),
    },
    phone: blankToNull(row.phone),
    email: blankToNull(row.email),
    status: activity(row.activeFlag),
  }),
});
