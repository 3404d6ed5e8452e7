import { randomUUID } from 'node:crypto';

/** A row of one of OpenEMR's tables. */
export type Row = Record<string, unknown>;

export type Practice = {
  patients: Row[];
  users: Row[];
  facilities: Row[];
  appointments: Row[];
  encounters: Row[];
  notes: Row[];
  messages: Row[];
  documents: Row[];
  medications: Row[];
  /** Document categories, by the name that paths have. */
  categories: string[];
};

/** Invented people and places. The first patient has a document in the category Certification. */
export function createPractice(): Practice {
  const users = [
    user(1, 'admin', 'Ada Ministrator', ''),
    user(4, 'quill', 'Quincy Quill', '1234567893'),
    user(5, 'fern', 'Frances Fern', '1245319599'),
    // An entry of the address book.
    user(9, null, 'Otto Outside', ''),
  ];
  const facilities = [
    facility(3, 'Thistle Family Practice', { primary_business_entity: '1' }),
    facility(7, 'Thistle East', { service_location: '1' }),
  ];
  const patients = [
    patient(1, { fname: 'Willa', lname: 'Wren', pubpid: 'OE-1001' }),
    patient(2, { fname: 'Jo', lname: 'Wrenfield', pubpid: 'OE-1002', DOB: '1991-05-06' }),
    patient(3, { fname: 'Joanna', lname: 'Wrenfield', pubpid: '3' }),
  ];
  const [first, second] = patients;
  return {
    patients,
    users,
    facilities,
    appointments: [
      // Booked on OpenEMR's own screens, so that it has an end.
      {
        ...appointment(31, [2, 4], '2026-03-02 10:00:00'),
        pc_endTime: '10:20:00',
        pc_duration: 1200,
        pc_time: '2026-02-01 08:00:00',
      },
      appointment(32, [1, 5], '2026-03-03 09:30:00'),
      // The hours of a provider, which belong to no patient.
      { ...appointment(33, [0, 4], '2026-03-02 08:00:00'), pc_pid: '', pc_catid: '2', pc_title: 'In Office' },
    ],
    encounters: [
      {
        eid: 61,
        euuid: randomUUID(),
        pid: 1,
        date: '2026-01-12 09:30:00',
        reason: 'Cough',
        pc_catid: '5',
        class_code: 'AMB',
        facility: 'Thistle Family Practice',
        facility_id: '3',
        provider_id: '4',
        external_id: '',
      },
    ],
    notes: [],
    messages: [],
    documents: [
      storedDocument(1, first, 'consent.pdf', 'Certification'),
      storedDocument(2, second, 'labs.pdf', 'Lab Report'),
    ],
    medications: [{ uuid: randomUUID(), pid: 1, drug: 'Amoxicillin 500 MG', active: 1, date_added: '2026-01-12' }],
    categories: ['Lab Report', 'Medical Record', 'Certification'],
  };
}

function user(id: number, username: string | null, name: string, npi: string): Row {
  const [fname, lname] = name.split(' ');
  const uuid = randomUUID();
  return {
    id,
    uuid,
    username,
    fname,
    mname: '',
    lname,
    title: '',
    active: '1',
    authorized: '1',
    facility_id: '3',
    npi,
  };
}

function facility(id: number, name: string, more: Row): Row {
  return {
    id: String(id),
    uuid: randomUUID(),
    location_uuid: randomUUID(),
    name,
    street: '12 Thistle Lane',
    city: 'Troy',
    state: 'NY',
    postal_code: '12180',
    phone: '518-555-0110',
    fax: '518-555-0111',
    service_location: '1',
    primary_business_entity: '0',
    ...more,
  };
}

function patient(pid: number, more: Row): Row {
  return {
    id: String(pid),
    pid: String(pid),
    uuid: randomUUID(),
    DOB: '1980-02-29',
    sex: 'Female',
    mname: '',
    street: '1 Home Street',
    street_line_2: '',
    city: 'Troy',
    // Another zone than the practice's.
    state: 'CA',
    postal_code: '12180',
    phone_home: '518-555-0120',
    phone_cell: '',
    email: '',
    providerID: '',
    date: '2026-01-01T00:00:00.000Z',
    ...more,
  };
}

function appointment(eid: number, [pid, aid]: [number, number], at: string): Row {
  const [day, clock] = at.split(' ');
  return {
    pc_eid: eid,
    pc_uuid: randomUUID(),
    pc_pid: String(pid),
    pc_aid: String(aid),
    pc_catid: '5',
    pc_title: 'Office Visit',
    pc_duration: 900,
    pc_hometext: '',
    pc_apptstatus: '-',
    pc_eventDate: day,
    pc_startTime: clock,
    pc_endTime: '00:00:00',
    pc_time: null,
    pc_facility: '3',
    pc_billing_location: '3',
  };
}

function storedDocument(id: number, owner: Row | undefined, name: string, category: string | null): Row {
  return {
    id,
    uuid: randomUUID(),
    pid: owner?.pid,
    name,
    category,
    mimetype: 'application/pdf',
    date: new Date().toISOString(),
  };
}
