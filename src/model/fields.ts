import {
  type Static,
  type TObject,
  type TOptional,
  type TProperties,
  type TSchema,
  type TSchemaOptions,
  type TUnsafe,
  Type,
} from 'typebox';

/** The maximum length of strings that declare none. */
export const text_max = 32_000;
/** The maximum length of a client's own ids. They are indexed, and an index entry is limited to 2,700 bytes. */
const own_id_max = 500;
/** A token from an EMR may contain a signed statement of several thousand characters. */
export const credential_max = 8000;

/**
 * A string. It is trimmed before it is checked (http/validate.ts). `messages` replaces the standard message of a rule where the interface
 * prescribes another one; `{name}` stands for the path of the field in the body.
 */
export function text(options: TSchemaOptions & { minLength?: number; maxLength?: number; messages?: Messages } = {}) {
  return Type.String({ maxLength: text_max, ...options });
}

/** A password, token or code, which is not trimmed: blanks may be part of it. */
export function secret(options: Parameters<typeof text>[0] = {}) {
  return text({ ...options, verbatim: true });
}

/** An id that the client chose, for one of its users or organizations. */
export function ownId(description: string) {
  return text({ maxLength: own_id_max, description });
}

export const email = text({
  pattern: '^[^\\s@]+@[^\\s@.]+(\\.[^\\s@.]+)+$',
  messages: { pattern: '{name} must be an email address with a domain, such as name@example.org' },
});

/** Of a rotation. */
export const immediately = Type.Optional(
  Type.Boolean({ description: 'Makes the old one invalid at once instead of after 24 hours. Default: false' }),
);

export type Messages = Partial<Record<'required' | 'minLength' | 'maxLength' | 'pattern' | 'anyOf', string>>;

/**
 * An enum with an explanation of every value. The explanations are part of the OpenAPI document (`x-enumDescriptions`, as
 * several documentation tools read it) and of the client libraries.
 */
export function choices<const Values extends Readonly<Record<string, string>>>(
  values: Values,
  options: TSchemaOptions = {},
) {
  // Object.keys forgets the names. Keys such as 1 are strings at run time.
  return Type.Enum(Object.keys(values) as `${keyof Values & (string | number)}`[], {
    ...options,
    'x-enumDescriptions': values,
  });
}

/** A flag that is sent as the string `true` or `false`, or as a boolean, which is read as that string. */
export function flag(description: string) {
  return Type.Enum(['true', 'false'], { description, takes_boolean: true });
}

/**
 * What a field names: a record that the service has copied from the EMR, by one of the record's fields
 * (`providers.ehr_id`), a free time (`availability.range_start`), or an entry of a code list of the practice's settings (`settings.languages.name`). The dashboard offers
 * them as choices.
 */
export type Reference = `${string}.${string}`;

/** Options of a field that names something that the service knows. */
export function refersTo(...references: Reference[]) {
  return { refers_to: references };
}

/** An optional field that null or "" clears. */
export function clearable<Schema extends TSchema>(schema: Schema) {
  return Type.Optional(Type.Unsafe<Static<Schema> | null>({ ...schema, null_clears: true }));
}

/** A field that may be omitted but must have a value if it is sent. */
export function unclearable<Schema extends TSchema>(schema: Schema) {
  return Type.Optional(Type.Unsafe<Static<Schema>>({ ...schema, needs_value: true }));
}

/** The fields of a record in a request that changes it. All may be left out; null or "" clears the optional ones. */
export function toChanges<Properties extends TProperties>(record: TObject<Properties>): ChangedProperties<Properties> {
  const fields = Object.entries(record.properties).map(([name, schema]) => [
    name,
    Type.IsOptional(schema) ? clearable(schema) : unclearable(schema),
  ]);
  // Object.fromEntries forgets the names.
  return Object.fromEntries(fields) as ChangedProperties<Properties>;
}
type ChangedProperties<Properties extends TProperties> = {
  [Name in keyof Properties]: TOptional<
    TUnsafe<Properties[Name] extends TOptional ? Static<Properties[Name]> | null : Static<Properties[Name]>>
  >;
};

/**
 * Removes whitespace, control characters and invisible characters (such as a zero-width space) from both ends. A loop:
 * a regular expression for the end of a text takes quadratic time on long runs of blanks.
 */
export function trimText(text: string): string {
  const trimmed = text.trim();
  let [start, end] = [0, trimmed.length];
  while (start < end && invisible.test(trimmed.charAt(start))) start += 1;
  while (end > start && invisible.test(trimmed.charAt(end - 1))) end -= 1;
  return trimmed.slice(start, end);
}
const invisible = /[\s\p{Cf}\p{Cc}]/u;

/**
 * A field of a dashboard response that can reveal something about a patient. Its value is hidden from the role
 * `support`.
 */
export function patientDetail<Schema extends TSchema>(schema: Schema) {
  return Type.Unsafe<Static<Schema>>({ ...schema, patient_detail: true });
}

/** The URL of a webhook endpoint. The role `support` sees only its origin: path, query and user info may contain secrets. */
export const webhook_url = Type.Unsafe<string>({ type: 'string', secret_url: true });

export function nullable<Schema extends TSchema>(schema: Schema, options: TSchemaOptions = {}) {
  return Type.Union([schema, Type.Null()], options);
}

/** A calendar date. */
export function day(options: TSchemaOptions = {}) {
  return Type.String({ format: 'date', notation: 'YYYY-MM-DD', ...options });
}

/** Values of an EMR's records. Null if the EMR does not know the value. */
export const emr_value = {
  text: nullable(Type.String()),
  date: nullable(day()),
  number: nullable(Type.Number()),
};

export const id = Type.String({ pattern: '^[0-9a-f]{32}$', notation: 'UUID without hyphens' });
export const date_time = Type.String({ format: 'date-time' });
export const success = Type.Literal(true);
export const activity = choices(
  { active: 'In use', inactive: 'No longer in use' },
  { description: 'Whether the practice still uses it' },
);

/** In the response of a list while the first sync has not read it to its end. */
export const sync_state = Type.Optional(
  Type.Object(
    { state: Type.Literal('pending', { description: 'Always `pending`: the first sync is still running' }) },
    {
      schema_name: 'SyncState',
      description: 'Present until the first sync has read the list to its end; the list is incomplete until then',
      not_in_examples: true,
    },
  ),
);

export const pagination = Type.Object(
  {
    page: numbered('Number of this page, starting at 1'),
    current_page: numbered('Same as page'),
    page_size: Type.Integer({ description: 'Maximum number of records on a page' }),
    total_count: numbered('Number of records on all pages'),
    total_pages: numbered('Number of pages'),
    next_cursor: Type.Optional(
      nullable(
        Type.String({
          description:
            'In a walk by `cursor`: the value of `cursor` for the next page, or null if this is the last one',
        }),
        { not_in_examples: true },
      ),
    ),
  },
  { schema_name: 'Pagination', description: 'Which page this is, and how many there are' },
);

/** A field of pages with a number. */
function numbered(description: string) {
  return Type.Optional(Type.Integer({ description: `${description}. Absent in a walk by \`cursor\`` }));
}

/** The parameters of a range of days. */
export function days(of: string) {
  const { start_date, end_date } = requiredDays(of);
  return { start_date: Type.Optional(start_date), end_date: Type.Optional(end_date) };
}

export function requiredDays(of: string) {
  return {
    start_date: day({ description: `First ${of}, inclusive` }),
    end_date: day({ description: `Last ${of}, inclusive` }),
  };
}

/** The paging parameters of a list, by number or by cursor. */
export function paging(page_size: number, page_size_max: number) {
  return {
    cursor: Type.Optional(
      text({
        maxLength: 1000,
        description:
          'Walks the whole list in the order of IDs, without totals: empty for the first page, then `next_cursor` of the previous one, with the same filters. Not together with `page`',
        not_in_examples: true,
      }),
    ),
    page: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1_000_000, default: 1, description: 'Number of the page, starting at 1' }),
    ),
    page_size: Type.Optional(
      Type.Integer({ minimum: 1, maximum: page_size_max, default: page_size, description: 'Records on a page' }),
    ),
  };
}

/**
 * A date of birth in a request. Nobody alive was born before 1880, so an earlier year is a mistake or a placeholder.
 * Whether it is in the future is checked where the time zone of the practice is known.
 */
export function birthDate(description: string) {
  return day({
    // Only rejects dates: another text gets the message about the form of a date.
    pattern: '^(?!(0\\d|1[0-7])\\d\\d-|18[0-7]\\d-)',
    messages: { pattern: '{name} must not be before 1880-01-01' },
    description: `${description}, from 1880-01-01 to today`,
  });
}

/** States, the District of Columbia, inhabited territories and the three military postal regions. */
const states =
  'AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY DC AS GU MP PR VI AA AE AP'.split(
    ' ',
  );

const anyCase = (code: string) => code.replace(/[A-Z]/g, (letter) => `[${letter}${letter.toLowerCase()}]`);

/** A two-letter abbreviation in any case. */
export const us_state = Type.String({
  pattern: `^(${states.map(anyCase).join('|')})$`,
  messages: { pattern: '{name} must be a two-letter US state abbreviation' },
  notation: 'two-letter US state abbreviation',
});

export const us_zip = Type.String({
  pattern: '^[0-9]{5}(-[0-9]{4})?$',
  messages: { pattern: '{name} must be a ZIP code in the form NNNNN or NNNNN-NNNN' },
  notation: 'NNNNN or NNNNN-NNNN',
});

/** The digits of a phone number without the country code, by which numbers are compared. Empty if it has none. */
export function phoneDigits(phone: string): string {
  return phone.replace(/[^0-9]/g, '').replace(/^1(?=[0-9]{10}$)/, '');
}

/** The elements of a list that is sent as one text, separated by commas. */
export function splitList(list: string): string[] {
  return list
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

export const us_phone = Type.String({
  pattern: '^\\d{3}-\\d{3}-\\d{4}$',
  messages: { pattern: '{name} must be a phone number in the form NNN-NNN-NNNN' },
  notation: 'NNN-NNN-NNNN',
});

/** A number of bytes for people: `1.5 MB`, `340 KB`. Rounded down, because it is a limit. */
export function sizeText(bytes: number): string {
  if (bytes < 1_000_000) return `${Math.floor(bytes / 1000)} KB`;
  return `${Math.floor(bytes / 100_000) / 10} MB`;
}
