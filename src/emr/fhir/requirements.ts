import type { Capabilities, Interaction } from './transport/capabilities.ts';

/**
 * What a server must support for an operation or a field to be offered. `a|b`: either parameter will do. `all`: the
 * server must return all records of the type to a search without criteria.
 */
export type Requirement = {
  type: string;
  interactions: readonly Interaction[];
  params?: readonly string[];
  all?: true;
  /** The statement must name this profile. */
  profile?: string;
  /** The server must take appointments with other participants than the patient. */
  books_people?: true;
  /** The server must not be known to drop this extension. */
  extension?: string;
  /** The server must not be known to drop our markers, by which our own records are recognized. */
  marked?: true;
  /** What will do instead. */
  or?: Requirement;
};

export function meetsAll(capabilities: Capabilities, requirements: readonly Requirement[]): boolean {
  return requirements.every((requirement) => meets(capabilities, requirement));
}

function meets(capabilities: Capabilities, requirement: Requirement): boolean {
  const { type, interactions, params = [], all, profile, books_people, extension, marked, or } = requirement;
  if (or && meets(capabilities, or)) return true;
  if (profile !== undefined && !capabilities.hasProfile(type, profile)) return false;
  if (books_people && capabilities.books_by_slot) return false;
  if (extension !== undefined && capabilities.dropsExtension(extension)) return false;
  if (marked && !capabilities.keepsMarkers(type)) return false;
  const [supported, known] = [capabilities.interactions(type), capabilities.searchParams(type)];
  // Without versions an update could overwrite a concurrent change, so updates are not offered.
  const safe = !interactions.includes('update') || capabilities.versionedUpdate(type);
  const searchable = params.every((names) => names.split('|').some((name) => known.has(name)));
  return (
    safe && searchable && (!all || capabilities.listsAll(type)) && interactions.every((each) => supported.has(each))
  );
}

export function list(type: string): Requirement {
  return { ...search(type), all: true };
}

export function search(type: string, ...params: string[]): Requirement {
  return { type, interactions: ['search-type'], params };
}

export function read(type: string): Requirement {
  return can(type, 'read');
}

/** Records that are created, and found by their marker if the response is lost. */
export function stored(type: string): Requirement {
  return { type, interactions: ['create', 'search-type'], params: ['identifier'] };
}

export function can(type: string, ...interactions: Interaction[]): Requirement {
  return { type, interactions };
}
