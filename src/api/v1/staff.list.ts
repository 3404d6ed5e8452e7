import { StaffMember } from '../../model/staff.ts';
import { listEndpoint } from '../listEndpoint.ts';

export default listEndpoint('staff', StaffMember, 'List staff members');
