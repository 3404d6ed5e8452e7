import type { Capability } from './emrOperations.ts';

/**
 * What is known about one capability of an account's server. `declared`: the server says so, and nothing contradicted
 * it yet. `works`: it was seen to work. `refused`: the server refuses it, so that the account does not offer it.
 */
export type EvidenceState = 'declared' | 'works' | 'refused';

/** What linking or a refresh found out about a capability. `detail` is one plain sentence without health data. */
export type Evidence = { capability: Capability; state: EvidenceState; detail?: string };
