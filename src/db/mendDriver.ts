import { register } from 'node:module';

/** From here on the driver is loaded without its faults; to be called before anything imports it. */
export function mendDriver(): void {
  register('./driverHooks.js', import.meta.url);
}
