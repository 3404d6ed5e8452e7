import { VisitCode } from '../../model/visitCode.ts';
import { listEndpoint } from '../listEndpoint.ts';

export default listEndpoint('visit_statuses', VisitCode, 'List visit statuses');
