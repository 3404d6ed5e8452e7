import type { Appointment, Bundle, ParametersParameter, Schedule, Slot } from '@medplum/fhirtypes';
import type { CheckedRepository } from './repository.ts';

/** Bookings take turns, so that exactly one gets a slot. */
export type Turns = { run<T>(work: () => Promise<T>): Promise<T> };

export function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return {
    run: (work) => {
      const next = last.then(work);
      last = next.catch(() => {});
      return next;
    },
  };
}

/** The visit types of the server that proposes nothing for them. */
const unoffered_type = 'urn:test:services|SURGERY';

/** The free slots of the practitioner and the location, as proposed appointments, and the server's rules as a text. */
export async function findOffers(repo: CheckedRepository, parameters: ParametersParameter[]): Promise<Bundle> {
  const find = (name: string) => parameters.find((each) => each.name === name);
  const [start, end] = ['start', 'end'].map((name) => Date.parse(find(name)?.valueDateTime ?? ''));
  const actors = ['practitioner', 'location-reference'].flatMap((name) => find(name)?.valueUri ?? []);
  const schedules = (await repo.searchResources<Schedule>({ resourceType: 'Schedule', count: 1000 })).filter((each) =>
    actors.every((actor) => each.actor.some(({ reference }) => reference === actor)),
  );
  const slots = (await repo.searchResources<Slot>({ resourceType: 'Slot', count: 5000 })).filter((slot) => {
    const at = Date.parse(slot.start);
    const own = schedules.some(({ id }) => slot.schedule.reference === `Schedule/${id}`);
    return own && slot.status === 'free' && at >= (start ?? 0) && at <= (end ?? 0);
  });
  if (find('visit-type')?.valueString === unoffered_type) {
    return toBundle([], 'Surgery is booked by phone only.');
  }
  return toBundle(
    slots.map((slot) => toOffer(slot, actors)),
    undefined,
  );
}

/** Undefined if there is no such offer. */
export async function bookOffer(
  repo: CheckedRepository,
  parameters: ParametersParameter[],
): Promise<Bundle | undefined> {
  const find = (name: string) => parameters.find((each) => each.name === name);
  const [, slot_id] = /^Appointment\/offer-(.+)$/.exec(find('appt-id')?.valueUri ?? '') ?? [];
  const slot = await repo.readResource<Slot>('Slot', slot_id ?? '').catch(() => undefined);
  if (!slot) return undefined;
  const schedule = await repo.readReference<Schedule>(slot.schedule);
  const actors = schedule.actor.map(({ reference = '' }) => reference);
  const offer = toOffer(slot, [find('patient-id')?.valueUri ?? '', ...actors]);
  if (slot.status !== 'free')
    return toBundle([{ ...offer, status: 'cancelled' }], 'Somebody else has taken this time.');
  const { id: _, ...appointment } = offer;
  const comment = find('comment')?.valueString;
  const booked = await repo.createResource<Appointment>({
    ...appointment,
    status: 'booked',
    ...(comment && { comment }),
  });
  await repo.updateResource<Slot>({ ...slot, status: 'busy' });
  return toBundle([booked], undefined);
}

function toOffer(slot: Slot, actors: readonly string[]): Appointment {
  return {
    resourceType: 'Appointment',
    id: `offer-${slot.id}`,
    status: 'proposed',
    start: slot.start,
    end: slot.end,
    slot: [{ reference: `Slot/${slot.id}` }],
    participant: actors.map((reference) => ({ actor: { reference }, status: 'accepted' as const })),
  };
}

function toBundle(appointments: readonly Appointment[], message: string | undefined): Bundle {
  const outcome = {
    resourceType: 'OperationOutcome' as const,
    issue: [{ severity: 'error' as const, code: 'business-rule' as const, details: { text: message ?? '' } }],
  };
  return {
    resourceType: 'Bundle',
    type: 'searchset',
    entry: [...appointments, ...(message === undefined ? [] : [outcome])].map((resource) => ({ resource })),
  };
}
