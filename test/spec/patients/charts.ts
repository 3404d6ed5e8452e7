import { expect } from 'vitest';
import { expectRefusal } from '../../api/support.ts';
import type { Answer, Api } from '../../harness/api.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { patient, setFault, until } from '../../journeys/journey.ts';
import { acceptedWork } from '../support/databaseState.ts';

export type Fields = Record<string, unknown>;
export type Row = Answer['body'];
/** A patient whom the service and the clinic have, with its chart there. */
export type Charted = { id: string; mrn: string; chart: Row };

let named = 0;
/** A person nobody has a chart of. */
export function newcomer(fields: Fields = {}): Fields {
  named += 1;
  return { first_name: 'Nova', last_name: `Newcomer${named}`, dob: '2004-02-29', sex: 'female', ...fields };
}

let seated = 20;
/** A seeded patient that no other test of the file touches. */
export function anotherPatient(): { mrn: string; ehr_id: string } {
  seated += 1;
  return patient(seated);
}

/** Asks the service to write about patients, and looks up what the clinic has of them afterwards. */
export function openCharts(world: TestSandbox, api: Api = world.api) {
  const charts = {
    create: (fields: Fields = {}) => api.call('POST', '/v1/patients', { body: newcomer(fields) }),
    patch: (id: string, body: Fields) => api.call('PATCH', `/v1/patients/${id}`, { body }),
    add: (mrn: string, body: Fields) => api.call('POST', `/v1/patients/${mrn}/insurances`, { body }),
    change: (mrn: string, emr_insurance_id: string, body: Fields) =>
      api.call('PATCH', `/v1/patients/${mrn}/insurances/${emr_insurance_id}`, { body }),

    /** The clinic's records of a kind whose fields are exactly these. */
    rows: async (kind: string, match: Record<string, string> = {}): Promise<Row[]> => {
      const { status, body } = await world.api.control('GET', `/control/${kind}?${new URLSearchParams(match)}`);
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

    /** The patient as the service shows it. */
    listed: async (id: string): Promise<Row> => {
      const { body } = await api.call('GET', '/v1/patients?page_size=1000');
      return body.patients.find((each: { id: string }) => each.id === id);
    },
    /** The event that ends what a request asked for. */
    outcome: async ({ status, body }: Answer): Promise<Row> => {
      expect(status, JSON.stringify(body)).toBe(200);
      return api.untilEvent(body.job_id);
    },
    /** Creates a patient and waits for its chart. */
    created: async (fields: Fields = {}): Promise<Charted> => {
      const answer = await charts.create(fields);
      const event = await charts.outcome(answer);
      expect(event.event_type, JSON.stringify(event.data)).toBe('patient.created');
      const { mrn } = event.data;
      return { id: answer.body.patient_id, mrn, chart: await charts.chart(mrn) };
    },
    /** Changes a patient whom the clinic has, and gives the chart as it is then. */
    updated: async ({ id, mrn }: Charted, changes: Fields): Promise<Row> => {
      const event = await charts.outcome(await charts.patch(id, changes));
      expect(event.event_type, JSON.stringify(event.data)).toBe('patient.updated');
      return charts.chart(mrn);
    },
    /** Adds an insurance and gives the event's data with the clinic's row. */
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

    /** A patient whose creation waits: it was tried once in vain, and is not tried again until `release`. */
    pending: async (fields: Fields = {}): Promise<{ id: string; job_id: number }> => {
      await setFault(world.api, 'create_patient', 'error_429', { times: 1000 });
      const { body } = await charts.create(fields);
      await until('the creation to wait', async () => {
        const [waiting] = await world.owner`UPDATE lanes SET ready_at = now() + interval '1 hour'
          WHERE ready_at > now() AND key = (SELECT lane FROM jobs WHERE id = ${body.job_id}) RETURNING key`;
        return waiting;
      });
      await world.api.control('DELETE', '/control/faults');
      return { id: body.patient_id, job_id: body.job_id };
    },
    /** A patient whose creation the EMR is about to answer: what it was sent can no longer be changed. */
    underWay: async (fields: Fields = {}): Promise<{ id: string; job_id: number }> => {
      await setFault(world.api, 'create_patient', 'delay', { delay_ms: 5_000 });
      const { body } = await charts.create(fields);
      const { job_id } = body;
      await until('the request to the EMR', async () => {
        const [intent] = await world.owner`SELECT n FROM job_steps WHERE job_id = ${job_id} AND kind = 'intent'`;
        return intent;
      });
      return { id: body.patient_id, job_id };
    },
    /** A patient whom the EMR has refused. */
    failed: async (fields: Fields = {}): Promise<{ id: string; job_id: number; event: Row }> => {
      await setFault(world.api, 'create_patient', 'refuse', { reason: 'The desk is closed.' });
      const answer = await charts.create(fields);
      const event = await charts.outcome(answer);
      expect(event.event_type).toBe('patient.failed');
      return { id: answer.body.patient_id, job_id: answer.body.job_id, event };
    },

    /** Each of these requests is refused in these words, and leaves nothing: no row here, no word to the EMR. */
    refuses: async (status: number, words: string | RegExp, asks: (() => Promise<Answer>)[]): Promise<void> => {
      const before = await traces();
      for (const answer of await Promise.all(asks.map((ask) => ask()))) expectRefusal(answer, status, words);
      expect(await traces()).toStrictEqual(before);
    },
  };
  const traces = async () => {
    const [patients] = await world.owner`SELECT count(*), max(doc ->> 'updated_at') FROM patients`;
    const ledger = await world.api.ledger();
    return { ...(await acceptedWork(world)), ...patients, written: ledger.length };
  };
  return charts;
}
export type Charts = ReturnType<typeof openCharts>;
