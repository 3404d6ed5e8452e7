import { Alert, Anchor, Button, Checkbox, Group, List, SimpleGrid, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { type FormEvent, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { ErrorAlert } from '../../parts/errors.tsx';
import { fieldLabel } from '../../parts/labels.ts';
import { BackLink, PageTitle, Section } from '../../parts/layout.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { showToast } from '../../parts/Toasts.tsx';
import { ApiError, call, type ResponseOf } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { useAction, useQuery } from '../../service/queries.ts';
import { EditInput } from './EditInput.tsx';
import {
  type EditField,
  type EditForm,
  type EditValues,
  FieldProblem,
  listFieldErrors,
  toRequest,
  toValues,
} from './editForm.ts';
import { ExistingChart } from './JobNotice.tsx';
import { describeFailure, typeLabel } from './labels.ts';

/** The request of a failed job as a form, which is sent as a new write. */
export function EditJobPage({ job_id }: { job_id: string }) {
  const { client_id } = useClient();
  const query = useQuery('jobs.edit.form', { client_id, job_id });
  const type = query.data?.form.type;
  return (
    <>
      <BackLink href={`/${job_id}`}>{`Job ${job_id}`}</BackLink>
      <PageTitle subtitle={type && `${typeLabel(type)} · Job ${job_id}`}>Edit and send again</PageTitle>
      <QueryResult query={query}>{({ form }) => <Editor form={form} />}</QueryResult>
    </>
  );
}

type DryRun = ResponseOf<'jobs.edit.dry-run'>['result'];

function Editor({ form: loaded }: { form: EditForm }) {
  // A form that is being filled in does not follow the server.
  const [form] = useState(loaded);
  const { job_id, fields, emr, saved_steps } = form;
  const { client_id } = useClient();
  const [, navigate] = useLocation();
  // Of this form: if it is sent twice, it is accepted once.
  const [key] = useState(() => crypto.randomUUID());
  const [confirmed, setConfirmed] = useState(false);
  const inputs = useForm<EditValues>({ initialValues: toValues(fields) });
  const params = { client_id, job_id: String(job_id) };
  const readRequest = () => toRequest(fields, inputs.values);

  const showErrors = (error: unknown) => {
    if (error instanceof FieldProblem) inputs.setErrors({ [error.field]: error.message });
    else if (error instanceof ApiError) inputs.setErrors(listFieldErrors(error));
    throw error instanceof FieldProblem
      ? new ApiError(400, { code: 'invalid_field', message: error.message, field: error.field })
      : error;
  };
  const dryRun = useAction(async () => {
    inputs.clearErrors();
    try {
      return await call('jobs.edit.dry-run', params, { body: { request: readRequest() } });
    } catch (error) {
      return showErrors(error);
    }
  });
  const send = useAction(async () => {
    inputs.clearErrors();
    try {
      const body = { request: readRequest(), key, ...(saved_steps.length > 0 && { send_saved_again: confirmed }) };
      return await call('jobs.edit.create', params, { body });
    } catch (error) {
      return showErrors(error);
    }
  });
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    dryRun.reset();
    send.mutate(undefined, {
      onSuccess: ({ job_id: created }) => {
        showToast(`Sent as job ${created}.`);
        navigate(`/${created}`);
      },
    });
  };
  const error = send.error ?? dryRun.error;
  const changed = fields.filter(({ name }) => inputs.isDirty(name));
  return (
    <form onSubmit={onSubmit} noValidate>
      <Stack>
        <Problem form={form} />
        <Section title="Request">
          <Inputs
            fields={fields}
            render={(field) => (
              <EditInput
                key={field.name}
                field={field}
                job_id={job_id}
                emr={emr}
                value={inputs.values[field.name] ?? ''}
                onChange={(value) => {
                  inputs.setFieldValue(field.name, value);
                  if (value.length > 0) for (const other of field.instead_of) inputs.setFieldValue(other, '');
                }}
                error={inputs.errors[field.name] === undefined ? undefined : String(inputs.errors[field.name])}
                readRequest={() => ({ ...inputs.values })}
              />
            )}
          />
        </Section>
        {saved_steps.length > 0 && (
          <Alert color="yellow" title={`A part of this request is saved in ${emr} already`}>
            <Text size="sm" mb="xs">
              {saved_steps.map(fieldLabel).join(', ')}. The new write does not know of it and saves it a second time.
              Remove the duplicate in {emr} first, or run the job again instead, which writes only what is missing.
            </Text>
            <Checkbox
              checked={confirmed}
              onChange={(event) => setConfirmed(event.currentTarget.checked)}
              label={`It may be saved a second time in ${emr}`}
            />
          </Alert>
        )}
        {error && Object.keys(inputs.errors).length === 0 && <ErrorAlert error={error} />}
        {error && Object.keys(inputs.errors).length > 0 && (
          <Alert color="red" role="alert">
            Nothing was sent. Correct the marked {Object.keys(inputs.errors).length === 1 ? 'field' : 'fields'}:{' '}
            {Object.keys(inputs.errors).map(fieldLabel).join(', ')}.
          </Alert>
        )}
        {dryRun.data && <DryRunResult result={dryRun.data.result} emr={emr} />}
        <Group justify="space-between" className="edit-actions">
          <Text size="sm" c="dimmed" aria-live="polite">
            {changed.length === 0
              ? 'Nothing is changed yet.'
              : `Changed: ${changed.map(({ name }) => fieldLabel(name)).join(', ')}`}
          </Text>
          <Group gap="xs">
            <Button component={Link} href={`/${job_id}`} variant="default">
              Cancel
            </Button>
            <Button variant="default" loading={dryRun.isPending} onClick={() => dryRun.mutate(undefined)}>
              Dry run
            </Button>
            <Button type="submit" loading={send.isPending} disabled={saved_steps.length > 0 && !confirmed}>
              Send again
            </Button>
          </Group>
        </Group>
      </Stack>
    </form>
  );
}

/** What the EMR said, in its own words. */
function Problem({ form: { error, existing_patient } }: { form: EditForm }) {
  if (!error) return null;
  const { label, remedy } = describeFailure(error.code);
  return (
    <Alert color="red" title={error.message || label}>
      <Text size="sm">{remedy}</Text>
      <ExistingChart chart={existing_patient} />
      <Text size="sm" c="dimmed" mt={4}>
        Sending creates a new write with its own job and event. It passes the same checks as a request of the
        application, and this job links to it.
      </Text>
    </Alert>
  );
}

/** Fields with a value, required ones and those that the EMR complained about; the others on request. */
function Inputs({ fields, render }: { fields: readonly EditField[]; render: (field: EditField) => React.ReactNode }) {
  const [all, setAll] = useState(false);
  const [first] = useState(() => new Set(fields.filter(isOfInterest).map(({ name }) => name)));
  const rest = fields.filter(({ name }) => !first.has(name));
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md" verticalSpacing="md">
        {fields.filter(({ name }) => first.has(name)).map(render)}
        {all && rest.map(render)}
      </SimpleGrid>
      {rest.length > 0 && !all && (
        <Anchor component="button" type="button" size="sm" mt="md" onClick={() => setAll(true)}>
          {rest.length === 1 ? 'Show 1 empty field' : `Show ${rest.length} empty fields`}
        </Anchor>
      )}
    </>
  );
}

function isOfInterest({ required, value, cleared, accepted, instead_of }: EditField): boolean {
  const empty = value === null || value === '' || (Array.isArray(value) && value.length === 0);
  return required || cleared || accepted.length > 0 || instead_of.length > 0 || !empty;
}

function DryRunResult({ result: { would, emr_checked }, emr }: { result: DryRun; emr: string }) {
  const fails = would.filter(({ action }) => action === 'fail');
  if (fails.length > 0) {
    return (
      <Alert color="red" role="status" title="Dry run: it would fail again">
        <List size="sm">
          {fails.flatMap(({ reasons }) =>
            reasons.map(({ description }) => <List.Item key={description}>{description}</List.Item>),
          )}
        </List>
      </Alert>
    );
  }
  return (
    <Alert
      color={emr_checked ? 'green' : 'yellow'}
      role="status"
      title={emr_checked ? 'Dry run: it would succeed' : `Dry run: ${emr} could not be asked`}
    >
      <Text size="sm">Nothing was sent. It would:</Text>
      <List size="sm">
        {would.map(({ action, resource, field, before, after }, n) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the list does not change.
          <List.Item key={n}>
            {action} {resource.replaceAll('_', ' ')}
            {field !== undefined && `: ${fieldLabel(field)} from ${before ?? 'empty'} to ${after ?? 'empty'}`}
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}
