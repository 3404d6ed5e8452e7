import { Location } from '../../model/location.ts';
import { listEndpoint } from '../listEndpoint.ts';

export default listEndpoint('locations', Location, 'List locations');
