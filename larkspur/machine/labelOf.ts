/** What a person calls a field: `address.line1` is 'Address line 1', `npi` is 'NPI'. */
export function labelOf(field: string): string {
  const words = field
    .replaceAll('.', ' ')
    .replace(/([a-z])([A-Z0-9])/g, '$1 $2')
    .toLowerCase()
    .replace(/\b(id|mrn|npi|pcp|rx|icd)\b/g, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}
