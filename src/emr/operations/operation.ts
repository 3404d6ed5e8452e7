import type { Static, TObject, TSchema } from 'typebox';
import type { ReadSubject, WriteSubject } from '../../model/consents.ts';
import type { Kind, SourceOf } from '../../model/records/kinds.ts';

/**
 * A write to the EMR. The EMR stores our marker with the record, so that `find` can tell after a lost response whether
 * the write arrived. Without `find`, a lost response requires a manual check.
 */
export type EmrWrite<Input, Output> = {
  send: (input: Input, marker: string, sending?: () => Promise<void>) => Promise<Output>;
  /**
   * `send` calls `sending` right before its first request that may change something, and waits for it. Until then nothing
   * has to be looked up after a crash. Absent: `send` may change something from its start.
   */
  announces?: true;
  find?: (marker: string, input: Input) => Promise<Output | undefined>;
  /** `find` compares the stored values with the input instead: an update whose values are stored counts as written. */
  compares?: true;
};
export type InputOf<Write> = Write extends EmrWrite<infer Input, infer _Output> ? Input : never;
export type OutputOf<Write> = Write extends EmrWrite<never, infer Output> ? Output : never;

export type EmrSex = 'male' | 'female' | 'unknown';

export type Written = { ehr_id: string };

/** One field of a write. `property` is its name in the interface, `after` the saved value. */
export type SavedField = {
  field_label: string;
  before: string | null;
  after: string | null;
  property: string;
  /** Set if the EMR saved a different value than was sent: the sent value and the EMR's explanation. */
  corrected?: { sent: string | null; note: string };
};

export type Saved = { ehr_id: string; changes: SavedField[] };

/**
 * A page of a list. `through`: everything up to this point has been returned, and a later attempt may resume here
 * (`from`). null: an earlier `through` is no longer valid. `whole`: the pages contain the complete list, although only
 * changes were requested, because this EMR does not tell which of its records changed. `left`: records that still exist
 * but are no longer part of the list. They are deleted on our side. `window`: the list was read within these days only,
 * and completely there. `partial`: records may be missing although they exist, so none is deleted.
 */
export type ListPage<Source> = Source[] & {
  through?: string | null;
  whole?: true;
  left?: readonly LeftRecord[];
  window?: ListWindow;
  partial?: true;
};

/** The first and the last day of a read, both included, and whose records were read (EMR ids) if not everybody's. */
export type ListWindow = {
  from: string;
  to: string;
  owners?: { column: 'facility_ehr_id' | 'provider_ehr_id'; ehr_ids: readonly string[] };
};

/** A chart that was merged into another one. `merged_into`: the EMR id of that one, null if the EMR does not tell. */
export type LeftRecord = { ehr_id: string; mrn: string | null; merged_into: string | null };

/**
 * Reads a list to its end or fails. Records missing from a complete list are deleted on our side. Only for lists that the
 * EMR can be asked for at any time; a connector without one declares no list.
 */
export type Listing<Source> = {
  (options?: { since?: string | undefined; from?: string | undefined }): AsyncIterable<ListPage<Source>>;
  /**
   * Supports reading only what changed `since` an instant, and resuming `from` where an earlier read of the same kind
   * stopped. Otherwise both parameters are ignored.
   */
  incremental?: true;
  /**
   * It is read by days. With `since`, only the days around today are read, and completely; without, all that the EMR lists.
   */
  windowed?: true;
  /**
   * It is read from the files of a bulk export (bulkExports.ts), which contain all records or those that changed. Both
   * parameters but `from` are ignored, and `findDeleted` returns what the export names.
   */
  exported?: true;
  /**
   * Which of these records (EMR ids) no longer exist, without reading them all. A list without it is read in full more
   * often instead.
   */
  findDeleted?: (stored_ids: readonly string[]) => Promise<string[]>;
};

/** One operation per record kind, declared in model/records/: `listPharmacies: Listing<PharmacySource>`. */
export type ListOperations = { [K in Kind as K['operation']]: Listing<SourceOf<K>> };
export type ListName = keyof ListOperations;
export type RowOf<Name extends ListName> = ListOperations[Name] extends Listing<infer Row> ? Row : never;

/** Reads a list to its end and returns its rows. Only for lists that are known to be small. */
export async function collect<Row>(pages: AsyncIterable<Row[]>): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const page of pages) rows.push(...page);
  return rows;
}

/**
 * Declares the operations of a group, such as those on appointments. Their types are in `Group`; here is what the
 * certification checks and the rejection of unsupported fields need to know about each.
 */
export type Declarations<Group> = { readonly [Name in keyof Group]: Declaration<Group[Name], Group> };

type Declaration<Operation, Group> =
  Operation extends EmrWrite<infer Input, infer _Output>
    ? WriteDeclaration<Input, Group>
    : Operation extends (...key: infer Key) => Promise<infer _Result>
      ? ReadDeclaration<Key, Group>
      : never;

/** Whether a write adds a record or changes one, and the kind of record. */
export type WriteEffect = { action: 'create' | 'update'; resource: string };

/** How a write is checked. */
export type WriteDeclaration<Input, Group> = {
  consent: WriteSubject;
  /** What it does, as a dry run tells it. */
  effect: WriteEffect;
  /** The fields of a request that the write stores. Absent: its input does not come from fields. */
  fields?: RequestFields<Input>;
  sample: {
    /** Input that was not used before. */
    input: (env: SampleEnvironment<Group>) => Promise<Input>;
    /** The read that shows the record, if there is one. */
    shown_by?: keyof Group & string;
    /** How often the record exists. */
    count?: (emr: Available<Group>, sent: SentSample<Input, Group>) => Promise<number>;
  };
};
export type SentSample<Input, Group> = { input: Input; written: Written; env: SampleEnvironment<Group> };

/** How a read is checked. */
export type ReadDeclaration<Key extends unknown[], Group> = {
  consent: ReadSubject | null;
  result: TSchema;
  /** The fields of a request that only some EMRs support. */
  fields?: RequestFields<never>;
  /** The key of something that exists. */
  sample: (env: SampleEnvironment<Group>) => Promise<Key>;
  /** The key of something that does not exist. Absent: the read has no key. */
  missing?: Key;
};

/**
 * The fields of a request. `samples`: those that an EMR may not support. `unchecked`: optional fields without a sample,
 * because every EMR has them or another operation stores them.
 */
export type RequestFields<Input> = {
  body: TObject;
  samples: Readonly<Record<string, FieldSample<Input>>>;
  unchecked: readonly string[];
};

export type FieldSample<Input> = {
  /** What the field adds to the input of the operation. */
  adds: Partial<Input>;
  /** Other fields that are stored only together with this one. */
  includes?: readonly string[];
  /** A text of the value, for fields that the EMR stores in a record of their own. */
  shows?: string;
  /**
   * `api`: only the API refuses it, because the service fills it in for EMRs that have it, or because the interface
   * restricts it where the EMR could store it.
   */
  refused_by?: 'api';
  /** Another check covers that it has an effect. */
  effect_checked_by?: string;
};

type FieldName<Body extends TObject> = keyof Static<Body> & string;

/** Declares the fields of a request. A field that the request does not have does not compile. */
export function requestFields<Body extends TObject, Input>(
  body: Body,
  samples: { [Name in FieldName<Body>]?: FieldSample<Input> & { includes?: readonly FieldName<Body>[] } },
  unchecked: readonly FieldName<Body>[] = [],
): RequestFields<Input> & { body: Body } {
  return { body, samples: samples as Readonly<Record<string, FieldSample<Input>>>, unchecked };
}

type Available<Group> = Partial<Group & ListOperations>;

/** The EMR under test, as far as samples use it. `Group` are the operations that are declared together. */
export type SampleEnvironment<Group> = {
  /** The operations that the account supports. */
  open(): Promise<{ emr: Available<Group> }>;
  /** Random letters that no record contains yet. */
  uniqueTag(): string;
  /** A marker in the product's format. */
  marker(): string;
  session(): Promise<{ timezone?: string | undefined }>;
  /** All rows of a list, read once. */
  rows<Name extends ListName>(name: Name): Promise<RowOf<Name>[]>;
  /** A patient to read. */
  anyPatient(): Promise<{ ehr_id: string; mrn: string }>;
  /** A synthetic patient whose chart may be written to. */
  testPatient(): Promise<{ ehr_id: string; mrn: string }>;
  /** The ID of a record that this write has created, always the same. */
  written(name: WriteIn<Group>): Promise<string>;
  memoize<T>(key: string, make: () => Promise<T>): Promise<T>;
  /** Records the failure of a call: the last checks search all failures for secrets. */
  track<T>(work: Promise<T>): Promise<T>;
};

export type WriteIn<Group> = {
  [Name in keyof Group]: Group[Name] extends EmrWrite<never, Written> ? Name : never;
}[keyof Group];

/** The check cannot run here, or only by doing harm. `not_supported`: the EMR lacks the operation. */
export class CheckSkipped extends Error {
  readonly not_supported: boolean;

  constructor(message: string, not_supported = false) {
    super(message);
    this.not_supported = not_supported;
  }
}

export function skip(message: string): never {
  throw new CheckSkipped(message);
}

/** The lists whose records have a status. */
type StatusList = { [Name in ListName]: RowOf<Name> extends { status: string } ? Name : never }[ListName];

export async function activeRecord<Group>(env: SampleEnvironment<Group>, name: StatusList): Promise<Written> {
  const all: { ehr_id: string; status: string }[] = await env.rows(name);
  return all.find(({ status }) => status === 'active') ?? skip(`${name} returns no active record`);
}

/** No EMR has a record with this ID. */
export const missing_id = 'no-such-record-0';
/** Clearly fictitious. Numbers 555-01xx are reserved for fiction. */
export const family_name = 'Certification-Testpatient';
/** An ID that nothing has. Where a field must be written, the checks replace it. */
export const sample_id = 'certification-0';
export const sample_doctor = { first_name: 'Certifying', last_name: 'Doctor' };

export function capitalize(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** A read of one patient's chart: its key is the patient's EMR ID. */
export function chartRead<Group>(
  consent: ReadSubject,
  result: TSchema,
): ReadDeclaration<[patient_ehr_id: string], Group> {
  return { consent, result, sample: async (env) => [(await env.anyPatient()).ehr_id], missing: [missing_id] };
}
