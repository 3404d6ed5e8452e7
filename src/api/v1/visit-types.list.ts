import { VisitCode } from '../../model/visitCode.ts';
import { listEndpoint } from '../listEndpoint.ts';

export default listEndpoint('visit_types', VisitCode, 'List visit types');
