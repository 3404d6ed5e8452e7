import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { InsuranceProviderSource } from '../../model/records/insuranceProviders.ts';
import type { LocationSource } from '../../model/records/locations.ts';
import type { PharmacySource } from '../../model/records/pharmacies.ts';
import { defineList } from './lists.ts';
import { addressOneLine, blankToNull, flag, id, isoInstant, text, textOrNull, toStatus } from './values.ts';

export const locations = defineList({
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
  toSource: (row): LocationSource => ({
    ehr_id: row.facilityId,
    name: row.name,
    status: toStatus(row.activeFlag),
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

export const pharmacies = defineList({
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
  toSource: (row): PharmacySource => ({
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
    status: toStatus(row.activeFlag),
  }),
});

export const insuranceProviders = defineList({
  path: '/api/insurance-companies',
  row: Compile(
    Type.Object({
      companyId: id,
      name: text,
      payerId: textOrNull,
      carrierId: textOrNull,
      activeFlag: flag,
      address: addressOneLine,
      createdAt: textOrNull,
    }),
  ),
  toSource: (row): InsuranceProviderSource => ({
    ehr_id: row.companyId,
    name: row.name,
    payer_id: blankToNull(row.payerId),
    active: row.activeFlag === 'Y',
    address: blankToNull(row.address.line1),
    city: blankToNull(row.address.city),
    state: blankToNull(row.address.state),
    created_at: isoInstant(row.createdAt),
    carrier_id: blankToNull(row.carrierId),
  }),
});
