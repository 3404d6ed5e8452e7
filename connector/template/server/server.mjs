/**
 * A small EMR to try the connector with, in memory: `npm run server`. README.md describes its interface. Replace it with
 * a test system of your EMR as soon as you have one.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';

const default_port = 4200;
const page_size_max = 100;

export const user = { username: 'demo', password: 'synthetic-password', userId: 'u1', userName: 'Demo Sampleton' };

/** Starts the EMR on this machine. Port 0 is any free port. */
export async function startServer(port = default_port) {
  const emr = createPractice();
  const server = createServer(async (request, response) => {
    const { status, body } = await respond(emr, request).catch((error) => toResponse(error));
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    /** The stored records, for tests. */
    emr,
    /** Every session expires. The connector signs in again. */
    endSessions: () => emr.sessions.clear(),
    /** Only a person who knows the new password can sign in again. */
    changePassword: () => {
      emr.password = randomUUID();
      emr.sessions.clear();
    },
    close: () => new Promise((resolve) => server.close(resolve).closeAllConnections()),
  };
}

class Rejection extends Error {
  constructor(status, code, message) {
    super(message);
    Object.assign(this, { status, code });
  }
}

function toResponse({ status = 500, code = 'error', message }) {
  return { status, body: { code, message: status === 500 ? 'Internal error.' : message } };
}

async function respond(emr, request) {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  const route = `${request.method} ${pathname}`;
  if (route === 'GET /api/practice')
    return ok({ product: 'example-emr', name: 'Example Practice', timeZone: emr.zone });
  if (route === 'POST /api/sign-in') return signIn(emr, await readBody(request));
  const token = request.headers.authorization?.replace('Bearer ', '');
  if (!emr.sessions.has(token)) throw new Rejection(401, 'session_expired', 'The session has expired.');
  if (route === 'POST /api/sign-out') {
    emr.sessions.delete(token);
    return ok({ signedOut: true });
  }
  if (route === 'GET /api/providers') return page(emr.providers, searchParams);
  if (route === 'GET /api/locations') return page(emr.locations, searchParams);
  if (route === 'GET /api/patients') return page(search(emr.patients, searchParams), searchParams);
  if (route === 'POST /api/patients') return createPatient(emr, await readBody(request));
  const [, patient_id] = /^POST \/api\/patients\/([^/]+)\/notes$/.exec(route) ?? [];
  if (patient_id) return addNote(emr, decodeURIComponent(patient_id), await readBody(request));
  const [, reference] = /^GET \/api\/references\/([^/]+)$/.exec(route) ?? [];
  const record = reference && emr.references.get(decodeURIComponent(reference));
  if (record) return ok(record);
  throw new Rejection(404, 'not_found', 'There is no such record.');
}

function ok(body) {
  return { status: 200, body };
}

async function readBody(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    throw new Rejection(400, 'invalid', 'The request is not JSON.');
  }
}

function signIn(emr, { username, password }) {
  if (username !== user.username || password !== emr.password) {
    throw new Rejection(401, 'wrong_password', 'The user name or the password is wrong.');
  }
  const token = randomBytes(24).toString('hex');
  emr.sessions.add(token);
  return ok({ token, userId: user.userId, userName: user.userName });
}

function page(records, params) {
  const limit = Math.min(Number(params.get('limit')) || page_size_max, page_size_max);
  const start = (Math.max(Number(params.get('page')) || 1, 1) - 1) * limit;
  return ok({ total: records.length, items: records.slice(start, start + limit) });
}

function search(patients, params) {
  const matches = {
    mrn: (patient, value) => patient.mrn === value,
    dob: (patient, value) => patient.birthDate === value,
    phone: (patient, value) => patient.phone?.replace(/\D/g, '') === value,
    lastName: (patient, value) => fold(patient.lastName) === fold(value),
    // The first name may contain the middle name.
    firstName: (patient, value) => fold(value).startsWith(fold(patient.firstName)),
  };
  const criteria = [...params].filter(([name]) => name in matches);
  return patients.filter((patient) => criteria.every(([name, value]) => matches[name](patient, value)));
}

/** Without case and accents. */
function fold(name) {
  return name.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().trim();
}

function createPatient(emr, { reference, ...fields }) {
  return once(emr, reference, () => {
    for (const name of ['firstName', 'lastName', 'birthDate', 'sex']) requireText(fields, name);
    const id = `p${emr.patients.length + 1}`;
    const patient = { ...blank_patient, ...fields, id, mrn: `EX${100_000 + emr.patients.length + 1}` };
    emr.patients.push(patient);
    return { id, mrn: patient.mrn };
  });
}

function addNote(emr, patientId, { reference, ...fields }) {
  return once(emr, reference, () => {
    if (!emr.patients.some(({ id }) => id === patientId)) {
      throw new Rejection(404, 'patient_not_found', 'There is no such patient.');
    }
    if (!emr.locations.some(({ id }) => id === fields.locationId)) {
      throw new Rejection(422, 'unknown_location', 'There is no such location.');
    }
    for (const name of ['subject', 'text']) requireText(fields, name);
    const id = `n${emr.notes.length + 1}`;
    emr.notes.push({ ...fields, id, patientId });
    return { id };
  });
}

/** Writes a record, or returns the one that has this reference already. */
function once(emr, reference, write) {
  requireText({ reference }, 'reference');
  const record = emr.references.get(reference) ?? write();
  emr.references.set(reference, record);
  return ok(record);
}

function requireText(fields, name) {
  if (typeof fields[name] === 'string' && fields[name].trim() !== '') return;
  throw new Rejection(422, 'invalid', `${name} is missing.`);
}

const blank_patient = Object.fromEntries(
  ['middleName', 'phone', 'email', 'street', 'city', 'state', 'zip'].map((name) => [name, null]),
);

/** Synthetic records. More patients than fit on a page, so that a list that is not read to its end is noticed. */
function createPractice() {
  const zone = 'America/New_York';
  const first_names = ['Avery', 'Blake', 'Casey', 'Devon', 'Emery', 'Finley', 'Gray', 'Harper', 'Indigo', 'Jules'];
  const patients = Array.from({ length: 120 }, (_, n) => ({
    ...blank_patient,
    id: `p${n + 1}`,
    mrn: `EX${100_001 + n}`,
    firstName: first_names[n % 10],
    lastName: `Testpatient-${String.fromCharCode(65 + (Math.floor(n / 10) % 26))}`,
    birthDate: `${1940 + (n % 70)}-0${1 + (n % 9)}-1${n % 10}`,
    sex: ['female', 'male', 'unknown'][n % 3],
    phone: `518-555-01${String(n % 100).padStart(2, '0')}`,
    city: 'Exampleton',
    state: 'NY',
    zip: '12207',
  }));
  return {
    zone,
    password: user.password,
    sessions: new Set(),
    references: new Map(),
    patients,
    notes: [],
    providers: [
      { id: 'd1', name: 'Morgan Placeholder, MD', npi: '1999999984', timeZone: zone, active: true },
      { id: 'd2', name: 'Riley Sample, NP', npi: null, timeZone: zone, active: false },
    ],
    locations: [
      {
        ...{ id: 'l1', name: 'Main Street', active: true, phone: '518-555-0100' },
        ...{ street: '1 Main Street', city: 'Exampleton', state: 'NY', zip: '12207' },
      },
    ],
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { url } = await startServer(Number(process.env.PORT) || default_port);
  process.stdout.write(`The EMR is at ${url}. Username ${user.username}, password ${user.password}\n`);
}
