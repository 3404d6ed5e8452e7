import type { Access, Connector, EmrEndpoint } from '../../src/emr/connector.ts';
import { EmrFailure } from '../../src/emr/emrFailure.ts';
import type { EmrWrite, Written } from '../../src/emr/operations/operation.ts';
import type { Operations } from '../../src/emr/operations/operations.ts';
import type { Outbound } from '../../src/platform/security/outbound.ts';

/** A fault in an otherwise correct connector, and a check that must detect it. */
export type FaultyConnector = { fault: string; detected_by: string; inject: (original: Connector) => Connector };

type AnyWrite = EmrWrite<unknown, Written>;

/** Changes the result of `open`. */
function changeOperations(
  change: (emr: Operations, endpoint: EmrEndpoint, access: Access) => Partial<Operations>,
): FaultyConnector['inject'] {
  return (original) => ({
    ...original,
    open: (endpoint, access) => {
      // The original connector implements every operation.
      const emr = original.open(endpoint, access) as Operations;
      return { ...emr, ...change(emr, endpoint, access) };
    },
  });
}

/** Changes every write. */
function changeWrites(
  change: (write: AnyWrite, emr: Operations, access: Access) => Partial<AnyWrite>,
): FaultyConnector['inject'] {
  return changeOperations((emr, _, access) => {
    const writes = Object.entries(emr).filter(([, each]) => typeof each === 'object');
    // Writes are the only operations that are objects.
    return Object.fromEntries(
      writes.map(([name, write]) => [name, { ...write, ...change(write as AnyWrite, emr, access) }]),
    );
  });
}

/** Changes every failure of every operation. */
function changeFailures(change: (failure: EmrFailure, access: Access) => unknown): FaultyConnector['inject'] {
  const guard = (access: Access) => (error: unknown) => {
    throw error instanceof EmrFailure ? change(error, access) : error;
  };
  return changeOperations((emr, _, access) => {
    const wrapped = Object.entries(emr).map(([name, each]) => {
      if (typeof each !== 'function') return [name, guardWrite(each as AnyWrite, guard(access))];
      const call = each as (...args: unknown[]) => Promise<unknown> | AsyncIterable<unknown>;
      return [
        name,
        (...args: unknown[]) => {
          const result = call(...args);
          return result instanceof Promise ? result.catch(guard(access)) : guardList(result, guard(access));
        },
      ];
    });
    return Object.fromEntries(wrapped);
  });
}

function guardWrite({ send, find }: AnyWrite, guard: (error: unknown) => never): AnyWrite {
  return {
    send: (input, marker) => send(input, marker).catch(guard),
    ...(find && { find: (marker: string, input: unknown) => find(marker, input).catch(guard) }),
  };
}

async function* guardList(list: AsyncIterable<unknown>, guard: (error: unknown) => never) {
  try {
    yield* list;
  } catch (error) {
    guard(error);
  }
}

/** Changes the endpoint. */
function changeEndpoint(change: (endpoint: EmrEndpoint) => EmrEndpoint): FaultyConnector['inject'] {
  return (original) => ({ ...original, open: (endpoint, access) => original.open(change(endpoint), access) });
}

function changeSignIn(change: (signIn: Connector['signIn']) => Connector['signIn']): FaultyConnector['inject'] {
  return (original) => ({ ...original, signIn: change(original.signIn) });
}

const withKind = (kind: EmrFailure['kind'], { message, retry_after_ms }: EmrFailure) =>
  new EmrFailure(kind, message, retry_after_ms === undefined ? {} : { retry_after_ms });

export const faulty_connectors: readonly FaultyConnector[] = [
  {
    fault: 'accepts a sign-in that the EMR refused',
    detected_by: 'sign_in.wrong_secret',
    inject: changeSignIn((signIn) => async (endpoint, credentials, code) => {
      const result = await signIn(endpoint, credentials, code);
      if (result.outcome !== 'refused') return result;
      return { outcome: 'signed_in', grant: {}, user: { ehr_id: '1', name: 'Somebody' }, timezone: 'UTC' };
    }),
  },
  {
    fault: 'reports an unreachable EMR as a wrong password',
    detected_by: 'sign_in.unreachable',
    inject: changeSignIn(
      (signIn) => (endpoint, credentials, code) =>
        signIn(endpoint, credentials, code).catch(() => ({ outcome: 'refused', reason: 'credentials' })),
    ),
  },
  {
    fault: 'reports a wrong code as a wrong password',
    detected_by: 'sign_in.code',
    inject: changeSignIn((signIn) => async (endpoint, credentials, code) => {
      const result = await signIn(endpoint, credentials, code);
      return result.outcome === 'refused' ? { outcome: 'refused', reason: 'credentials' } : result;
    }),
  },
  {
    fault: 'returns an invalid time zone',
    detected_by: 'sign_in.success',
    inject: changeSignIn((signIn) => async (endpoint, credentials, code) => {
      const result = await signIn(endpoint, credentials, code);
      return result.outcome === 'signed_in' ? { ...result, timezone: 'Eastern' } : result;
    }),
  },
  {
    fault: 'reports a sign-out that it did not send',
    detected_by: 'session.signed_out',
    inject: (original) => ({ ...original, signOut: async () => true }),
  },
  {
    fault: 'ends the session at sign-out, but leaves the device that can open a new one',
    detected_by: 'session.signed_out',
    inject: (original) => ({
      ...original,
      signOut: async (endpoint, { credentials, grant }) =>
        original.signOut?.(endpoint, { credentials, grant: { ...grant, device_token: 'another device' } }) ?? false,
    }),
  },
  {
    fault: 'does not mark the password as a secret',
    detected_by: 'declaration.secrets',
    inject: (original) => ({
      ...original,
      credential_fields: original.credential_fields.map((field) => ({ ...field, secret: false })),
    }),
  },
  {
    fault: 'declares zero parallel lanes',
    detected_by: 'declaration.limits',
    inject: (original) => ({ ...original, limits: { parallel_max: 0 } }),
  },
  {
    fault: 'declares an operation that open does not return',
    detected_by: 'capabilities.match',
    inject: changeOperations((): Partial<Operations> => Object.fromEntries([['getBalances', undefined]])),
  },
  {
    fault: 'returns an operation that it does not declare',
    detected_by: 'capabilities.match',
    inject: (original) => ({
      ...original,
      capabilities: original.capabilities.filter((name) => name !== 'addRefill'),
    }),
  },
  {
    fault: 'drops a field that it declares as supported',
    detected_by: 'createAppointment.fields',
    inject: changeOperations((emr) => ({
      createAppointment: {
        ...emr.createAppointment,
        send: (input, marker) => emr.createAppointment.send({ ...input, note: null }, marker),
      },
    })),
  },
  {
    fault: 'writes a field that it declares as unsupported',
    detected_by: 'uploadDocument.fields',
    inject: (original) => ({ ...original, unsupported_fields: { uploadDocument: ['template_name'] } }),
  },
  {
    fault: 'reads the second pass of a repeated hour as the first',
    detected_by: 'createAppointment.repeated_hour',
    inject: changeOperations((emr) => ({
      getAppointment: async (ehr_id) => {
        const appointment = await emr.getAppointment(ehr_id);
        return appointment && { ...appointment, starts: appointment.starts.slice(0, 19) };
      },
    })),
  },
  {
    fault: 'ignores the length of visit types',
    detected_by: 'createAppointment.default_duration',
    inject: changeOperations((emr) => ({
      createAppointment: {
        ...emr.createAppointment,
        send: (input, marker) =>
          emr.createAppointment.send({ ...input, minutes: input.minutes ?? input.default_minutes }, marker),
      },
    })),
  },
  {
    fault: 'adds a new subscriber with every update of an insurance',
    detected_by: 'updatePatientInsurance.same_subscriber',
    inject: changeOperations((emr) => ({
      updatePatientInsurance: {
        ...emr.updatePatientInsurance,
        send: async (input, marker) => {
          const person = input.subscriber && { ...input.subscriber, last_name: `Subscriber ${marker.slice(0, 8)}` };
          return emr.updatePatientInsurance.send({ ...input, subscriber: person }, marker);
        },
      },
    })),
  },
  {
    fault: 'sends a request while opening',
    detected_by: 'capabilities.no_requests',
    inject: changeOperations((emr) => {
      emr.getCodeLists().catch(() => {});
      return {};
    }),
  },
  {
    fault: 'reads only the first page',
    detected_by: 'createPatient.listed',
    inject: changeOperations((emr) => ({
      listPatients: async function* () {
        for await (const page of emr.listPatients()) return yield page;
      },
    })),
  },
  {
    fault: 'returns an empty list instead of one that it cannot read',
    detected_by: 'listOrders.present',
    inject: changeOperations(() => ({ listOrders: async function* () {} })),
  },
  {
    fault: 'finds no changes, whatever the time',
    detected_by: 'listPatients.since_start',
    inject: changeOperations((emr) => ({
      listPatients: Object.assign(
        (options?: { since?: string | undefined }) =>
          options?.since === undefined ? emr.listPatients(options) : (async function* () {})(),
        { incremental: true as const },
      ),
    })),
  },
  {
    fault: 'offers a read that the EMR refuses',
    detected_by: 'capabilities.granted',
    inject: changeOperations(() => ({
      getAlerts: async () => {
        throw new EmrFailure('refused', 'This account is not allowed to read alerts.', { code: 'not_permitted' });
      },
    })),
  },
  {
    fault: 'returns homes of patients as locations',
    detected_by: 'listLocations.clinical',
    inject: changeOperations((emr) => ({
      listLocations: async function* () {
        yield* emr.listLocations();
        for await (const [patient] of emr.listPatients()) {
          const address = {
            address1: patient?.address_street ?? null,
            address2: null,
            city: patient?.address_city ?? null,
            state: patient?.address_state ?? null,
            zip: patient?.address_zip ?? null,
          };
          return yield [{ ehr_id: 'home-1', name: 'Home', status: 'active', address, phone: null, fax: null }];
        }
      },
    })),
  },
  {
    fault: 'books an appointment with a provider that does not exist',
    detected_by: 'createAppointment.unknown_references',
    inject: changeOperations((emr) => ({
      createAppointment: {
        ...emr.createAppointment,
        send: async (input, marker) => {
          let provider_ehr_id = input.provider_ehr_id;
          for await (const page of emr.listProviders()) {
            if (!page.some(({ ehr_id }) => ehr_id === provider_ehr_id))
              provider_ehr_id = page[0]?.ehr_id ?? provider_ehr_id;
          }
          return emr.createAppointment.send({ ...input, provider_ehr_id }, marker);
        },
      },
    })),
  },
  {
    fault: 'ends a list silently when a page fails',
    detected_by: 'listStaff.interrupted',
    inject: changeOperations((emr) => ({
      listStaff: async function* () {
        try {
          yield* emr.listStaff();
        } catch {
          // Swallowed.
        }
      },
    })),
  },
  {
    fault: 'returns a page twice',
    detected_by: 'listLocations.rows',
    inject: changeOperations((emr) => ({
      listLocations: async function* () {
        for await (const page of emr.listLocations()) {
          yield page;
          yield page;
        }
      },
    })),
  },
  {
    fault: 'returns dates in the EMR’s format',
    detected_by: 'listPatients.rows',
    inject: changeOperations((emr) => ({
      listPatients: async function* () {
        for await (const page of emr.listPatients()) {
          yield page.map((row) => ({ ...row, dob: row.dob?.replace(/(\d+)-(\d+)-(\d+)/, '$2/$3/$1') ?? null }));
        }
      },
    })),
  },
  {
    fault: 'returns an invalid hour',
    detected_by: 'listAppointments.rows',
    inject: changeOperations((emr) => ({
      listAppointments: async function* () {
        for await (const page of emr.listAppointments()) {
          yield page.map((row) => ({ ...row, starts: row.starts.replace(/T\d\d/, 'T25') }));
        }
      },
    })),
  },
  {
    fault: 'finds a patient by a prefix of the MRN',
    detected_by: 'findPatient.exact',
    inject: changeOperations((emr) => ({
      findPatient: async (mrn) => {
        const exact = await emr.findPatient(mrn);
        if (exact) return exact;
        for await (const page of emr.listPatients()) return page.find((patient) => patient.mrn.startsWith(mrn));
        return undefined;
      },
    })),
  },
  {
    fault: 'returns the first patient for an unknown MRN',
    detected_by: 'findPatient.not_found',
    inject: changeOperations((emr) => ({
      findPatient: async (mrn) => {
        const patient = await emr.findPatient(mrn);
        if (patient) return patient;
        for await (const page of emr.listPatients()) return page[0];
        return undefined;
      },
    })),
  },
  {
    fault: 'puts SNOMED codes among the ICD codes',
    detected_by: 'listClaims.icd',
    inject: changeOperations((emr) => ({
      listClaims: async function* (options) {
        for await (const page of emr.listClaims(options)) {
          yield page.map((claim) => ({ ...claim, icd_codes: [...claim.icd_codes, '44054006'] }));
        }
      },
    })),
  },
  {
    fault: 'ignores blank criteria in searches',
    detected_by: 'searchPatients.criteria',
    inject: changeOperations((emr) => ({
      searchPatients: async (search) =>
        emr.searchPatients(Object.fromEntries(Object.entries(search).filter(([, value]) => value?.trim() !== ''))),
    })),
  },
  {
    fault: 'ignores the date of birth in searches',
    detected_by: 'searchPatients.criteria',
    inject: changeOperations((emr) => ({
      searchPatients: async (search) => {
        if (search.dob === undefined) return emr.searchPatients(search);
        for await (const page of emr.listPatients()) return page;
        return [];
      },
    })),
  },
  {
    fault: 'reports a missing record as unavailable',
    detected_by: 'listMedications.not_found',
    inject: changeFailures((failure) => (failure.kind === 'not_found' ? withKind('unavailable', failure) : failure)),
  },
  {
    fault: 'uses a new marker for every attempt',
    detected_by: 'createTelephoneEncounter.idempotent',
    inject: changeWrites(({ send }) => ({ send: (input, marker) => send(input, `${marker}-${crypto.randomUUID()}`) })),
  },
  {
    fault: 'never finds its writes',
    detected_by: 'uploadDocument.find',
    inject: changeWrites(() => ({ find: async () => undefined })),
  },
  {
    fault: 'finds a record for every marker',
    detected_by: 'addGuarantor.find',
    inject: changeWrites(({ find }) => ({
      find: async (marker, input) => (await find?.(marker, input)) ?? { ehr_id: '10001' },
    })),
  },
  {
    fault: 'reports a write that it did not send',
    detected_by: 'addPatientInsurance.written',
    inject: changeWrites(() => ({
      send: async () => ({ ehr_id: '10001', mrn: 'LK100001', changes: [] }),
      find: async () => undefined,
    })),
  },
  {
    fault: 'reports a lost response as unavailable',
    detected_by: 'createAppointment.lost_response',
    inject: changeFailures((failure) =>
      failure.kind === 'unknown_outcome' ? withKind('unavailable', failure) : failure,
    ),
  },
  {
    fault: 'retries a lost response with another marker',
    detected_by: 'createAppointment.lost_response',
    inject: changeWrites(({ send }) => ({
      send: (input, marker) =>
        send(input, marker).catch((error: unknown) => {
          if (!(error instanceof EmrFailure) || error.kind !== 'unknown_outcome') throw error;
          return send(input, `${marker}-again`);
        }),
    })),
  },
  {
    fault: 'reports an unsent request as unknown_outcome',
    detected_by: 'createPatient.not_sent',
    inject: changeWrites(({ send }) => ({
      send: (input, marker) =>
        send(input, marker).catch((error: unknown) => {
          throw error instanceof EmrFailure ? withKind('unknown_outcome', error) : error;
        }),
    })),
  },
  {
    fault: 'books a time that is taken',
    detected_by: 'createAppointment.conflict',
    inject: changeOperations((emr) => ({
      createAppointment: {
        ...emr.createAppointment,
        send: (input, marker) => emr.createAppointment.send({ ...input, prevent_double_booking: false }, marker),
      },
    })),
  },
  {
    fault: 'reports a taken time without its cause',
    detected_by: 'createAppointment.conflict',
    inject: changeFailures((failure) =>
      failure.code === 'slot_taken'
        ? new EmrFailure(failure.kind, failure.message, { details: failure.details ?? {} })
        : failure,
    ),
  },
  {
    fault: 'uses the EMR’s own error codes',
    detected_by: 'errors.codes',
    inject: changeFailures((failure) =>
      failure.kind === 'not_found' ? Object.assign(withKind('not_found', failure), { code: 'ERR_404' }) : failure,
    ),
  },
  {
    fault: 'reports an outage as a rejection by its code',
    detected_by: 'errors.codes',
    inject: changeFailures((failure) =>
      failure.kind === 'unavailable' ? Object.assign(failure, { code: 'emr_refused' }) : failure,
    ),
  },
  {
    fault: 'drops the Retry-After',
    detected_by: 'findPatient.outage',
    inject: changeFailures((failure) => new EmrFailure(failure.kind, failure.message)),
  },
  {
    fault: 'throws errors other than EmrFailure',
    detected_by: 'getBalances.outage',
    inject: changeFailures((failure) => new TypeError(failure.message)),
  },
  {
    fault: 'ignores the abort signal',
    detected_by: 'stop.read',
    inject: changeEndpoint((endpoint) => ({ ...endpoint, signal: new AbortController().signal })),
  },
  {
    fault: 'reports an ended link as refused',
    detected_by: 'session.login_required',
    inject: changeFailures((failure) => (failure.kind === 'login_required' ? withKind('refused', failure) : failure)),
  },
  {
    fault: 'puts the password into a failure message',
    detected_by: 'errors.no_secrets',
    inject: changeFailures(
      (failure, { credentials }) => new EmrFailure(failure.kind, `${failure.message} ${credentials.password}`),
    ),
  },
  {
    fault: 'keeps the token in the cause of a failure',
    detected_by: 'errors.no_secrets',
    inject: changeFailures(
      ({ kind, message }, { grant }) => new EmrFailure(kind, message, { cause: { asked_with: grant } }),
    ),
  },
  {
    fault: 'sends the token in the URL',
    detected_by: 'errors.no_secrets',
    inject: (original) => ({
      ...original,
      open: (endpoint, access) => {
        const fetch: EmrEndpoint['outbound']['fetch'] = (url, request) => {
          const address = new URL(url);
          address.searchParams.set('token', access.grant.session_token ?? '');
          return endpoint.outbound.fetch(address, request);
        };
        return original.open({ ...endpoint, outbound: { ...endpoint.outbound, fetch } }, access);
      },
    }),
  },
  {
    fault: 'quotes the server’s response',
    detected_by: 'errors.readable',
    inject: changeFailures(
      ({ kind }) => new EmrFailure(kind, 'The EMR said: <!doctype html><title>Maintenance</title>'),
    ),
  },
];

/** A fault of the EMR that the connector does not notice, and a check that must detect it. */
export type FaultyServer = { fault: string; detected_by: string; change: (outbound: Outbound) => Outbound };

export const faulty_servers: readonly FaultyServer[] = [
  {
    fault: 'finds nothing when a page size is requested',
    detected_by: 'listStaff.paging',
    change: (outbound) => ({
      ...outbound,
      fetch: async (url, request) => {
        const response = await outbound.fetch(url, request);
        const { pathname, searchParams } = new URL(url);
        const affected = pathname.endsWith('/staff') && searchParams.has('pageSize');
        return affected ? { ...response, body: Buffer.from('{"total":0,"rows":[]}') } : response;
      },
    }),
  },
];
