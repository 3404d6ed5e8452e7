import { apiError } from '../../errors.ts';
import type { Clinic } from '../../sandbox/openClinic.ts';

/** The reference EMR of this installation once it is up; a process that serves the API alone has none. */
export type FindClinic = () => Clinic | undefined;

export function findClinic(find: FindClinic): Clinic {
  const clinic = find();
  if (!clinic) throw apiError('emr_unavailable', { emr: 'The reference EMR' });
  return clinic;
}
