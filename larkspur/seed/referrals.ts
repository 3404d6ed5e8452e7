import { daysFrom, usDay } from './days.ts';
import type { SeededPatient } from './patients.ts';

/** Two referrals for each of the first patients: one in, one out, in every status and priority. */
export function referralRows(now: Date, patients: SeededPatient[]) {
  return patients.slice(0, PATIENTS).flatMap(({ patientId }, index) =>
    (['I', 'O'] as const).map((direction, side) => {
      const age = 3 + index * 5 + side * 2;
      const [reason, icdCode] = reasons[index % reasons.length] ?? ['Evaluation', 'Z00.00'];
      const outside = String(8001 + (index % 5));
      const inside = String(501 + (index % 4));
      return {
        referralId: String(750_001 + index * 2 + side),
        patientId,
        direction,
        fromProviderId: direction === 'I' ? outside : inside,
        // Nobody yet: the practice has not chosen a specialist.
        toProviderId: direction === 'I' ? inside : index === 1 ? null : outside,
        priorityCode: (['R', 'R', 'U', 'S'] as const)[(index + side) % 4],
        urgency: side === 0 ? null : 'Within two weeks',
        reason,
        icdCodes: [icdCode],
        statusCode: ['OPEN', 'SCHEDULED', 'COMPLETED', 'CLOSED'][index % 4],
        referralDate: usDay(now, -age),
        createdAt: daysFrom(now, -age),
        createdBy: 'Avery Deskwell',
        lastActivityAt: daysFrom(now, -Math.max(1, age - 2)),
      };
    }),
  );
}

const PATIENTS = 12;

const reasons: [reason: string, icdCode: string][] = [
  ['Evaluation of recurring headaches', 'G44.209'],
  ['Cardiology consultation', 'I10'],
  ['Physical therapy for low back pain', 'M54.50'],
  ['Evaluation of a skin lesion', 'L98.9'],
];
