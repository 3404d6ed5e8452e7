import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { InsuranceProviderSource } from '../../model/records/insuranceProviders.ts';
import type { LocationSource } from '../../model/records/locations.ts';
import type { PharmacySource } from '../../model/records/pharmacies.ts';
import type { Operations } from '../operations/operations.ts';
import type { EmrPatientPharmacy } from '../operations/practice.ts';
import { path, requireBody } from './call.ts';
import { defineList } from './lists.ts';
import { defineWrite, type LarkspurOperation, listing, reading, toWritten } from './operation.ts';
import type { SendRequest } from './session.ts';
import {
  addressOneLine,
  addressTwoLines,
  blankToNull,
  flag,
  id,
  isoInstant,
  text,
  textOrNull,
  toStatus,
} from './values.ts';

const locations = defineList({
  path: '/api/facilities',
  row: Compile(
    Type.Object({
      facilityId: id,
      name: text,
      activeFlag: flag,
      address: addressTwoLines,
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

const pharmacies = defineList({
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

const insuranceProviders = defineList({
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

async function listPatientPharmacies(request: SendRequest, patient_ehr_id: string): Promise<EmrPatientPharmacy[]> {
  const url = path`/api/patients/${patient_ehr_id}/pharmacies`;
  const { rows } = requireBody(await request({ method: 'GET', path: url, schema: patient_pharmacies }));
  return rows.map((row) => ({
    ehr_id: row.pharmacyId,
    is_primary: row.primaryFlag === 'Y' ? '1' : '0',
    name: row.name,
    address: blankToNull(row.address.line1),
    city: blankToNull(row.address.city),
    state: blankToNull(row.address.state),
    zip: blankToNull(row.address.zip),
    phone: blankToNull(row.phone),
  }));
}

const patient_pharmacies = Compile(
  Type.Object({
    rows: Type.Array(
      Type.Object({
        pharmacyId: id,
        primaryFlag: flag,
        name: text,
        phone: textOrNull,
        address: addressOneLine,
      }),
    ),
  }),
);

const addPatientPharmacy = defineWrite<Operations['addPatientPharmacy']>(
  'add_patient_pharmacy',
  (input) => ({
    path: path`/api/patients/${input.patient_ehr_id}/pharmacies`,
    body: { pharmacyId: input.pharmacy_ehr_id },
  }),
  toWritten,
);

export const organization_operations: readonly LarkspurOperation[] = [
  { operation: 'listLocations', open: listing(locations) },
  { operation: 'listPharmacies', open: listing(pharmacies) },
  { operation: 'listInsuranceProviders', open: listing(insuranceProviders) },
  { operation: 'listPatientPharmacies', open: reading(listPatientPharmacies) },
  { operation: 'addPatientPharmacy', open: addPatientPharmacy },
];
