import { apiError } from '../../../catalog/errors.ts';
import type { EventOf } from '../../../model/events.ts';
import { referringProviders } from '../../../model/records/referringProviders.ts';
import { hasNpiCheckDigit, ReferringProviderRequest } from '../../../model/requests/referrals.ts';
import { storeOwnRecord } from '../../records/storeRecords.ts';
import { defineWrite, failureFields } from '../defineWrite.ts';
import { laneKey } from '../patients/patientLane.ts';

const step = 'create_referring_provider';

/** Adds a provider outside of the practice to the EMR's directory. */
export const createReferringProvider = defineWrite({
  type: 'referring_provider.create',
  label: 'Referring provider',
  plural_label: 'Referring providers',
  body: ReferringProviderRequest,
  sample: {
    first_name: 'Umber',
    last_name: 'Consultson',
    npi: '1234567893',
    phone: '518-555-0141',
    fax: '518-555-0142',
  },
  needs: ['createReferringProvider'],
  restricted: false,
  stored_by: 'createReferringProvider',
  check: async ({ body: { npi } }) => {
    if (!hasNpiCheckDigit(npi)) {
      throw apiError('invalid_field', { rule: 'npi has a wrong check digit' }, { field: 'npi' });
    }
    // Requests for the same provider run one after the other, so that the EMR sees a duplicate.
    return { lane: { key: laneKey('npi', npi) }, lookups: {} };
  },
  acceptedResponse: ({ id, job_id }) => ({
    success: true,
    message: 'Referring provider creation queued. A webhook event follows on completion.',
    referring_provider_id: id,
    job_id,
  }),
  run: async ({ id, input, emr, steps, scope }) => {
    const { ehr_id } = await steps.write(step, emr.createReferringProvider, {
      first_name: input.first_name,
      last_name: input.last_name,
      npi: input.npi,
      phone: input.phone ?? null,
      fax: input.fax ?? null,
      email: input.email ?? null,
      address_street: input.address ?? null,
      address_city: input.city ?? null,
      address_state: input.state?.toUpperCase() ?? null,
      address_zip: input.zip_code ?? null,
    });
    // As the EMR saved it, so that the list shows it at once.
    const stored = (await emr.findReferringProviders?.(input))?.find((each) => each.ehr_id === ehr_id);
    return {
      event: created(id, input, ehr_id),
      store: async (tx) => {
        if (stored) await storeOwnRecord(tx, { ...scope, kind: referringProviders }, id, stored);
      },
    };
  },
  onFailure: ({ id, input, outcomes, failure }) => {
    const done = outcomes.get(step);
    if (done) return { state: 'succeeded', event: created(id, input, String(done.ehr_id)) };
    const data = { ...providerFields(id, input), ...failureFields(failure) };
    return { state: 'failed', event: { type: 'referring_provider.failed', data } };
  },
});

function providerFields(id: string, { first_name, last_name, npi }: ReferringProviderRequest) {
  return { referring_provider_id: id, first_name, last_name, npi };
}

function created(id: string, body: ReferringProviderRequest, ehr_id: string): EventOf {
  return { type: 'referring_provider.created', data: { ...providerFields(id, body), ehr_id } };
}
