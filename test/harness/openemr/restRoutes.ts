import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Practice, Row } from './practice.ts';

export type Reply = { status: number; type: string; body: string };
export type RestRequest = { method: string; path: string[]; query: URLSearchParams; body: Buffer; type: string };

/** What the standard API of OpenEMR 7.0.2 does, with everything that it does wrong. */
export async function handleRest(practice: Practice, request: RestRequest): Promise<Reply> {
  const { method, path } = request;
  const route = routes.find(({ pattern }) => matches(pattern, method, path));
  // Unknown routes and methods.
  if (!route) return { status: 404, type: 'text/html; charset=UTF-8', body: '' };
  const [, ...pattern] = route.pattern.split(/[ /]/).filter((part) => part !== '');
  const ids = path.filter((_, n) => pattern[n]?.startsWith(':'));
  return route.handle(practice, ids, request);
}

/** The scope that a request needs: `patient.write`. */
export function neededScope({ method, path }: Pick<RestRequest, 'method' | 'path'>): string {
  const name = path
    .toReversed()
    .find((part) =>
      /^(patient|appointment|encounter|soap_note|document|message|facility|practitioner|user|list|insurance)$/.test(
        part,
      ),
    );
  return `user/${name}.${method === 'GET' ? 'read' : 'write'}`;
}

type Route = {
  pattern: string;
  handle: (practice: Practice, ids: string[], request: RestRequest) => Reply | Promise<Reply>;
};

const routes: readonly Route[] = [
  {
    pattern: 'GET /facility',
    handle: ({ facilities }) =>
      data(
        200,
        facilities.map(({ location_uuid: _, ...row }) => row),
      ),
  },
  { pattern: 'GET /user', handle: ({ users }) => data(200, users) },
  {
    pattern: 'GET /practitioner',
    handle: ({ users }) =>
      data(
        200,
        users.filter(({ npi }) => npi !== ''),
      ),
  },
  {
    pattern: 'GET /list/:name',
    handle: (_, [name]) => (name === 'apptstat' ? json(200, appointment_statuses) : json(404, null)),
  },
  { pattern: 'GET /patient', handle: searchPatients },
  { pattern: 'POST /patient', handle: createPatient },
  { pattern: 'GET /patient/:uuid', handle: ({ patients }, [uuid]) => byUuid(patients, uuid, (row) => data(200, row)) },
  { pattern: 'PUT /patient/:uuid', handle: updatePatient },
  {
    pattern: 'GET /appointment',
    handle: (practice) =>
      json(
        200,
        practice.appointments.map((row) => listed(practice, row)),
      ),
  },
  { pattern: 'GET /appointment/:eid', handle: readAppointment },
  {
    pattern: 'GET /patient/:pid/appointment',
    handle: (practice, [pid]) => {
      const rows = practice.appointments.filter((row) => row.pc_pid === pid);
      // Texts in one list, numbers in the other.
      return json(
        200,
        rows.map((row) => ({ ...listed(practice, row), pc_eid: String(row.pc_eid) })),
      );
    },
  },
  { pattern: 'POST /patient/:pid/appointment', handle: createAppointment },
  {
    pattern: 'DELETE /patient/:pid/appointment/:eid',
    handle: (practice, [, eid]) => {
      practice.appointments = practice.appointments.filter((row) => String(row.pc_eid) !== eid);
      return json(200, { message: 'record deleted' });
    },
  },
  {
    pattern: 'GET /patient/:uuid/encounter',
    handle: (practice, [uuid]) =>
      byUuid(practice.patients, uuid, ({ pid }) =>
        data(
          200,
          practice.encounters.filter((row) => String(row.pid) === String(pid)),
        ),
      ),
  },
  { pattern: 'POST /patient/:uuid/encounter', handle: createEncounter },
  {
    pattern: 'GET /patient/:pid/encounter/:eid/soap_note',
    handle: ({ notes }, [pid, eid]) => {
      const rows = notes.filter((row) => row.pid === pid && row.eid === eid);
      return rows.length === 0 ? json(404, null) : json(200, rows);
    },
  },
  {
    pattern: 'POST /patient/:pid/encounter/:eid/soap_note',
    handle: ({ notes }, [pid, eid], request) => {
      const id = notes.length + 1;
      notes.push({ id, pid, eid, date: now(), user: 'quill', ...readBody(request) });
      return json(201, { sid: id, fid: id + 500 });
    },
  },
  {
    pattern: 'POST /patient/:pid/message',
    handle: ({ messages }, [pid], request) => {
      const body = readBody(request);
      if (String(body.body ?? '').length < 2) return json(400, { body: { lengthBetween: 'body is too short' } });
      // Recipients and patients are not checked.
      messages.push({ mid: messages.length + 1, pid, ...body });
      return json(201, { mid: messages.length });
    },
  },
  { pattern: 'POST /patient/:pid/document', handle: storeDocument },
  {
    pattern: 'GET /patient/:pid/insurance',
    handle: () => ({ status: 500, type: 'text/html', body: '<h2>Query Error</h2> SELECT * FROM insurance_data WHERE' }),
  },
];

const appointment_statuses = [
  { list_id: 'apptstat', option_id: '-', title: '- None' },
  { list_id: 'apptstat', option_id: '@', title: '@ Arrived' },
  { list_id: 'apptstat', option_id: 'x', title: 'x Canceled' },
];

function matches(pattern: string, method: string, path: readonly string[]): boolean {
  const [expected, ...parts] = pattern.split(/[ /]/).filter((part) => part !== '');
  return (
    expected === method &&
    parts.length === path.length &&
    parts.every((part, n) => part.startsWith(':') || part === path[n])
  );
}

/** Names match by prefix, and parameters that it does not know are ignored. `_limit` returns one row too many. */
function searchPatients({ patients }: Practice, _: string[], { query }: RestRequest): Reply {
  const known = ['fname', 'lname', 'DOB'].filter((name) => query.has(name));
  const rows = patients.filter((row) =>
    known.every((name) =>
      String(row[name])
        .toLowerCase()
        .startsWith(query.get(name)?.toLowerCase() ?? ''),
    ),
  );
  const offset = Number(query.get('_offset') ?? 0);
  const limit = query.has('_limit') ? Number(query.get('_limit')) + 1 : rows.length;
  return data(200, rows.slice(offset, offset + limit));
}

/** The next number is the highest one plus one: of concurrent creates, the later ones fail. */
async function createPatient({ patients }: Practice, _: string[], request: RestRequest): Promise<Reply> {
  const body = readBody(request);
  const errors: Row = {};
  for (const name of ['fname', 'lname']) {
    const length = [...String(body[name] ?? '')].length;
    if (length < 2 || length > 255)
      errors[name] = { 'LengthBetween::TOO_SHORT': `${name} must be 2 characters or longer` };
  }
  if (!/^\d{4}-\d\d-\d\d$/.test(String(body.DOB ?? '')))
    errors.DOB = { 'Datetime::INVALID_VALUE': 'DOB must be a valid date' };
  if (String(body.sex ?? '').length < 4)
    errors.sex = { 'LengthBetween::TOO_SHORT': 'sex must be 4 characters or longer' };
  if (Object.keys(errors).length > 0) return invalid(errors);
  const pid = String(Math.max(0, ...patients.map((row) => Number(row.pid))) + 1);
  // The time between reading the highest number and inserting the row.
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  if (patients.some((row) => row.pid === pid)) {
    return { status: 500, type: 'text/html', body: `<h2>Query Error</h2> INSERT INTO patient_data SET pid = '${pid}'` };
  }
  const row = { id: pid, pid, uuid: randomUUID(), pubpid: pid, date: new Date().toISOString(), ...body };
  patients.push(row);
  return data(201, { pid: Number(pid), uuid: row.uuid });
}

function updatePatient({ patients }: Practice, [uuid]: string[], request: RestRequest): Reply {
  return byUuid(patients, uuid, (row) => {
    const body = readBody(request);
    const { email } = body;
    if (typeof email === 'string' && email !== '' && !email.includes('@')) {
      return invalid({ email: { 'Email::INVALID_VALUE': 'email must be a valid email address' } });
    }
    Object.assign(row, body, { date: new Date().toISOString() });
    return data(200, row);
  });
}

function listed({ patients, users, facilities }: Practice, row: Row): Row {
  const { pc_duration: _, pc_hometext: __, ...columns } = row;
  const owner = patients.find(({ pid }) => pid === row.pc_pid);
  const provider = users.find(({ id }) => String(id) === row.pc_aid);
  const place = facilities.find(({ id }) => id === row.pc_facility);
  return {
    ...columns,
    fname: owner?.fname ?? null,
    lname: owner?.lname ?? null,
    DOB: owner?.DOB ?? null,
    pid: owner?.pid ?? null,
    puuid: owner?.uuid ?? null,
    pce_aid_uuid: provider?.uuid ?? null,
    facility_name: place?.name ?? null,
    // Another id than that of the list of facilities.
    facility_uuid: place?.location_uuid ?? null,
  };
}

function readAppointment(practice: Practice, [eid]: string[]): Reply {
  const row = practice.appointments.find((each) => String(each.pc_eid) === eid);
  if (!row) return json(404, null);
  return json(200, [{ ...listed(practice, row), pc_duration: row.pc_duration, pc_hometext: row.pc_hometext }]);
}

/** Neither conflicts nor facilities and categories are checked. The end is stored as 00:00. */
function createAppointment(practice: Practice, [pid]: string[], request: RestRequest): Reply {
  const body = readBody(request);
  const errors: Row = {};
  for (const name of required_of_appointments)
    if (!(name in body))
      errors[name] = { 'Required::NON_EXISTENT_KEY': `${name} must be provided, but does not exist` };
  if (!/^\d\d:\d\d$/.test(String(body.pc_startTime)))
    errors.pc_startTime = { 'Length::TOO_SHORT': 'pc_startTime must be 5 characters long' };
  if (!/^\d+$/.test(String(body.pc_catid))) errors.pc_catid = { 'Numeric::NOT_NUMERIC': 'pc_catid must be numeric' };
  if (String(body.pc_title ?? '').length < 2)
    errors.pc_title = { 'LengthBetween::TOO_SHORT': 'pc_title must be 2 characters or longer' };
  if (!practice.patients.some((row) => row.pid === pid))
    errors.pid = { 'Callback::INVALID_VALUE': 'pid must be for a valid patient' };
  if (!practice.users.some((row) => String(row.id) === body.pc_aid))
    errors.pc_aid = { 'Callback::INVALID_VALUE': 'pc_aid must be for a valid user' };
  if (Object.keys(errors).length > 0) return json(400, errors);
  const eid = Math.max(30, ...practice.appointments.map((row) => Number(row.pc_eid))) + 1;
  practice.appointments.push({
    ...body,
    pc_eid: eid,
    pc_uuid: randomUUID(),
    pc_pid: pid,
    pc_startTime: `${body.pc_startTime}:00`,
    pc_endTime: '00:00:00',
    pc_time: null,
  });
  return json(200, { id: eid });
}

const required_of_appointments = [
  'pc_catid',
  'pc_title',
  'pc_duration',
  'pc_hometext',
  'pc_apptstatus',
  'pc_eventDate',
  'pc_startTime',
  'pc_facility',
  'pc_billing_location',
];

function createEncounter({ patients, encounters }: Practice, [uuid]: string[], request: RestRequest): Reply {
  return byUuid(patients, uuid, ({ pid }) => {
    const body = readBody(request);
    if (!('pc_catid' in body))
      return invalid({ pc_catid: { 'Required::NON_EXISTENT_KEY': 'pc_catid must be provided' } });
    if (!encounter_classes.includes(String(body.class_code)))
      return invalid({ class_code: { 'InArray::NOT_IN_ARRAY': 'class_code is unknown' } });
    const eid = Math.max(60, ...encounters.map((row) => Number(row.eid))) + 1;
    const row = { ...body, eid, euuid: randomUUID(), pid };
    encounters.push(row);
    return data(201, { encounter: eid, uuid: row.euuid });
  });
}

const encounter_classes = ['AMB', 'EMER', 'FLD', 'HH', 'IMP', 'ACUTE', 'NONAC', 'OBSENC', 'PRENC', 'SS', 'VR'];

/** Patients and categories that do not exist are accepted. The document is then in no chart, or in no category. */
function storeDocument(practice: Practice, [pid]: string[], { query, body, type }: RestRequest): Reply {
  const part = readPart(body, type);
  if (!part) return json(400, null);
  const name = (query.get('path') ?? '').replace(/^\//, '').replaceAll('_', ' ');
  // A blank in the path finds nothing.
  const category = query.get('path')?.includes(' ')
    ? undefined
    : practice.categories.find((each) => each.toLowerCase() === name.toLowerCase());
  practice.documents.push({
    id: practice.documents.length + 1,
    uuid: randomUUID(),
    pid,
    name: part.name,
    category: category ?? null,
    mimetype: part.type,
    content: part.content,
    date: new Date().toISOString(),
  });
  return json(200, true);
}

function readPart(body: Buffer, type: string): { name: string; type: string; content: Buffer } | undefined {
  const boundary = /boundary=(\S+)/.exec(type)?.[1];
  const start = body.indexOf('\r\n\r\n');
  if (boundary === undefined || start < 0) return undefined;
  const head = body.subarray(0, start).toString();
  const name = /name="document"; filename="([^"]+)"/.exec(head)?.[1];
  const end = body.lastIndexOf(`\r\n--${boundary}--`);
  if (name === undefined || end < 0) return undefined;
  return { name, type: /content-type: (\S+)/i.exec(head)?.[1] ?? '', content: body.subarray(start + 4, end) };
}

function byUuid(rows: readonly Row[], uuid: string | undefined, reply: (row: Row) => Reply): Reply {
  const row = rows.find((each) => each.uuid === uuid);
  return row ? reply(row) : invalid({ uuid: { 'invalid or nonexisting value': ` value ${uuid}` } });
}

function readBody({ body }: RestRequest): Row {
  return JSON.parse(body.toString() || '{}');
}

function data(status: number, rows: unknown): Reply {
  return json(status, { validationErrors: [], internalErrors: [], data: rows });
}

function invalid(errors: Row): Reply {
  return json(400, { validationErrors: errors, internalErrors: [], data: [] });
}

function json(status: number, body: unknown): Reply {
  return { status, type: 'application/json', body: JSON.stringify(body) };
}

function now(): string {
  return new Date().toISOString().slice(0, 19).replace('T', ' ');
}
