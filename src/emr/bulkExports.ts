/**
 * Lists that an EMR prepares as files, which may take it hours (FHIR bulk data access). The service stores how far an
 * export has come after each of these steps, and reads the lists from its files once all of them are stored.
 */
export type Exporter = {
  /** What is exported. The EMR must not prepare two exports of the same at a time. */
  target: string | undefined;
  /** The types of records to export. None if all lists are read otherwise. */
  types: readonly string[];
  /** Starts an export of all records, or of those that changed since an instant. `busy_ms`: another one is running. */
  kickOff(since: string | undefined): Promise<{ status_url: string } | { busy_ms: number | undefined }>;
  poll(status_url: string): Promise<ExportStatus>;
  /** Reads a file in batches. Fails with `unavailable` if it is incomplete, and with `not_found` if its URL has expired. */
  read(file: ExportFile, manifest: ExportManifest, receive: (batch: ExportBatch) => Promise<void>): Promise<void>;
  /** Deletes the files at the EMR, or cancels the export. */
  end(status_url: string): Promise<void>;
};

/** `gone`: the EMR does not know the export anymore. `failing`: it responds that the export has failed. */
export type ExportStatus =
  | { state: 'preparing'; retry_after_ms: number | undefined }
  | { state: 'ready'; manifest: ExportManifest }
  | { state: 'gone' }
  | { state: 'failing'; message: string };

export type ExportManifest = {
  /** The instant whose state the files have. The next export of changes starts there. */
  as_of: string;
  /** Whether the files need our access token; undefined if the EMR does not say. */
  requires_token: boolean | undefined;
  /** The export names the records that were deleted since. */
  names_deleted: boolean;
  files: readonly ExportFile[];
};

export type ExportFile = {
  holds: 'records' | 'deleted' | 'errors';
  /** The type of its records. */
  type: string;
  url: string;
  /** The number of its lines, if the EMR says it. */
  count: number | undefined;
};

/** `records`: one record in JSON per line. `deleted`: ids. `errors`: codes of what is missing, or only worth knowing. */
export type ExportBatch =
  | { holds: 'records' | 'deleted'; type: string; lines: readonly string[] }
  | { holds: 'errors'; codes: readonly string[]; lacks_records: boolean };

/** The stored files of the export that is being read. */
export type ExportedRecords = {
  /** Whether records may be missing, because the EMR reported errors. */
  isPartial(): Promise<boolean>;
  /** Batches of records in the order of the files. `n` increases. */
  read(type: string): AsyncIterable<{ n: number; lines: readonly string[] }>;
  /** The ids of the records that were deleted. */
  readDeleted(type: string): Promise<string[]>;
};
