import type { LocationSource } from '../../model/records/locations.ts';
import type { StaffMemberSource } from '../../model/records/staff.ts';
import type { VisitCodeSource } from '../../model/records/visitTypes.ts';
import type { EmrEndpoint } from '../connector.ts';
import { findStateZone } from '../fhir/sign-in/signIn.ts';
import { type Facility, type OpenEmr, type OpenEmrOperation, scopes, toFacility } from './operation.ts';
import { call, readData } from './rest.ts';
import { field, flag, isRow } from './rows.ts';

/** FHIR's locations are no list of the practice's places: they include the homes of patients and users. */
async function* listLocations({ people }: OpenEmr): AsyncGenerator<LocationSource[]> {
  const facilities = await people.facilities();
  yield facilities.map(({ ehr_id, name, row }) => ({
    ehr_id,
    name,
    status: flag(row, 'service_location') === false ? 'inactive' : 'active',
    address: {
      address1: field(row, 'street'),
      address2: null,
      city: field(row, 'city'),
      state: field(row, 'state'),
      zip: field(row, 'postal_code'),
    },
    phone: field(row, 'phone'),
    fax: field(row, 'fax'),
  }));
}

/** Everyone who can sign in. Users without a name for that are entries of the address book. */
async function* listStaff({ people }: OpenEmr): AsyncGenerator<StaffMemberSource[]> {
  const users = (await people.users()).filter(({ username }) => username !== null);
  yield users.map(({ ehr_id, name, role, active }) => ({ ehr_id, name, role, status: active ? 'active' : 'inactive' }));
}

/** OpenEMR's API does not list its calendar categories, so they are a setting of the organization. */
async function* listVisitTypes({ visit_types }: OpenEmr): AsyncGenerator<VisitCodeSource[]> {
  yield visit_types.map(({ code, description, minutes }) => ({ ehr_id: code, code, description, minutes }));
}

async function* listVisitStatuses({ rest }: OpenEmr): AsyncGenerator<VisitCodeSource[]> {
  const rows = await rest.list({ path: ['list', 'apptstat'], scope: 'list.read' });
  yield rows.flatMap((row) => {
    const code = field(row, 'option_id');
    return code === null ? [] : [{ ehr_id: code, code, description: field(row, 'title') ?? code, minutes: null }];
  });
}

/** The time zone of the state where the practice is. OpenEMR sends local times, and does not name their zone. */
export async function findTimezone(endpoint: EmrEndpoint, access_token: string): Promise<string | undefined> {
  const request = { method: 'GET', path: ['facility'], scope: 'facility.read', returns: 'list' } as const;
  const { status, json } = await call(endpoint, request, access_token);
  const data = readData(json);
  if (status !== 200 || !Array.isArray(data)) return undefined;
  const facilities = data.filter(isRow).flatMap(toFacility);
  const ordered = facilities.toSorted((one, other) => rank(other) - rank(one));
  return ordered.map(({ row }) => findStateZone(field(row, 'state'))).find((zone) => zone !== undefined);
}

/** The practice itself first, then places where patients are seen. */
function rank({ row }: Facility): number {
  return (flag(row, 'primary_business_entity') ? 2 : 0) + (flag(row, 'service_location') ? 1 : 0);
}

export const practice_operations: readonly OpenEmrOperation[] = [
  { operation: 'listLocations', requires: [scopes('facility.read')], open: (emr) => () => listLocations(emr) },
  { operation: 'listStaff', requires: [scopes('user.read')], open: (emr) => () => listStaff(emr) },
  { operation: 'listVisitTypes', open: (emr) => () => listVisitTypes(emr) },
  { operation: 'listVisitStatuses', requires: [scopes('list.read')], open: (emr) => () => listVisitStatuses(emr) },
];
