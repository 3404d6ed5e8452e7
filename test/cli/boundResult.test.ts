import { expect, test } from 'vitest';
import { boundResult, result_bytes_max } from '../../src/surfaces/cli/mcp/callTool.ts';

const visit = (n: number) => ({ id: n, reason: 'r'.repeat(300) });

test('a record that is too large is shortened in its own lists, and stays complete JSON that says so', () => {
  const patient = { mrn: 'LK1', encounters: Array.from({ length: 400 }, (_, n) => visit(n)), alerts: [] };
  const text = boundResult({ success: true, event: { data: { patients: [patient] } } }, []);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(result_bytes_max);
  const { truncated, event } = JSON.parse(text);
  const [shown] = event.data.patients;
  const kept = shown.encounters.length;
  expect(kept).toBeGreaterThan(100);
  expect(shown).toStrictEqual({ ...patient, encounters: patient.encounters.slice(0, kept) });
  expect(truncated).toContain(`event.data.patients[0].encounters (first ${kept} of 400)`);
});

test('one of several records that are each too large is shown, shortened', () => {
  const claim = (id: number) => ({ id, lines: Array.from({ length: 300 }, (_, n) => visit(n)) });
  const { truncated, claims } = JSON.parse(boundResult({ claims: [claim(1), claim(2), claim(3)] }, ['page_size']));
  expect(claims).toHaveLength(1);
  expect(truncated).toMatch(/claims \(first 1 of 3\), claims\[0\]\.lines \(first \d+ of 300\)/);
});

test('a long text in a record is shortened', () => {
  const { truncated, job } = JSON.parse(boundResult({ job: { id: 1, note: 'n'.repeat(80_000) } }, []));
  expect(job).toStrictEqual({ id: 1, note: 'n'.repeat(500) });
  expect(truncated).toContain('job.note (first 500 of 80000 characters)');
});

test('what a response repeats for older clients is sent once', () => {
  const patient = { id: 'a', mrn: 'LK1', dob: null };
  const data = { ...patient, success: true, patient_count: 1, patients: [patient] };
  expect(JSON.parse(boundResult({ job_id: 7, event: { type: 't', data } }, []))).toStrictEqual({
    job_id: 7,
    event: { type: 't', data: { success: true, patient_count: 1, patients: [patient] } },
  });
  const job = { job_id: 7, status: 'queued' };
  expect(JSON.parse(boundResult({ success: true, ...job, job }, []))).toStrictEqual({ success: true, ...job });
  // Equal by chance in one field only.
  expect(JSON.parse(boundResult({ id: 1, owner: { id: 1, name: 'x' } }, []))).toStrictEqual({
    id: 1,
    owner: { id: 1, name: 'x' },
  });
});
