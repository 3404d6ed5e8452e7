/**
 * The zone of a US state, for practices of whom nothing better is known. Thirteen states have two: then it is that of
 * most of their people, and the standard extension on a Location is how a practice in the other part says so.
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
