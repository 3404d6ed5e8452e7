import { VisitCode } from '../../model/records/visitTypes.ts';
import { listEndpoint } from '../listEndpoint.ts';

export default listEndpoint(
  'visit_statuses',
  VisitCode,
  'List the visit statuses of the EMR instance, as of its last sync',
);
