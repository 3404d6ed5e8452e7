import { createContext, type ReactNode, use, useEffect, useMemo, useState } from 'react';

type PatientRequest = { mrn: string | undefined; setMrn: (mrn: string | undefined) => void };

const PatientRequestContext = createContext<PatientRequest | undefined>(undefined);

/** Hands an MRN from one page to the next. It is neither in the URL nor in the browser's history, which are stored. */
export function PatientRequestProvider({ children }: { children: ReactNode }) {
  const [mrn, setMrn] = useState<string>();
  const request = useMemo(() => ({ mrn, setMrn }), [mrn]);
  return <PatientRequestContext value={request}>{children}</PatientRequestContext>;
}

export function usePatientRequest(): PatientRequest {
  const request = use(PatientRequestContext);
  if (!request) throw new Error('usePatientRequest needs a PatientRequestProvider above it.');
  return request;
}

/** Calls `show` with the MRN that another page asked for, once. */
export function useRequestedPatient(show: (mrn: string) => void): void {
  const { mrn, setMrn } = usePatientRequest();
  useEffect(() => {
    if (mrn === undefined) return;
    show(mrn);
    setMrn(undefined);
  }, [mrn, setMrn, show]);
}
