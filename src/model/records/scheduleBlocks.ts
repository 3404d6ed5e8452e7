/** Time that a provider keeps free, as an EMR lists it; without a facility it holds at all of them. */
export type ScheduleBlockSource = {
  ehr_id: string;
  /** YYYY-MM-DDTHH:MM:SS by the clock of the EMR instance. */
  starts: string;
  minutes: number;
  provider_ehr_id: string;
  facility_ehr_id: string | null;
  reason: string | null;
};
