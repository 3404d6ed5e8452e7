import { expect } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import type { Api, ApiResponse } from '../../harness/api.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { patient, setFault, until } from '../../journeys/support.ts';
import { countAcceptedWork } from '../support/databaseState.ts';

export type Fields = Record<string, unknown>;
export type Row = ApiResponse['body'];
/** A patient of the service with the patient's chart in the EMR. */
export type Charted = { id: string; mrn: string; chart: Row };

let people = 0;
/** Fields of a person who has no chart yet. */
export function newPerson(fields: Fields = {}): Fields {
  people += 1;
  return { first_name: 'Nova', last_name: `Newcomer${people}`, dob: '2004-02-29', sex: 'female', ...fields };
}

let patients_used = 0;
/** A seeded patient that no other test uses: numbers 21 to 200, then from 21 again. */
export function anotherPatient(): { mrn: string; ehr_id: string } {
  patients_used += 1;
  return patient(21 + ((patients_used - 1) % 180));
}

/** Sends writes for patients and reads the charts that result in the EMR. */
export function createCharts(fixture: TestSandbox, api: Api = fixture.api) {
  const charts = {
    create: (fields: Fields = {}) => api.call('POST', '/v1/patients', { body: newPerson(fields) }),
    patch: (id: string, body: Fields) => api.call('PATCH', `/v1/patients/${id}`, { body }),
    add: (mrn: string, body: Fields) => api.call('POST', `/v1/patients/${mrn}/insurances`, { body }),
    change: (mrn: string, emr_insurance_id: string, body: Fields) =>
      api.call('PATCH', `/v1/patients/${mrn}/insurances/${emr_insurance_id}`, { body }),

    /** The EMR's records of a kind with exactly these field values. */
    rows: async (kind: string, match: Record<string, string> = {}): Promise<Row[]> => {
      const { status, body } = await fixture.api.control('GET', `/control/${kind}?${new URLSearchParams(match)}`);
      expect(status, JSON.stringify(body)).toBe(200);
      return body.rows;
    },
    chart: async (mrn: string): Promise<Row> => {
      const rows = await charts.rows('patients', { mrn });
      expect(rows).toHaveLength(1);
      return rows[0];
    },
    insurances: (chart: Row) => charts.rows('patient-insurances', { patientId: chart.patientId }),
    guarantors: (chart: Row) => charts.rows('guarantors', { patientId: chart.patientId }),
    insurance: async (insuranceId: string) => (await charts.rows('patient-insurances', { insuranceId }))[0],

    /** The patient as the service lists it. */
    listed: async (id: string): Promise<Row> => {
      const { body } = await api.call('GET', '/v1/patients?page_size=1000');
      return body.patients.find((each: { id: string }) => each.id === id);
    },
    /** Waits for the event of an accepted request. */
    outcome: async ({ status, body }: ApiResponse): Promise<Row> => {
      expect(status, JSON.stringify(body)).toBe(200);
      return api.untilEvent(body.job_id);
    },
    /** Creates a patient and returns the chart. */
    created: async (fields: Fields = {}): Promise<Charted> => {
      const response = await charts.create(fields);
      const event = await charts.outcome(response);
      expect(event.event_type, JSON.stringify(event.data)).toBe('patient.created');
      const { mrn } = event.data;
      return { id: response.body.patient_id, mrn, chart: await charts.chart(mrn) };
    },
    /** Updates a patient and returns the chart afterwards. */
    updated: async ({ id, mrn }: Charted, changes: Fields): Promise<Row> => {
      const event = await charts.outcome(await charts.patch(id, changes));
      expect(event.event_type, JSON.stringify(event.data)).toBe('patient.updated');
      return charts.chart(mrn);
    },
    /** Adds an insurance and returns the event's data with the EMR's record. */
    added: async (mrn: string, fields: Fields = {}): Promise<{ data: Row; row: Row }> => {
      const event = await charts.outcome(
        await charts.add(mrn, { member_id: 'M-1', insurance_name: 'Mock Mutual', ...fields }),
      );
      expect(event.event_type, JSON.stringify(event.data)).toBe('patient.insurance.added');
      return { data: event.data, row: await charts.insurance(event.data.emr_insurance_id) };
    },
    changed: async (mrn: string, emr_insurance_id: string, fields: Fields): Promise<{ data: Row; row: Row }> => {
      const event = await charts.outcome(await charts.change(mrn, emr_insurance_id, fields));
      expect(event.event_type, JSON.stringify(event.data)).toBe('patient.insurance.updated');
      return { data: event.data, row: await charts.insurance(emr_insurance_id) };
    },

    /** A patient whose creation failed once and is paused for an hour; `endPauses` resumes it. */
    pending: async (fields: Fields = {}): Promise<{ id: string; job_id: number }> => {
      await setFault(fixture.api, 'create_patient', 'error_429', { times: 1000 });
      const { body } = await charts.create(fields);
      await until('the creation to pause', async () => {
        const [waiting] = await fixture.owner`UPDATE lanes SET ready_at = now() + interval '1 hour'
          WHERE ready_at > now() AND key = (SELECT lane FROM jobs WHERE id = ${body.job_id}) RETURNING key`;
        return waiting;
      });
      await fixture.api.control('DELETE', '/control/faults');
      return { id: body.patient_id, job_id: body.job_id };
    },
    /** A patient whose creation has been sent to the EMR, which has not responded yet. */
    inProgress: async (fields: Fields = {}): Promise<{ id: string; job_id: number }> => {
      await setFault(fixture.api, 'create_patient', 'delay', { delay_ms: 3_000 });
      const { body } = await charts.create(fields);
      const { job_id } = body;
      await until('the request to the EMR', async () => {
        const [intent] = await fixture.owner`SELECT n FROM job_steps WHERE job_id = ${job_id} AND kind = 'intent'`;
        return intent;
      });
      return { id: body.patient_id, job_id };
    },
    /** A patient whose creation the EMR rejected. */
    failed: async (fields: Fields = {}): Promise<{ id: string; job_id: number; event: Row }> => {
      await setFault(fixture.api, 'create_patient', 'refuse', { reason: 'The desk is closed.' });
      const response = await charts.create(fields);
      const event = await charts.outcome(response);
      expect(event.event_type).toBe('patient.failed');
      return { id: response.body.patient_id, job_id: response.body.job_id, event };
    },

    /** Checks that each request is rejected with this message, stores nothing and sends nothing to the EMR. */
    rejects: async (
      status: number,
      message: string | RegExp,
      requests: (() => Promise<ApiResponse>)[],
    ): Promise<void> => {
      const before = await traces();
      for (const response of await Promise.all(requests.map((send) => send())))
        expectApiError(response, status, message);
      expect(await traces()).toStrictEqual(before);
    },
  };
  const traces = async () => {
    const [patients] = await fixture.owner`SELECT count(*), max(doc ->> 'updated_at') FROM patients`;
    const ledger = await fixture.api.ledger();
    return { ...(await countAcceptedWork(fixture)), ...patients, written: ledger.length };
  };
  return charts;
}
export type Charts = ReturnType<typeof createCharts>;
