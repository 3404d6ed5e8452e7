import type { LoadHook } from 'node:module';
import { mended } from './driverFaults.ts';

/** Runs in the loader's own thread: hands the driver's connection module over without its faults. */
export const load: LoadHook = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context);
  if (!url.endsWith('/node_modules/postgres/src/connection.js')) return loaded;
  return { ...loaded, source: mended(String(loaded.source)) };
};
