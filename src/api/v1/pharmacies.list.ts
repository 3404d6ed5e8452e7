import { Pharmacy } from '../../model/records/pharmacies.ts';
import { listEndpoint } from '../listEndpoint.ts';

export default listEndpoint('pharmacies', Pharmacy, 'List the pharmacies of the organization, as of its last sync');
