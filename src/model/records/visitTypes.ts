import { type Static, Type } from 'typebox';

/** A visit type or visit status of an EMR instance. */
export const VisitCode = Type.Object({
  code: Type.String({ examples: ['OV'] }),
  description: Type.String({ examples: ['Office visit'] }),
});
export type VisitCode = Static<typeof VisitCode>;

/** As an EMR lists it, under its code; `minutes` is how long a visit of a type takes unless told. */
export type VisitCodeSource = VisitCode & { ehr_id: string; minutes: number | null };
