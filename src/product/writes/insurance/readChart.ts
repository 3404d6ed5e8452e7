import type { Operations } from '../../../emr/connector.ts';
import { storeChart } from '../../records/patients.ts';
import type { WriteResult, WriteRun } from '../write.ts';

/**
 * Reads the patient again after a change of an insurance. The patient's list entry shows the primary insurance, and
 * which one that is only the EMR knows. Stored together with the event.
 */
export async function readChart(
  emr: Pick<Operations, 'findPatient'>,
  mrn: string,
  scope: WriteRun<unknown, never>['scope'],
): Promise<NonNullable<WriteResult['store']>> {
  const chart = await emr.findPatient(mrn);
  return async (tx) => {
    if (chart) await storeChart(tx, scope, chart);
  };
}
