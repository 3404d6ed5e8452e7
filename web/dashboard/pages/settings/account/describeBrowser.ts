/** The first match counts: most browsers also name those that they are compatible with. */
const browsers: [RegExp, string][] = [
  [/Edg(e|A|iOS)?\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\/|FxiOS\//, 'Firefox'],
  [/Chrome\/|CriOS\/|Chromium\//, 'Chrome'],
  [/Safari\//, 'Safari'],
];
const systems: [RegExp, string][] = [
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/CrOS/, 'ChromeOS'],
  [/Linux/, 'Linux'],
];

/** A browser and its system, such as “Firefox on Windows”, from the User-Agent header. */
export function describeBrowser(user_agent: string): string {
  const find = (list: [RegExp, string][]) => list.find(([pattern]) => pattern.test(user_agent))?.[1];
  return [find(browsers) ?? 'Unknown browser', find(systems)].filter((part) => part !== undefined).join(' on ');
}
