import type { Account } from '../../accounts/accounts.ts';
import type { Subscriber } from '../../connectors/patientWrites.ts';
import type { Context } from '../../context.ts';
import { apiError } from '../../errors.ts';
import { parseId } from '../../ids.ts';
import { fold } from '../../model/fold.ts';
import {
  type InsuranceChanges,
  type InsuranceRequest,
  type SubscriberRelationship,
  subscriber_relationships,
} from '../../model/insuranceRequest.ts';
import { patientIdByMrn } from '../patients/patientLane.ts';

type Request = InsuranceRequest | InsuranceChanges;

/** What the references in a request resolve to; stored with the request. */
export type InsuranceLookups = {
  company_ehr_id: string | null;
  relationship: SubscriberRelationship | null;
  subscriber: Subscriber | null;
};

type Company = { ehr_id: string; name: string; carrier_id: string | null };

/** The insurance company, by id if one was sent, otherwise by name; and our id of the patient, if it is synced. */
export async function findCompany(
  ctx: Context,
  account: Account,
  body: Request,
): Promise<{ company: Company | null; patient_id: string | null }> {
  const { insurance_provider_id: id, insurance_name: name, insurance_payer_id: payer } = body;
  if (payer !== undefined && !name) {
    throw apiError(
      'invalid_field',
      { rule: 'insurance_payer_id is only valid together with insurance_name' },
      { field: 'insurance_payer_id' },
    );
  }
  const [row] = await ctx.db.read<{ company: Company | null; patient_id: string | null }>(
    account.client_id,
    (sql) => sql`SELECT
      (SELECT json_build_object('ehr_id', ehr_id, 'name', doc ->> 'name', 'carrier_id', carrier_id)
         FROM insurance_providers WHERE client_id = ${account.client_id} AND organization_id = ${account.organization_id}
          AND ${
            id === undefined
              ? sql`name_folded = ${fold(name ?? '')} AND (${payer ?? null}::text IS NULL OR payer_id = ${payer ?? null})`
              : sql`id = ${parseId(id) ?? null}`
          } ORDER BY active DESC, id LIMIT 1) AS company,
      ${patientIdByMrn(sql, account, body.patient_mrn)} AS patient_id`,
  );
  const company = row?.company ?? null;
  if (company === null && id !== undefined) {
    throw apiError('record_not_found', { noun: 'Insurance provider', id }, { field: 'insurance_provider_id' });
  }
  if (company === null && name !== undefined) {
    const description = payer === undefined ? `'${name}'` : `'${name}' with payer ID '${payer}'`;
    const reason = `No insurance provider is named ${description}. GET /v1/insurance-providers lists all of them.`;
    throw apiError('record_unnamed', { reason }, { field: 'insurance_name' });
  }
  return { company, patient_id: row?.patient_id ?? null };
}

/** The patient's relationship to the subscriber, and the subscriber unless it is the patient. */
export function readSubscriber(body: Request, name_required: boolean): Omit<InsuranceLookups, 'company_ehr_id'> {
  checkCents(body.copayment);
  const { relationship_to_subscriber: sent, subscriber_demographics: person } = body;
  const relationship = sent === undefined ? null : readRelationship(sent);
  const is_patient = relationship === '01';
  const needed = relationship !== null && !is_patient;
  if (needed || (person && (name_required || !is_patient))) {
    const missing = (['first_name', 'last_name'] as const).find((name) => !person?.[name]);
    if (missing) {
      const field = `subscriber_demographics.${missing}`;
      throw apiError('missing_field', { field }, { field: 'subscriber_demographics' });
    }
  }
  if (!person || is_patient) return { relationship, subscriber: null };
  return {
    relationship,
    subscriber: {
      first_name: person.first_name ?? '',
      last_name: person.last_name ?? '',
      street: person.street_line_1 ?? null,
      city: person.city ?? null,
      state: person.state?.toUpperCase() ?? null,
      zip: person.zip ?? null,
      sex: person.sex ?? null,
      dob: person.dob ?? null,
      phone: person.phone ?? null,
    },
  };
}

function readRelationship(sent: string): SubscriberRelationship {
  const value = sent.toLowerCase();
  const pairs = Object.entries(subscriber_relationships) as [SubscriberRelationship, string][];
  const found = pairs.find(([code, name]) => code === value || name === value);
  if (found) return found[0];
  const rule = `relationship_to_subscriber must be one of: ${pairs.flat().join(', ')}`;
  throw apiError('invalid_field', { rule }, { field: 'relationship_to_subscriber' });
}

function checkCents(copayment: number | undefined): void {
  if (copayment === undefined || /^\d+([.]\d{1,2})?$/.test(String(copayment))) return;
  throw apiError('invalid_field', { rule: 'copayment must have at most two decimal places' }, { field: 'copayment' });
}
