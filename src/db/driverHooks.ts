import type { LoadHook } from 'node:module';
import { type DriverFile, faults, mended } from './driverFaults.ts';

const files = new Set<DriverFile>(faults.map((fault) => fault.file));

/** Runs in the loader's own thread: hands the driver's modules over without their faults. */
export const load: LoadHook = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context);
  for (const file of files) {
    if (url.endsWith(`/node_modules/postgres/src/${file}`)) {
      return { ...loaded, source: mended(file, String(loaded.source)) };
    }
  }
  return loaded;
};
