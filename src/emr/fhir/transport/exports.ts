import type * as fhir from 'fhir/r4.js';
import { list } from '../values.ts';

/** Of whom bulk exports are made: `Patient` or `Group/17`. `named`: an EMR app names the group. */
export type ExportTarget = { path: string; named: boolean };

/** The records are read from bulk exports. */
export type ExportPlan = { by: 'export'; sample?: never };

/** Belong to patients: an export has all of its patients. */
const complete_types: readonly string[] = ['Patient', 'Coverage', 'ServiceRequest'];
/** An export has those that its other records refer to, so that more may exist. */
const referred_types: readonly string[] = ['Practitioner', 'Location', 'Organization'];

/** The types with lists that exports can contain. */
export const exportable_types: readonly string[] = [...complete_types, ...referred_types];

export function isExportedWhole(type: string): boolean {
  return complete_types.includes(type);
}

/**
 * A search that returns the whole list is always preferred, because its changes are seen within minutes. One that may
 * miss records is replaced by exports only if the EMR app names their group: they are a load for the EMR.
 */
export function choosePlan<Plan extends { by: string }>(
  facts: ExportFacts,
  type: string,
  searched: Plan | undefined,
): Plan | ExportPlan | undefined {
  if (searched && !(isPartial(searched) && facts.export?.named)) return searched;
  const readable = (facts.types[type]?.interactions.length ?? 0) > 0;
  const exported = facts.export && !facts.refused_export && readable && exportable_types.includes(type);
  return exported ? { by: 'export' } : searched;
}

/** The part of what is known about a server that decides whether a list is exported. */
type ExportFacts = {
  types: Readonly<Record<string, { interactions: readonly string[] }>>;
  export?: ExportTarget;
  refused_export?: object;
};

/** A plan that may miss records. */
function isPartial(plan: { by: string }): boolean {
  return plan.by === 'birth_dates' || ('partial' in plan && plan.partial === true);
}

/** Servers name the operation with or without its level, or only by its definition. */
export function declaresExport({ operation }: fhir.CapabilityStatementRestResource): boolean {
  return list(operation).some(
    ({ name, definition }) =>
      /^\$?(group-|patient-)?export$/i.test(String(name)) || /(group|patient)-(t-)?export$/i.test(String(definition)),
  );
}
