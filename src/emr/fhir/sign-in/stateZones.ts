/**
 * The time zone of a US state, used if a practice does not publish its zone. Thirteen states have two zones: this is
 * the one with the larger population. A practice in the other one can set the standard extension on a Location.
 */
export function zoneOfState(state: string | null): string | undefined {
  const code = state?.toUpperCase() ?? '';
  return Object.entries(states).find(([, codes]) => codes.split(' ').includes(code))?.[0];
}

const states: Record<string, string> = {
  'America/New_York': 'CT DC DE FL GA IN KY MA MD ME MI NC NH NJ NY OH PA RI SC VA VT WV',
  'America/Chicago': 'AL AR IA IL KS LA MN MO MS ND NE OK SD TN TX WI',
  'America/Denver': 'CO ID MT NM UT WY',
  'America/Phoenix': 'AZ',
  'America/Los_Angeles': 'CA NV OR WA',
  'America/Anchorage': 'AK',
  'Pacific/Honolulu': 'HI',
  'America/Puerto_Rico': 'PR VI',
  'Pacific/Guam': 'GU MP',
  'Pacific/Pago_Pago': 'AS',
};
