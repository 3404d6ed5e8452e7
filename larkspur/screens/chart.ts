import type { Alerts } from '../charts/alerts.ts';
import type { Balances } from '../charts/balances.ts';
import type { Document } from '../charts/documents.ts';
import type { Encounter } from '../charts/encounters.ts';
import type { Guarantor } from '../charts/guarantors.ts';
import type { Medication } from '../charts/medications.ts';
import type { Order } from '../charts/orders.ts';
import type { PatientInsurance } from '../charts/patientInsurances.ts';
import type { PatientPharmacy } from '../charts/patientPharmacies.ts';
import type { WholeEncounter } from '../charts/telephoneEncounters.ts';
import type { WholePatient } from '../charts/wholePatient.ts';
import type { HistoryEntry } from '../machine/history.ts';

/** Everything one patient's page shows. */
export interface Chart {
  patient: WholePatient;
  insurances: PatientInsurance[];
  guarantors: Guarantor[];
  balances: Balances;
  alerts: Alerts;
  visits: Encounter[];
  orders: Order[];
  folders: string[];
  documents: Document[];
  medications: Medication[];
  pharmacies: PatientPharmacy[];
  encounters: WholeEncounter[];
  history: HistoryEntry[];
  /** The name behind an id of a provider, staff member, facility or pharmacy. */
  name: (kind: 'provider' | 'staff' | 'facility' | 'pharmacy', id: string) => string;
  time: (at: Date) => string;
}
