import type { ClientRole } from './roles.ts';

/**
 * The actions that can need a second person, what they are called in messages, and the lowest role of who can approve
 * one.
 */
export const four_eyes_actions = {
  erasure: { label: 'an erasure, or what leads to a deletion', role: 'owner' },
  credentials: { label: 'a credential to be shown or created', role: 'operator' },
  webhooks: { label: 'a change of a webhook endpoint’s URL or secret', role: 'operator' },
  owners: { label: 'access for someone who can approve', role: 'owner' },
} as const satisfies Record<string, { label: string; role: Extract<ClientRole, 'operator'> | 'owner' }>;

export type FourEyesAction = keyof typeof four_eyes_actions;

// Object.keys() loses the type of a literal's keys.
export const four_eyes_names = Object.keys(four_eyes_actions) as FourEyesAction[];

/**
 * Whether an action needs a second person. `owners` does with any other action: an operator who could give a second
 * account of theirs the right to approve would need nobody else.
 */
export function needsSecondPerson(enabled: readonly FourEyesAction[], action: FourEyesAction): boolean {
  return enabled.includes(action) || (action === 'owners' && enabled.length > 0);
}
