import { daysFrom } from './days.ts';
import { town } from './places.ts';
import type { Chance } from './random.ts';

/** Insurers. Some share a name and differ by payer id. Three have no carrier id, so no insurance can be moved to them. */
export function companyRows(now: Date) {
  return insurers.map(([name, payerId, active = true], index) => ({
    companyId: String(301 + index),
    name,
    payerId,
    carrierId: [7, 11, 16].includes(index) ? null : `CR${4001 + index}`,
    activeFlag: active ? 'Y' : 'N',
    address: { line1: `${100 + index * 7} Underwriter Plaza`, ...town },
    createdAt: daysFrom(now, -900 + index),
  }));
}

export type Company = ReturnType<typeof companyRows>[number];

export function referringRows(chance: Chance) {
  return doctors.map(([firstName, lastName, speciality], index) => ({
    referringId: String(8001 + index),
    firstName,
    lastName,
    middleInitial: chance.happens(0.5) ? chance.pick(['A', 'J', 'M', 'R']) : null,
    speciality,
    phone: `518-555-01${String(60 + index).padStart(2, '0')}`,
    fax: index % 4 === 3 ? null : `518-555-01${String(80 + (index % 20)).padStart(2, '0')}`,
    email: chance.happens(0.6) ? `${firstName}.${lastName}@example.org`.toLowerCase() : null,
    npi: `18888${String(10003 + index * 41)}`,
    address: { line1: `${5 + index * 11} Consultant Way`, ...town },
    activeFlag: index === doctors.length - 1 ? 'N' : 'Y',
  }));
}

const insurers: [name: string, payerId: string, active?: boolean][] = [
  ['Examplecare Gold', 'EXC01'],
  ['Mock Mutual', 'MOC01'],
  ['Sample Health Plan', 'SHP01'],
  ['Placebo Shield', 'PLS01'],
  ['Demo Medicare', 'DMC01'],
  ['Mock Mutual', 'MOC02'],
  ['Sample Health Plan', 'SHP02'],
  ['Sample Health Plan', 'SHP03'],
  ['Fixture Medicaid', 'FXM01'],
  ['Standin Life & Health', 'STL01'],
  ['Trial Benefit Trust', 'TBT01'],
  ['Paper Claims Only Insurance', 'PCO01'],
  ['Stub Workers Compensation', 'SWC01'],
  ['Prototype PPO', 'PPP01'],
  ['Prototype HMO', 'PPH01'],
  ['Synthetic Blue', 'SYB01'],
  ['Dummy Auto Injury', 'DAI01'],
  ['Formerly Insuring Company', 'FIC01', false],
];

const doctors: [firstName: string, lastName: string, speciality: string][] = [
  ['Sasha', 'Referrell', 'Cardiology'],
  ['Tatum', 'Outsidely', 'Orthopedics'],
  ['Umber', 'Consultson', 'Neurology'],
  ['Vesper', 'Lettersby', 'Endocrinology'],
  ['Winter', 'Forwarden', 'Gastroenterology'],
  ['Xan', 'Handover', 'Family Medicine'],
  ['Yael', 'Sendington', 'Pulmonology'],
  ['Zuri', 'Notewell', 'Rheumatology'],
  ['Ari', 'Twinname', 'Dermatology'],
  ['Ari', 'Twinname', 'Oncology'],
  ['Bellamy', 'Secondview', 'Urology'],
  ['Retired', 'Formerdoc', 'Internal Medicine'],
];
