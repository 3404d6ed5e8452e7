import { Location } from '../../model/records/locations.ts';
import { listEndpoint } from '../listEndpoint.ts';

export default listEndpoint('locations', Location, 'List the locations of the organization, as of its last sync');
