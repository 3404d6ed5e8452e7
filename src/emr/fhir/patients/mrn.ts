import type * as fhir from 'fhir/r4.js';
import type { IdentifierSample, MrnRule } from '../../connector.ts';
import { marker_system } from '../transport/creates.ts';
import type { Sample } from '../transport/paramProbes.ts';
import { groupBy, list, readIdentifier, text } from '../values.ts';

/**
 * The medical record number: the identifier that the rule names, else the resource id. Without a rule, the identifier of
 * type MR, else of type PT (the patient's number at another organization, which some EMRs use for their own), else the
 * usual one, else the resource id.
 */
export function readMrn(patient: fhir.Patient, rule: MrnRule | undefined): string {
  if (rule) {
    const named = currentIdentifiers(patient).find((each) => matchesRule(each, rule) && text(each.value) !== null);
    return text(named?.value) ?? patient.id ?? '';
  }
  const typed =
    readIdentifier(patient.identifier, { types: ['MR'] }) ?? readIdentifier(patient.identifier, { types: ['PT'] });
  const usual = list(patient.identifier).find(({ use, type }) => use === 'usual' && type === undefined);
  return typed ?? text(usual?.value) ?? patient.id ?? '';
}

/** Whether a chart was merged into another one. */
export function isReplaced({ link }: fhir.Patient): boolean {
  return list(link).some(({ type }) => type === 'replaced-by');
}

/** The current patients of a sample. Undefined if the server did not list them, which does not mean that there are none. */
export function readPatients({ outcome, records }: Sample): fhir.Patient[] | undefined {
  if (outcome !== 'listed') return undefined;
  return records.filter((each) => each.resourceType === 'Patient').filter((patient) => !isReplaced(patient));
}

/**
 * The identifier that is most likely the MRN: by type, else the usual one, else the only one. It must be
 * unique, and nearly all patients must have one. Undefined if there is none, or if there are too few patients.
 */
export function guessMrnRule(patients: readonly fhir.Patient[] = []): MrnRule | undefined {
  if (patients.length < patients_min) return undefined;
  const usable = groupIdentifiers(patients).filter(({ owners, values }) => {
    const common = owners.size >= patients.length * share_min;
    return common && new Set(values).size === values.length;
  });
  const ranked = [
    usable.filter(({ type }) => type === 'MR'),
    usable.filter(({ type }) => type === 'PT'),
    usable.filter(({ type, system, usual }) => type === null && system !== null && usual),
    // If several have no type, it cannot be determined which of them it is.
    ...[usable.filter(({ type, system }) => type === null && system !== null)].filter(({ length }) => length === 1),
  ];
  const [best] = ranked.flat();
  return best && toRule(best);
}

/** All identifiers of these patients, most common first. */
export function describeIdentifiers(patients: readonly fhir.Patient[], rule: MrnRule | undefined): IdentifierSample {
  const groups = groupIdentifiers(patients).toSorted((a, b) => b.owners.size - a.owners.size);
  return {
    patients: patients.length,
    mrns: patients.map((patient) => readMrn(patient, rule)),
    identifiers: groups.map(({ system, type, owners, values }) => ({
      system,
      type,
      patients: owners.size,
      values: values.slice(0, values_max),
    })),
  };
}

/** With fewer patients, any identifier may be unique and common. */
const patients_min = 3;
/** New patients may have no number yet. */
const share_min = 0.8;
const values_max = 3;

type Group = {
  system: string | null;
  type: string | null;
  usual: boolean;
  owners: ReadonlySet<fhir.Patient>;
  values: string[];
};

function groupIdentifiers(patients: readonly fhir.Patient[]): Group[] {
  const all = patients.flatMap((patient) =>
    currentIdentifiers(patient).flatMap((identifier) => {
      const value = text(identifier.value);
      const [system, type] = [text(identifier.system), readType(identifier)];
      return value === null ? [] : [{ patient, value, system, type, usual: identifier.use === 'usual' }];
    }),
  );
  const groups = groupBy(all, ({ system, type }) => JSON.stringify([system, type]));
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first) return [];
    const owners = new Set(group.map(({ patient }) => patient));
    const { system, type } = first;
    return [
      { system, type, usual: group.every(({ usual }) => usual), owners, values: group.map(({ value }) => value) },
    ];
  });
}

function toRule({ system, type }: Group): MrnRule {
  return { ...(system !== null && { system }), ...(type !== null && { type }) };
}

/** Without our own markers, and those that are no longer in use. */
function currentIdentifiers(patient: fhir.Patient): fhir.Identifier[] {
  return list(patient.identifier).filter(({ use, system }) => use !== 'old' && system !== marker_system);
}

/** A type may have a code in several systems. */
function readTypeCodes({ type }: fhir.Identifier): string[] {
  return list(type?.coding)
    .map(({ code }) => text(code)?.toUpperCase() ?? '')
    .filter((code) => code !== '');
}

function readType(identifier: fhir.Identifier): string | null {
  const codes = readTypeCodes(identifier);
  return ['MR', 'PT'].find((code) => codes.includes(code)) ?? codes[0] ?? null;
}

function matchesRule(identifier: fhir.Identifier, { system, type }: MrnRule): boolean {
  const by_system = system === undefined || text(identifier.system) === system;
  return by_system && (type === undefined || readTypeCodes(identifier).includes(type.toUpperCase()));
}
