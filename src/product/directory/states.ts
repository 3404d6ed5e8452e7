/** The states and territories of the US by their names; lists have names or codes. */
const codes: Record<string, string> = {
  ...{
    alabama: 'AL',
    alaska: 'AK',
    arizona: 'AZ',
    arkansas: 'AR',
    california: 'CA',
    colorado: 'CO',
    connecticut: 'CT',
  },
  ...{ delaware: 'DE', 'district of columbia': 'DC', florida: 'FL', georgia: 'GA', hawaii: 'HI', idaho: 'ID' },
  ...{ illinois: 'IL', indiana: 'IN', iowa: 'IA', kansas: 'KS', kentucky: 'KY', louisiana: 'LA', maine: 'ME' },
  ...{ maryland: 'MD', massachusetts: 'MA', michigan: 'MI', minnesota: 'MN', mississippi: 'MS', missouri: 'MO' },
  ...{ montana: 'MT', nebraska: 'NE', nevada: 'NV', 'new hampshire': 'NH', 'new jersey': 'NJ', 'new mexico': 'NM' },
  ...{ 'new york': 'NY', 'north carolina': 'NC', 'north dakota': 'ND', ohio: 'OH', oklahoma: 'OK', oregon: 'OR' },
  ...{ pennsylvania: 'PA', 'rhode island': 'RI', 'south carolina': 'SC', 'south dakota': 'SD', tennessee: 'TN' },
  ...{ texas: 'TX', utah: 'UT', vermont: 'VT', virginia: 'VA', washington: 'WA', 'west virginia': 'WV' },
  ...{ wisconsin: 'WI', wyoming: 'WY', 'american samoa': 'AS', guam: 'GU', 'northern mariana islands': 'MP' },
  ...{ 'puerto rico': 'PR', 'virgin islands': 'VI', 'us virgin islands': 'VI' },
};

/** The code of a state; the text itself for what is none, such as a province. Null for a blank. */
export function toState(text: string | null): string | null {
  const name = (text ?? '').replace(/[.\s]+/g, ' ').trim();
  if (name === '') return null;
  return codes[name.toLowerCase()] ?? (/^[a-z]{2}$/i.test(name) ? name.toUpperCase() : name);
}
