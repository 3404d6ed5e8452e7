import { Pharmacy } from '../../model/pharmacy.ts';
import { listEndpoint } from '../listEndpoint.ts';

export default listEndpoint('pharmacies', Pharmacy, 'List pharmacies');
