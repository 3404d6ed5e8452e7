import { read } from '../machine/operation.ts';
import { getPractice } from '../practice/practice.ts';

const VERSION = '1.0';

export const practiceOperations = [
  read({
    name: 'get_practice',
    method: 'GET',
    path: '/api/practice',
    open: true,
    handle: async ({ sql }) => ({ product: 'Larkspur', version: VERSION, ...(await getPractice(sql)) }),
  }),
];
