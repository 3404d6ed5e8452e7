import {
  type Access,
  type Connector,
  type EmrEndpoint,
  EmrFailure,
  type EmrWrite,
  type OperationName,
  type Operations,
  type Written,
} from '../../src/connectors/connector.ts';

/** One fault in an otherwise good connector, and a check that must find it. */
export type FaultyConnector = { fault: string; found_by: string; grow: (good: Connector) => Connector };

type AnyWrite = EmrWrite<unknown, Written>;

/** Changes what `open` gives. */
function opened(
  change: (emr: Operations, endpoint: EmrEndpoint, access: Access) => Partial<Operations>,
): FaultyConnector['grow'] {
  return (good) => ({
    ...good,
    open: (endpoint, access) => {
      // The good connector of these tests offers every operation.
      const emr = good.open(endpoint, access) as Operations;
      return { ...emr, ...change(emr, endpoint, access) };
    },
  });
}

/** Changes every write. */
function writing(
  change: (write: AnyWrite, emr: Operations, access: Access) => Partial<AnyWrite>,
): FaultyConnector['grow'] {
  return opened((emr, _, access) => {
    const writes = Object.entries(emr).filter(([, each]) => typeof each === 'object');
    // What is an object among the operations is a write.
    return Object.fromEntries(
      writes.map(([name, write]) => [name, { ...write, ...change(write as AnyWrite, emr, access) }]),
    );
  });
}

/** Changes every failure of every operation. */
function failing(change: (failure: EmrFailure, access: Access) => unknown): FaultyConnector['grow'] {
  const guard = (access: Access) => (error: unknown) => {
    throw error instanceof EmrFailure ? change(error, access) : error;
  };
  return opened((emr, _, access) => {
    const wrapped = Object.entries(emr).map(([name, each]) => {
      if (typeof each !== 'function') return [name, guardWrite(each as AnyWrite, guard(access))];
      const call = each as (...given: unknown[]) => Promise<unknown> | AsyncIterable<unknown>;
      return [
        name,
        (...given: unknown[]) => {
          const answer = call(...given);
          return answer instanceof Promise ? answer.catch(guard(access)) : guardList(answer, guard(access));
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

/** Calls through another door. */
function through(change: (endpoint: EmrEndpoint) => EmrEndpoint): FaultyConnector['grow'] {
  return (good) => ({ ...good, open: (endpoint, access) => good.open(change(endpoint), access) });
}

function signingIn(change: (signIn: Connector['signIn']) => Connector['signIn']): FaultyConnector['grow'] {
  return (good) => ({ ...good, signIn: change(good.signIn) });
}

const kindly = (kind: EmrFailure['kind'], { message, retry_after_ms }: EmrFailure) =>
  new EmrFailure(kind, message, retry_after_ms === undefined ? {} : { retry_after_ms });

export const faulty_connectors: readonly FaultyConnector[] = [
  {
    fault: 'lets in whoever the EMR refused',
    found_by: 'sign_in.wrong_secret',
    grow: signingIn((signIn) => async (endpoint, credentials, code) => {
      const answer = await signIn(endpoint, credentials, code);
      if (answer.outcome !== 'refused') return answer;
      return { outcome: 'signed_in', grant: {}, user: { ehr_id: '1', name: 'Somebody' }, timezone: 'UTC' };
    }),
  },
  {
    fault: 'takes an EMR that is away for a wrong password',
    found_by: 'sign_in.unreachable',
    grow: signingIn(
      (signIn) => (endpoint, credentials, code) =>
        signIn(endpoint, credentials, code).catch(() => ({ outcome: 'refused', reason: 'credentials' })),
    ),
  },
  {
    fault: 'calls a wrong code a wrong password',
    found_by: 'sign_in.code',
    grow: signingIn((signIn) => async (endpoint, credentials, code) => {
      const answer = await signIn(endpoint, credentials, code);
      return answer.outcome === 'refused' ? { outcome: 'refused', reason: 'credentials' } : answer;
    }),
  },
  {
    fault: 'names a time zone that is none',
    found_by: 'sign_in.good',
    grow: signingIn((signIn) => async (endpoint, credentials, code) => {
      const answer = await signIn(endpoint, credentials, code);
      return answer.outcome === 'signed_in' ? { ...answer, timezone: 'Eastern' } : answer;
    }),
  },
  {
    fault: 'does not mark the password as a secret',
    found_by: 'declaration.secrets',
    grow: (good) => ({
      ...good,
      credential_fields: good.credential_fields.map((field) => ({ ...field, secret: false })),
    }),
  },
  {
    fault: 'declares no lane',
    found_by: 'declaration.limits',
    grow: (good) => ({ ...good, limits: { parallel_max: 0 } }),
  },
  {
    fault: 'offers what it does not give',
    found_by: 'offers.opened',
    grow: opened((): Partial<Operations> => Object.fromEntries([['getBalances', undefined]])),
  },
  {
    fault: 'gives what it does not offer',
    found_by: 'offers.opened',
    grow: (good) => ({
      ...good,
      capabilities: good.capabilities.filter((name: OperationName) => name !== 'addRefill'),
    }),
  },
  {
    fault: 'asks the EMR while it opens',
    found_by: 'offers.quiet',
    grow: opened((emr) => {
      emr.getCodeLists().catch(() => {});
      return {};
    }),
  },
  {
    fault: 'reads only the first page',
    found_by: 'createPatient.listed',
    grow: opened((emr) => ({
      listPatients: async function* () {
        for await (const page of emr.listPatients()) return yield page;
      },
    })),
  },
  {
    fault: 'ends a list quietly when a page fails',
    found_by: 'listStaff.broken_off',
    grow: opened((emr) => ({
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
    fault: 'gives a page twice',
    found_by: 'listLocations.rows',
    grow: opened((emr) => ({
      listLocations: async function* () {
        for await (const page of emr.listLocations()) {
          yield page;
          yield page;
        }
      },
    })),
  },
  {
    fault: 'gives dates as the EMR writes them',
    found_by: 'listPatients.rows',
    grow: opened((emr) => ({
      listPatients: async function* () {
        for await (const page of emr.listPatients()) {
          yield page.map((row) => ({ ...row, dob: row.dob?.replace(/(\d+)-(\d+)-(\d+)/, '$2/$3/$1') ?? null }));
        }
      },
    })),
  },
  {
    fault: 'gives an hour that no clock shows',
    found_by: 'listAppointments.rows',
    grow: opened((emr) => ({
      listAppointments: async function* () {
        for await (const page of emr.listAppointments()) {
          yield page.map((row) => ({ ...row, starts: row.starts.replace(/T\d\d/, 'T25') }));
        }
      },
    })),
  },
  {
    fault: 'finds a patient by the beginning of an MRN',
    found_by: 'findPatient.exact',
    grow: opened((emr) => ({
      findPatient: async (mrn) => {
        const exact = await emr.findPatient(mrn);
        if (exact) return exact;
        for await (const page of emr.listPatients()) return page.find((patient) => patient.mrn.startsWith(mrn));
        return undefined;
      },
    })),
  },
  {
    fault: 'gives the first patient for an MRN that nobody has',
    found_by: 'findPatient.nothing',
    grow: opened((emr) => ({
      findPatient: async (mrn) => {
        const found = await emr.findPatient(mrn);
        if (found) return found;
        for await (const page of emr.listPatients()) return page[0];
        return undefined;
      },
    })),
  },
  {
    fault: 'searches by date of birth without the date',
    found_by: 'searchPatients.methods',
    grow: opened((emr) => ({
      searchPatients: async (search) => {
        if (search.dob === undefined) return emr.searchPatients(search);
        for await (const page of emr.listPatients()) return page;
        return [];
      },
    })),
  },
  {
    fault: 'takes a record that is not there for an EMR that is away',
    found_by: 'listMedications.nothing',
    grow: failing((failure) => (failure.kind === 'not_found' ? kindly('unavailable', failure) : failure)),
  },
  {
    fault: 'writes with a marker of its own each time',
    found_by: 'createTelephoneEncounter.once',
    grow: writing(({ send }) => ({ send: (input, marker) => send(input, `${marker}-${crypto.randomUUID()}`) })),
  },
  {
    fault: 'never finds what it wrote',
    found_by: 'uploadDocument.found',
    grow: writing(() => ({ find: async () => undefined })),
  },
  {
    fault: 'finds something for every marker',
    found_by: 'addGuarantor.found',
    grow: writing(({ find }) => ({
      find: async (marker, input) => (await find?.(marker, input)) ?? { ehr_id: '10001' },
    })),
  },
  {
    fault: 'says that it has written, and has not',
    found_by: 'addPatientInsurance.written',
    grow: writing(() => ({
      send: async () => ({ ehr_id: '10001', mrn: 'LK100001', changes: [] }),
      find: async () => undefined,
    })),
  },
  {
    fault: 'takes a lost answer for one that may be tried again blindly',
    found_by: 'createAppointment.lost_answer',
    grow: failing((failure) => (failure.kind === 'unknown_outcome' ? kindly('unavailable', failure) : failure)),
  },
  {
    fault: 'sends again by itself, under another marker, when an answer is lost',
    found_by: 'createAppointment.lost_answer',
    grow: writing(({ send }) => ({
      send: (input, marker) =>
        send(input, marker).catch((error: unknown) => {
          if (!(error instanceof EmrFailure) || error.kind !== 'unknown_outcome') throw error;
          return send(input, `${marker}-again`);
        }),
    })),
  },
  {
    fault: 'takes what was never sent for something that may have arrived',
    found_by: 'createPatient.not_sent',
    grow: writing(({ send }) => ({
      send: (input, marker) =>
        send(input, marker).catch((error: unknown) => {
          throw error instanceof EmrFailure ? kindly('unknown_outcome', error) : error;
        }),
    })),
  },
  {
    fault: 'books a time that is taken',
    found_by: 'createAppointment.conflict',
    grow: opened((emr) => ({
      createAppointment: {
        ...emr.createAppointment,
        send: (input, marker) => emr.createAppointment.send({ ...input, prevent_double_booking: false }, marker),
      },
    })),
  },
  {
    fault: 'drops the Retry-After',
    found_by: 'findPatient.trouble',
    grow: failing((failure) => new EmrFailure(failure.kind, failure.message)),
  },
  {
    fault: 'throws whatever comes up',
    found_by: 'getBalances.trouble',
    grow: failing((failure) => new TypeError(failure.message)),
  },
  {
    fault: 'does not listen when it is stopped',
    found_by: 'stop.reading',
    grow: through((endpoint) => ({ ...endpoint, signal: new AbortController().signal })),
  },
  {
    fault: 'takes an ended link for a refusal',
    found_by: 'session.link_ended',
    grow: failing((failure) => (failure.kind === 'login_required' ? kindly('refused', failure) : failure)),
  },
  {
    fault: 'puts the password into the text of a failure',
    found_by: 'words.secrets',
    grow: failing(
      (failure, { credentials }) => new EmrFailure(failure.kind, `${failure.message} ${credentials.password}`),
    ),
  },
  {
    fault: 'keeps the token in the cause of a failure',
    found_by: 'words.secrets',
    grow: failing(({ kind, message }, { grant }) => new EmrFailure(kind, message, { cause: { asked_with: grant } })),
  },
  {
    fault: 'sends the token in the address',
    found_by: 'words.secrets',
    grow: (good) => ({
      ...good,
      open: (endpoint, access) => {
        const fetch: EmrEndpoint['outbound']['fetch'] = (url, request) => {
          const address = new URL(url);
          address.searchParams.set('token', access.grant.session_token ?? '');
          return endpoint.outbound.fetch(address, request);
        };
        return good.open({ ...endpoint, outbound: { ...endpoint.outbound, fetch } }, access);
      },
    }),
  },
  {
    fault: 'shows what the server answered',
    found_by: 'words.plain',
    grow: failing(({ kind }) => new EmrFailure(kind, 'The EMR said: <!doctype html><title>Maintenance</title>')),
  },
];
