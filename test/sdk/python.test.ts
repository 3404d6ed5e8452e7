import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { documents } from '../harness/documents.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';
import { startFlakyServer } from './flakyServer.ts';

const run = promisify(execFile);
const folder = fileURLToPath(new URL('../../sdk/python', import.meta.url));
const has_python = await run('python3', ['-c', 'import sys; assert sys.version_info >= (3, 9)']).then(
  () => true,
  () => false,
);

const program = `
import base64, json, os, random, string
import chartwire
from chartwire import Chartwire, JobFailedError, NotFoundError, ValidationError, WebhookVerificationError, verify_webhook

client = Chartwire(
    base_url=os.environ["BASE_URL"],
    client_id=os.environ["CLIENT_ID"],
    client_secret=os.environ["CLIENT_SECRET"],
    access_token=os.environ["ACCESS_TOKEN"],
)
last_name = "Testpatient" + "".join(random.choices(string.ascii_lowercase, k=10))
body = {"first_name": "Python", "last_name": last_name, "dob": "1990-01-31", "sex": "male", "phone": "315-555-0144"}
created = client.patients.create_and_wait(body)
found = client.patients.list(mrn=created["data"]["mrn"]).page["patients"]
filters = {"last_name": "a", "page_size": 10}
searched = [patient["id"] for patient in client.patients.search(filters)]
claims = client.claims.list(page_size=25)
result = {
    "type": created["type"],
    "found": found[0]["last_name"] == last_name,
    "searched": len(searched) > 20 and searched == [patient["id"] for patient in client.patients.list(**filters)],
    "claims": len({claim["id"] for claim in claims}) == claims.page["pagination"]["total_count"],
    "pages": claims.page["pagination"]["total_pages"] > 2,
}

def raised(call):
    try:
        call()
    except Exception as error:
        return error

duplicate = raised(lambda: client.patients.create_and_wait(body))
result["duplicate"] = [type(duplicate).__name__, duplicate.code, duplicate.reasons[0]["code"]]
missing = raised(lambda: client.patients.create({"first_name": "A"}))
result["missing"] = [type(missing).__name__, missing.code, missing.field, len(missing.request_id)]
result["invalid"] = [[each["field"] for each in missing.errors], missing.remedy[-1], missing.doc_url.split("#")[1]]
unknown = raised(lambda: client.for_account("unknown").settings.get())
result["unknown"] = [type(unknown).__name__, str(unknown)]
uploaded = client.documents.create_and_wait({
    "folder_name": "Referrals", "patient_mrn": os.environ["MRN"],
    "document": chartwire.File(base64.b64decode(os.environ["PDF"]), "referral.pdf"),
})
result["uploaded"] = uploaded["type"]

headers, event = json.loads(os.environ["HEADERS"]), os.environ["EVENT"]
result["event"] = verify_webhook(event, headers, ["whsec_AAAA", os.environ["SECRET"]])["type"]
result["forged"] = type(raised(lambda: verify_webhook(event + " ", headers, os.environ["SECRET"]))).__name__
result["old"] = str(raised(lambda: verify_webhook(event, headers, os.environ["SECRET"], tolerance_seconds=-1)))

dry = client.patients.create({**body, "last_name": last_name + "dry"}, dry_run=True)
result["dry"] = [dry["dry_run"], dry["would"][0]["action"]]
cursors = []
followed = {change["id"] for change in client.changes.follow(kinds="patients", save_cursor=cursors.append, until_current=True)}
result["followed"] = created["data"]["patient_id"] in followed and len(cursors) > 0
result["feed"] = len({change["id"] for change in client.changes.list(kinds="patients", limit=50)}) == len(followed)

import asyncio
from chartwire import AsyncChartwire, sign_webhook

received = []
async def main():
    async with AsyncChartwire(on_response=received.append) as own:
        person = {**body, "last_name": last_name + "async"}
        event, others = await asyncio.gather(own.patients.create_and_wait(person), own.providers.list().first())
        found = [each["last_name"] async for each in own.patients.list(mrn=event["data"]["mrn"])]
        walked = len([each async for each in own.claims.list(page_size=25)])
        changes = len([each async for each in own.changes.follow(kinds="patients", until_current=True)])
        try:
            await own.for_account("unknown").settings.get()
        except chartwire.AuthenticationError as error:
            refused = error
        return [event["type"], found == [person["last_name"]], walked == len(list(client.claims.list())), changes > 0,
                len(others["providers"]) > 0, refused.code, repr(own).replace(os.environ["BASE_URL"], "URL")]

os.environ.update(CHARTWIRE_BASE_URL=os.environ["BASE_URL"], CHARTWIRE_CLIENT_ID=os.environ["CLIENT_ID"],
                  CHARTWIRE_CLIENT_SECRET=os.environ["CLIENT_SECRET"], CHARTWIRE_ACCESS_TOKEN=os.environ["ACCESS_TOKEN"])
result["asynchronous"] = asyncio.run(main())
result["hooks"] = any(each.route == "/v1/jobs/{job_id}" and each.status == 200 and each.request_id for each in received)
result["last"] = Chartwire().last_response is None and client.last_response.status == 200
response = repr(client.last_response)
result["response"] = response.startswith("ReceivedResponse(method='") and "status=200" in response and "<" not in response
signed = sign_webhook(event, os.environ["SECRET"])
result["signed"] = verify_webhook(event, signed, os.environ["SECRET"])["type"]
result["shown"] = repr(missing).split(", request_id")[0]

flaky = Chartwire(base_url=os.environ["FLAKY_URL"], client_id="a", client_secret="b", access_token="c")
result["retried"] = flaky.sync.create()["job_id"]
print(json.dumps(result))
`;

test.skipIf(!has_python)('the Python module creates, waits, pages, retries and verifies webhooks', async () => {
  const { sandbox } = await sharedSandbox();
  const flaky = await startFlakyServer([
    { status: 503 },
    'hang up',
    { status: 200, body: { success: true, job_id: 7 } },
  ]);
  const secret = 'whsec_RVhBTVBMRS1FWEFNUExFLUVYQU1QTEUtRVhBTVBMRSE=';
  const event = JSON.stringify({ id: 'e1', object: 'event', type: 'patient.created', data: { mrn: 'LK100001' } });
  const at = new Date();
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: process.env.HOME ?? '',
    PYTHONPATH: folder,
    PYTHONDONTWRITEBYTECODE: '1',
    BASE_URL: sandbox.base_url,
    CLIENT_ID: sandbox.client_id,
    CLIENT_SECRET: sandbox.client_secret,
    ACCESS_TOKEN: sandbox.access_token,
    MRN: sandbox.example.patient_mrn,
    PDF: documents.pdf.toString('base64'),
    FLAKY_URL: flaky.baseUrl,
    SECRET: secret,
    EVENT: event,
    HEADERS: JSON.stringify({
      'Webhook-Id': 'e1',
      'Webhook-Timestamp': String(Math.floor(at.getTime() / 1000)),
      'Webhook-Signature': new Webhook(secret).sign('e1', at, event),
    }),
  };
  const { stdout } = await run('python3', ['-c', program], { env });
  expect(JSON.parse(stdout)).toStrictEqual({
    type: 'patient.created',
    found: true,
    searched: true,
    claims: true,
    pages: true,
    duplicate: ['JobFailedError', 'duplicate_patient', 'duplicate_patient'],
    missing: ['ValidationError', 'missing_field', 'last_name', 32],
    invalid: [['last_name', 'dob', 'sex'], '.', 'missing_field'],
    unknown: [
      'AuthenticationError',
      'User not found. Check access_token: it may belong to another client, or the account was unlinked.',
    ],
    uploaded: 'document.uploaded',
    event: 'patient.created',
    forged: 'WebhookVerificationError',
    old: 'The request is too old, or the clocks differ. Check the clock of this machine.',
    dry: [true, 'create'],
    followed: true,
    feed: true,
    asynchronous: [
      ...['patient.created', true, true, true, true, 'access_token_invalid'],
      `AsyncChartwire(base_url='URL', client_id='${sandbox.client_id}')`,
    ],
    hooks: true,
    last: true,
    response: true,
    signed: 'patient.created',
    shown: "ValidationError('Missing required field: last_name', code='missing_field', status=400, field='last_name'",
    retried: 7,
  });
  expect(flaky.requests).toHaveLength(3);
  expect(new Set(flaky.requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
});
