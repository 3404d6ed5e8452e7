/** Fictitious addresses. Phone numbers are in the 555-01xx range, which is reserved for fiction. */
export function facilityRows() {
  const names = ['Larkspur Main Street', 'Larkspur Riverside', 'Larkspur Hilltop'];
  const streets = ['100 Main Street', '22 Riverside Walk', '7 Hilltop Lane'];
  return names.map((name, index) => ({
    facilityId: String(11 + index),
    name,
    activeFlag: 'Y',
    address: { line1: streets[index] ?? '', line2: index === 0 ? 'Suite 2' : null, ...town },
    phone: `518-555-01${10 + index}`,
    fax: `518-555-01${20 + index}`,
  }));
}

export function pharmacyRows() {
  return pharmacyNames.map((name, index) => ({
    pharmacyId: String(9001 + index),
    name,
    // The last pharmacy has closed: charts may still refer to it, but new records may not.
    activeFlag: index === pharmacyNames.length - 1 ? 'N' : 'Y',
    address: { line1: `${3 + index * 14} Apothecary Road`, ...town },
    phone: `518-555-01${40 + index}`,
    email: `pharmacy${9001 + index}@example.org`,
  }));
}

export const town = { city: 'Exampleton', state: 'NY', zip: '12999' };

const pharmacyNames = [
  'Mortar & Sample Pharmacy',
  'Exampleton Drug',
  'Riverside Mock Pharmacy',
  'Placebo Corner Drugstore',
  'Hilltop Demo Pharmacy',
  'Testwell Pharmacy Main Street',
  'Testwell Pharmacy Riverside',
  'Fixture Family Pharmacy',
  'Specimen Rx',
  'Trial & Error Apothecary',
  'Stand-in Street Pharmacy',
  'Mail Order Mock Rx',
  'Dummy Drugs North',
  'Dummy Drugs South',
  'Formerly Open Pharmacy',
];
