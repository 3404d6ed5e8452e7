import { compareRequests } from './requests.ts';

await compareRequests(process.argv[2]);
