import { fieldLabel } from '../../parts/labels.ts';
import type { ResponseOf } from '../../service/api.ts';

export type EventType = ResponseOf<'eventTypes.list'>['event_types'][number];
export type EventGroup = { noun: string; label: string; types: EventType[] };

/** Event types by their noun, in the order of the catalog: `patient.created` and `patient.merged` are of `patient`. */
export function groupEventTypes(types: readonly EventType[]): EventGroup[] {
  const groups = new Map<string, EventGroup>();
  for (const each of types) {
    const [first = ''] = each.type.split('.');
    // `login_required` has no noun of its own.
    const noun = each.type.includes('.') ? first : 'account';
    const group = groups.get(noun) ?? { noun, label: fieldLabel(noun), types: [] };
    groups.set(noun, group);
    group.types.push(each);
  }
  return [...groups.values()];
}

/** The types whose name or description contains all words of the text. */
export function searchEventTypes(types: readonly EventType[], text: string): EventType[] {
  const words = text.toLowerCase().split(/\s+/);
  return types.filter(({ type, summary }) => {
    const searched = `${type} ${type.replaceAll(/[._]/g, ' ')} ${summary}`.toLowerCase();
    return words.every((word) => searched.includes(word));
  });
}

/** The type's fields and an example, in the documentation. */
export function eventReference(type: string): string {
  return `/docs/reference/events#${type.replaceAll('.', '')}`;
}
