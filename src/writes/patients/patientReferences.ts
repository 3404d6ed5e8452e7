import type { Fragment, Query } from '../../db/database.ts';
import { apiError } from '../../errors.ts';
import { parseId } from '../../ids.ts';
import { fold } from '../../model/fold.ts';
import type { PatientChanges } from '../../model/patientRequest.ts';

/** What the ids and names in a patient request refer to, according to the synced records. */
export type References = {
  insurance: { ehr_id: string; name: string } | null;
  referring: string | null;
  pcp: string | null;
  /** EMR ids of up to two doctors with that name. */
  referring_named: string[];
  pcp_named: string[];
  referred_to: boolean;
  facility: boolean;
  pharmacy: string | null;
  required: string[];
};

/** One query for all references. */
export function selectReferences(sql: Query, organization_id: string, body: PatientChanges): Fragment {
  const id = (text: string | undefined) => (text === undefined ? null : (parseId(text) ?? null));
  const named = (first: string | undefined, last: string | undefined) => sql`
    (SELECT coalesce(json_agg(ehr_id), '[]') FROM (SELECT ehr_id FROM referring_providers
      WHERE organization_id = ${organization_id} AND last_folded = ${fold(last ?? '')}
        AND first_folded = ${fold(first ?? '')} ORDER BY id LIMIT 2) AS doctors)`;
  const ehrId = (table: string, text: string | undefined) => sql`
    (SELECT ehr_id FROM ${sql(table)} WHERE organization_id = ${organization_id} AND id = ${id(text)})`;
  const exists = (table: string, ehr_id: string | undefined) => sql`
    EXISTS (SELECT FROM ${sql(table)} WHERE organization_id = ${organization_id} AND ehr_id = ${ehr_id ?? null})`;
  return sql`SELECT
    (SELECT json_build_object('ehr_id', ehr_id, 'name', doc ->> 'name') FROM insurance_providers
      WHERE organization_id = ${organization_id} AND id = ${id(body.insurance_provider_id)}) AS insurance,
    ${ehrId('referring_providers', body.referring_provider_id)} AS referring,
    coalesce(${ehrId('referring_providers', body.pcp_id)}, ${ehrId('providers', body.pcp_id)}) AS pcp,
    ${named(body.referring_provider_first_name, body.referring_provider_last_name)} AS referring_named,
    ${named(body.pcp_first_name, body.pcp_last_name)} AS pcp_named,
    ${exists('providers', body.referred_to_provider_id)} AS referred_to,
    ${exists('locations', body.default_facility_id)} AS facility,
    coalesce(${ehrId('pharmacies', body.pharmacy_id)}, (SELECT ehr_id FROM pharmacies
      WHERE organization_id = ${organization_id} AND ehr_id = ${body.pharmacy_id ?? null})) AS pharmacy,
    coalesce((SELECT code_lists -> 'required_patient_fields' FROM organizations
      WHERE id = ${organization_id}), '[]') AS required`;
}

/** Checks the references that must exist both in a creation and in an update. */
export function checkPlaces(references: References, body: PatientChanges): void {
  const { referred_to_provider_id, default_facility_id, pharmacy_id } = body;
  if (referred_to_provider_id !== undefined && !references.referred_to) {
    throw apiError('provider_not_found', { id: referred_to_provider_id }, { field: 'referred_to_provider_id' });
  }
  if (default_facility_id !== undefined && !references.facility) {
    throw apiError('location_not_found', { id: default_facility_id }, { field: 'default_facility_id' });
  }
  if (pharmacy_id !== undefined && references.pharmacy === null) {
    throw apiError('pharmacy_not_found', { id: pharmacy_id }, { field: 'pharmacy_id' });
  }
}

type Role = 'referring_provider' | 'pcp';

/** First and last name must be sent together. */
export function checkNamePair(role: Role, body: PatientChanges): void {
  const [first, last] = [`${role}_first_name`, `${role}_last_name`] as const;
  if (Boolean(body[first]) === Boolean(body[last])) return;
  const rule = `${first} and ${last} must be used together`;
  throw apiError('invalid_field', { rule }, { field: body[first] ? last : first });
}

export function idNotFound(noun: string, field: keyof PatientChanges, body: PatientChanges) {
  return apiError('record_not_found', { noun, id: String(body[field]) }, { field });
}

/** The EMR id of the only doctor with that name; an error if there is none, or more than one. */
export function onlyMatch(role: Role, matches: string[], body: PatientChanges): string {
  const [only, ...more] = matches;
  if (only !== undefined && more.length === 0) return only;
  const name = `${body[`${role}_first_name`]} ${body[`${role}_last_name`]}`;
  const reason =
    only === undefined
      ? `No referring provider is named '${name}'. GET /v1/referring-providers lists all of them.`
      : `Several referring providers are named '${name}'. Send ${role}_id instead.`;
  throw apiError('record_unnamed', { reason }, { field: `${role}_last_name` });
}
