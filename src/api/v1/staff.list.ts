import { StaffMember } from '../../model/records/staff.ts';
import { listEndpoint } from '../listEndpoint.ts';

export default listEndpoint('staff', StaffMember, 'List the staff members of the organization, as of its last sync');
