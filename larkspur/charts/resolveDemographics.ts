import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { type CodeList, codeFor } from '../practice/codes.ts';
import { facilities } from '../practice/facilities.ts';
import { getActive } from '../practice/getActive.ts';
import { findProvider, providers } from '../practice/providers.ts';
import { findReferring, findReferringByName, type NamedDoctor } from '../practice/referringProviders.ts';

/** What a caller may say about a patient in words that Larkspur first looks up. Left out: unchanged; null: none. */
export interface Demographics {
  language?: string | null;
  race?: string | null;
  ethnicity?: string | null;
  referringId?: string | null;
  referringFirstName?: string | null;
  referringLastName?: string | null;
  pcpId?: string | null;
  pcpFirstName?: string | null;
  pcpLastName?: string | null;
  renderingProviderId?: string | null;
  defaultFacilityId?: string | null;
}

/**
 * The columns these words stand for. A doctor known by name alone is kept by name on a new chart; on one that exists,
 * where the name would replace a record, it is refused.
 */
export async function resolveDemographics(
  sql: Query,
  given: Demographics,
  unknownNames: 'keep' | 'refuse',
): Promise<Record<string, string | null>> {
  if (given.renderingProviderId) await getActive(sql, providers, given.renderingProviderId);
  if (given.defaultFacilityId) await getActive(sql, facilities, given.defaultFacilityId);
  const referring = await findDoctor(sql, 'referring', unknownNames, {
    id: given.referringId,
    firstName: given.referringFirstName,
    lastName: given.referringLastName,
  });
  const pcp = await findDoctor(sql, 'pcp', unknownNames, {
    id: given.pcpId,
    firstName: given.pcpFirstName,
    lastName: given.pcpLastName,
  });
  return {
    ...(await codeColumn(sql, 'language', given.language)),
    ...(await codeColumn(sql, 'race', given.race)),
    ...(await codeColumn(sql, 'ethnicity', given.ethnicity)),
    ...referring,
    ...pcp,
    ...(given.renderingProviderId === undefined ? {} : { renderingProviderId: given.renderingProviderId }),
    ...(given.defaultFacilityId === undefined ? {} : { defaultFacilityId: given.defaultFacilityId }),
  };
}

async function codeColumn(sql: Query, list: CodeList, given: string | null | undefined) {
  if (given === undefined) return {};
  return { [`${list}Code`]: given === null ? null : await codeFor(sql, list, given) };
}

interface GivenDoctor {
  id: string | null | undefined;
  firstName: string | null | undefined;
  lastName: string | null | undefined;
}

async function findDoctor(
  sql: Query,
  role: 'referring' | 'pcp',
  unknownNames: 'keep' | 'refuse',
  given: GivenDoctor,
): Promise<Record<string, string | null>> {
  const columns = (doctor: NamedDoctor | null) => ({
    [`${role}Id`]: doctor?.id ?? null,
    [`${role}FirstName`]: doctor?.firstName ?? null,
    [`${role}LastName`]: doctor?.lastName ?? null,
  });
  if (given.id) {
    const doctor =
      (await findReferring(sql, given.id)) ?? (role === 'pcp' ? await findProvider(sql, given.id) : undefined);
    if (!doctor) throw new EmrError('NOT_FOUND', `No referring provider with id '${given.id}'.`);
    return columns(doctor);
  }
  if (given.firstName && given.lastName) {
    const [only, ...more] = await findReferringByName(sql, given.firstName, given.lastName);
    if (only && more.length === 0) return columns(only);
    if (unknownNames === 'keep') return columns({ id: null, firstName: given.firstName, lastName: given.lastName });
    const how = only ? 'Several referring providers are' : 'No referring provider is';
    throw new EmrError('REFUSED', `${how} called '${given.firstName} ${given.lastName}'.`);
  }
  if (given.firstName || given.lastName) {
    throw new EmrError('REFUSED', `${role}FirstName and ${role}LastName go together.`);
  }
  return given.id === null || given.firstName === null || given.lastName === null ? columns(null) : {};
}
