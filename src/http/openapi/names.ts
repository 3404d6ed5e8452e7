/** Names of operations, events and codes in the style of a programming language. */

/** `patient.created`, `rate_limited` → `PatientCreated`, `RateLimited`. */
export function pascalCase(name: string): string {
  return name.replace(/(?:^|[._-])(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** `telephone-encounters` → `telephoneEncounters`. */
export function camelCase(name: string): string {
  const pascal = pascalCase(name);
  return pascal.charAt(0).toLowerCase() + pascal.slice(1);
}

/** `telephone-encounters` → `telephone_encounters`. */
export function snakeCase(name: string): string {
  return name.replaceAll('-', '_');
}
