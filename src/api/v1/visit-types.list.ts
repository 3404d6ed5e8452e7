import { VisitCode } from '../../model/records/visitTypes.ts';
import { listEndpoint } from '../listEndpoint.ts';

export default listEndpoint('visit_types', VisitCode, 'List the visit types of the EMR instance, as of its last sync');
