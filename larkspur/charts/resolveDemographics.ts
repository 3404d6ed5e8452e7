import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { facilities } from '../practice/organizations.ts';
import { type CodeList, resolveCode } from '../practice/practice.ts';
import {
  findProvider,
  findReferringProvider,
  findReferringProvidersByName,
  type NamedProvider,
  providers,
} from '../practice/providers.ts';
import { requireActive } from '../records/recordKind.ts';

/** Fields that refer to codes or other records. Omitted fields stay unchanged; null clears the field. */
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
 * Resolves the fields to columns. `unknownNames` says what happens to a provider's name that matches no provider, or
 * several: a new chart stores the name as text; an update rejects it, because it would replace a link to a record.
 */
export async function resolveDemographics(
  sql: Query,
  input: Demographics,
  unknownNames: 'store' | 'reject',
): Promise<Record<string, string | null>> {
  if (input.renderingProviderId) await requireActive(sql, providers, input.renderingProviderId);
  if (input.defaultFacilityId) await requireActive(sql, facilities, input.defaultFacilityId);
  const referring = await resolveProvider(sql, 'referring', unknownNames, {
    id: input.referringId,
    firstName: input.referringFirstName,
    lastName: input.referringLastName,
  });
  const pcp = await resolveProvider(sql, 'pcp', unknownNames, {
    id: input.pcpId,
    firstName: input.pcpFirstName,
    lastName: input.pcpLastName,
  });
  return {
    ...(await codeColumn(sql, 'language', input.language)),
    ...(await codeColumn(sql, 'race', input.race)),
    ...(await codeColumn(sql, 'ethnicity', input.ethnicity)),
    ...referring,
    ...pcp,
    ...(input.renderingProviderId === undefined ? {} : { renderingProviderId: input.renderingProviderId }),
    ...(input.defaultFacilityId === undefined ? {} : { defaultFacilityId: input.defaultFacilityId }),
  };
}

async function codeColumn(sql: Query, list: CodeList, value: string | null | undefined) {
  if (value === undefined) return {};
  return { [`${list}Code`]: value === null ? null : await resolveCode(sql, list, value) };
}

interface ProviderInput {
  id: string | null | undefined;
  firstName: string | null | undefined;
  lastName: string | null | undefined;
}

async function resolveProvider(
  sql: Query,
  role: 'referring' | 'pcp',
  unknownNames: 'store' | 'reject',
  input: ProviderInput,
): Promise<Record<string, string | null>> {
  const columns = (provider: NamedProvider | null) => ({
    [`${role}Id`]: provider?.id ?? null,
    [`${role}FirstName`]: provider?.firstName ?? null,
    [`${role}LastName`]: provider?.lastName ?? null,
  });
  if (input.id) {
    const provider =
      (await findReferringProvider(sql, input.id)) ?? (role === 'pcp' ? await findProvider(sql, input.id) : undefined);
    if (!provider) throw new EmrError('NOT_FOUND', `No referring provider with id '${input.id}'.`);
    return columns(provider);
  }
  if (input.firstName && input.lastName) {
    const [only, ...more] = await findReferringProvidersByName(sql, input.firstName, input.lastName);
    if (only && more.length === 0) return columns(only);
    if (unknownNames === 'store') return columns({ id: null, firstName: input.firstName, lastName: input.lastName });
    const name = `'${input.firstName} ${input.lastName}'`;
    if (only) throw new EmrError('AMBIGUOUS_NAME', `Several referring providers are called ${name}.`);
    throw new EmrError('UNKNOWN_NAME', `No referring provider is called ${name}.`);
  }
  if (input.firstName || input.lastName) {
    throw new EmrError('RULE_BROKEN', `${role}FirstName and ${role}LastName must be sent together.`);
  }
  return input.id === null || input.firstName === null || input.lastName === null ? columns(null) : {};
}
