/**
 * What vendors list in their CapabilityStatements: interactions, search parameters, and versioning if it is stated. The
 * first four are from their statements of 2026. Of the others only deviations from US Core are known.
 */
export type Statement = Readonly<
  Record<string, readonly [interactions: string, params: string, versioning?: 'no-version']>
>;

/** The search parameters that US Core requires or recommends. */
const us_core: Statement = {
  Patient: ['read search-type', '_id identifier name given family gender birthdate'],
  Practitioner: ['read search-type', '_id identifier name'],
  PractitionerRole: ['read search-type', '_id practitioner specialty'],
  Location: ['read search-type', '_id name address address-city address-state address-postalcode'],
  Organization: ['read search-type', '_id name address'],
  Coverage: ['read search-type', '_id patient'],
  RelatedPerson: ['read search-type', '_id patient name'],
  ServiceRequest: ['read search-type', '_id patient status category code authored'],
  DiagnosticReport: ['read search-type', '_id patient category code date status'],
  Observation: ['read search-type', '_id patient category code date status'],
  MedicationRequest: ['read search-type', '_id patient intent status authoredon encounter'],
  Encounter: ['read search-type', '_id patient date class type status identifier location'],
  DocumentReference: ['read search-type', '_id patient type category date status period'],
  AllergyIntolerance: ['read search-type', '_id patient clinical-status'],
  Condition: ['read search-type', '_id patient category clinical-status code encounter onset-date'],
  Binary: ['read', ''],
};

const oracle: Statement = {
  Patient: [
    'read search-type create patch',
    '_id identifier name given family address-postalcode birthdate phone email gender _count',
  ],
  Practitioner: ['read search-type create', '_id identifier given family name active _count'],
  Location: [
    'read search-type',
    '_id -physicalType identifier address address-city address-state address-postalcode name organization type',
  ],
  Organization: ['read search-type create', '_id identifier type _count name address'],
  Appointment: [
    'read search-type create patch',
    '_id _count date -date-or-req-period patient practitioner location status',
  ],
  Slot: ['read search-type patch', '_id start service-type schedule.actor -location _count'],
  Schedule: ['read search-type', '_id'],
  Coverage: ['read search-type create patch', '_id patient -encounter'],
  RelatedPerson: ['read search-type create patch', '_id identifier patient -encounter -relationship-level'],
  ServiceRequest: ['read search-type', '_id patient subject code _lastUpdated _count'],
  DiagnosticReport: ['read search-type create', '_id category code encounter patient date _lastUpdated _count'],
  Observation: ['read search-type create update', '_id patient subject category code date _lastUpdated _count'],
  MedicationRequest: [
    'read search-type create patch',
    '_id patient intent status _lastUpdated -timing-boundsPeriod _count',
  ],
  Encounter: [
    'read search-type create patch',
    '_id _count patient subject status date identifier account _lastUpdated',
  ],
  DocumentReference: [
    'read search-type create update',
    '_id patient encounter period _count type category date _lastUpdated',
  ],
  Binary: ['read', ''],
  Communication: ['read search-type create patch', '_id category received recipient -email-status'],
  AllergyIntolerance: ['read search-type create update', '_id patient clinical-status _lastUpdated'],
  Account: ['read search-type', '_id patient -encounter -guarantor type identifier _count'],
  Group: ['', ''],
  Condition: ['read search-type create update', '_id patient encounter subject clinical-status category _lastUpdated'],
};

const athena: Statement = {
  Patient: [
    'read search-type',
    '_id identifier name birthdate gender family given _lastUpdated ah-brand ah-chart-sharing-group ah-department ah-provider-group _count cursor _include _revinclude ah-practice _security',
  ],
  Practitioner: ['read search-type', '_id ah-provider-group identifier ah-practice _security'],
  Location: ['read search-type', '_id ah-provider-group ah-chart-sharing-group ah-practice _security'],
  Organization: ['read search-type', '_id ah-provider-group ah-chart-sharing-group ah-practice _security'],
  Appointment: ['read search-type', '_id base-appointment-id group-appointment-id ah-practice _security'],
  Coverage: [
    'read search-type',
    '_count cursor patient _revinclude _lastUpdated ah-provider-group ah-practice _security',
  ],
  RelatedPerson: [
    'search-type read',
    'patient _lastUpdated active ah-brand ah-chart-sharing-group ah-provider-group name _id',
  ],
  ServiceRequest: [
    'read search-type',
    '_id encounter patient _count status authored _lastUpdated cursor performer requester _include _revinclude ah-chart-sharing-group ah-practice code category _security ah-include-quality-codes',
  ],
  DiagnosticReport: [
    'read search-type',
    '_id encounter patient _include _revinclude category code date _count cursor result performer ah-chart-sharing-group _lastUpdated ah-include-cpt-codes-for-imaging-results ah-practice _security',
  ],
  Observation: [
    'read search-type',
    '_id patient _revinclude _include date category code encounter _count cursor ah-chart-sharing-group ah-practice _lastUpdated _security',
  ],
  MedicationRequest: [
    'read search-type',
    'patient intent status _id authoredon _include medication subject encounter requester ah-chart-sharing-group ah-practice _revinclude _count code cursor _lastUpdated ingredient-code ah-most-recent-medication-instance-and-prescribed-vaccines _security',
  ],
  Encounter: [
    'read search-type',
    '_id patient date _revinclude _include _count cursor ah-chart-sharing-group ah-practice _lastUpdated location service-provider practitioner _security',
  ],
  DocumentReference: [
    'read search-type',
    '_id patient _include _revinclude _sort category type date _count cursor encounter author custodian _lastUpdated ah-chart-sharing-group ah-published-date-time-to-portal ah-practice _security',
  ],
  Binary: ['read', ''],
  AllergyIntolerance: [
    'read search-type',
    'patient _count cursor _revinclude _include ah-chart-sharing-group _lastUpdated code ah-practice _security',
  ],
  Group: ['', ''],
  Condition: [
    'read search-type',
    '_id patient encounter _revinclude _include ah-chart-sharing-group ah-practice _count cursor _lastUpdated code category ah-redact-inline-security _security',
  ],
};

const ecw: Statement = {
  Patient: ['search-type read', '_id birthdate family gender given identifier name page phone'],
  Practitioner: ['search-type read', '_id identifier name page'],
  PractitionerRole: ['search-type read', '_id location name page practitioner role specialty'],
  Location: ['search-type read', '_id address name page'],
  Organization: [
    'search-type read',
    '_id address address-postalcode name organization-extension.reference organization-extension.url page type',
  ],
  Coverage: ['search-type read', '_id patient'],
  RelatedPerson: ['search-type read', '_id'],
  Claim: ['read', ''],
  ServiceRequest: ['search-type read', '_id authored category code occurrence page patient status'],
  DiagnosticReport: ['search-type read', '_id category code date encounter page patient status'],
  Observation: ['search-type read', '_id _since category code date encounter identifier page patient status'],
  MedicationRequest: ['search-type read', '_id authoredon encounter intended-dispenser intent page patient status'],
  Encounter: ['search-type read', '_id date location page patient practitioner'],
  DocumentReference: ['search-type read', '_id category contenttype date encounter page patient type'],
  Binary: ['read', ''],
  AllergyIntolerance: ['search-type read', '_id clinical-status encounter patient'],
  Group: ['search-type', 'page'],
  Condition: ['search-type read', '_id category encounter onset-date page patient'],
};

const nextgen_enterprise: Statement = {
  Patient: [
    'read search-type',
    '_id identifier name given family gender address address-city address-postalcode birthdate _lastUpdated _maxresults',
    'no-version',
  ],
  Practitioner: ['read search-type', '_id name identifier _lastUpdated _maxresults', 'no-version'],
  PractitionerRole: [
    'read search-type',
    '_id specialty practitioner.identifier practitioner.name _lastUpdated _maxresults',
    'no-version',
  ],
  Location: [
    'read search-type',
    '_id name address address-city address-state address-postalcode _lastUpdated _maxresults',
    'no-version',
  ],
  Organization: [
    'read search-type',
    '_id name address address-city address-postalcode address-state address-country _lastUpdated _maxresults',
    'no-version',
  ],
  Coverage: ['read search-type', '_id patient _lastUpdated _maxresults', 'no-version'],
  RelatedPerson: ['read search-type', '_id patient name _lastUpdated _maxresults', 'no-version'],
  ServiceRequest: ['read search-type', '_id patient category code authored _lastUpdated _maxresults', 'no-version'],
  DiagnosticReport: ['read search-type', '_id patient category code date _lastUpdated _maxresults', 'no-version'],
  Observation: ['read search-type', '_id patient category code date status _lastUpdated _maxresults', 'no-version'],
  MedicationRequest: [
    'read search-type',
    '_id patient status intent authoredon _lastUpdated _maxresults',
    'no-version',
  ],
  MedicationStatement: ['read search-type', '_id patient status _lastUpdated _maxresults', 'no-version'],
  Encounter: ['read search-type', '_id patient date _lastUpdated _maxresults', 'no-version'],
  DocumentReference: ['read search-type', '_id patient type date category _lastUpdated _maxresults', 'no-version'],
  AllergyIntolerance: ['read search-type', '_id patient date _lastUpdated _maxresults', 'no-version'],
  Condition: [
    'read search-type',
    '_id patient category onset-date clinical-status _lastUpdated _maxresults',
    'no-version',
  ],
};

/** No `given`, and `name` means "Last,First". */
const meditech: Statement = {
  ...us_core,
  Patient: ['read search-type', '_id identifier name family gender birthdate phone'],
  Practitioner: ['read search-type', '_id identifier name family given'],
  Appointment: ['read search-type', '_id date patient practitioner location'],
  Communication: ['create', ''],
};

/** HAPI: it also has `phone`, and practitioners by their parts of name. */
const modmed: Statement = {
  ...us_core,
  Patient: ['read search-type', '_id identifier name given family gender birthdate phone'],
  Practitioner: ['read search-type', '_id identifier name family given'],
  Group: ['read', ''],
};

const advancedmd: Statement = us_core;

export const statements = { oracle, athena, ecw, nextgen_enterprise, meditech, modmed, advancedmd } as const;
