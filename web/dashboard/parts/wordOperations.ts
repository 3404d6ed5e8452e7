/** Operations of a connector as people read them: `createAppointment` is `create appointment`. */
export function wordOperations(names: readonly string[]): string {
  return names.map((name) => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)).join(', ');
}
