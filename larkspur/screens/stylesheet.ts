import { tab_ids } from './html.ts';

/** The stylesheet of the screens, as a module so that the build need not copy it. */
export const stylesheet = `
:root {
  color-scheme: light dark;
  --ground: #eef2f5; --surface: #ffffff; --raised: #f7f9fb; --line: #d3dbe2; --edge: #6f7d8b; --stripe: #e6ebf0;
  --text: #16222d; --muted: #4d5b69; --accent: #1f5788; --on-accent: #ffffff; --head: #17324a; --on-head: #ffffff; --head-muted: #bcd0e2;
  --new: #0b6347; --new-ground: #ddf3e9; --target: #fff4c7; --entry: #e7f0f8; --now: #c22f1f;
  --tag: #8a2f0c; --tag-ground: #fdeee6; --alert: #8c1d18; --alert-ground: #fdecea;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0d141b; --surface: #17212b; --raised: #1d2935; --line: #2e3b48; --edge: #8494a3; --stripe: #111a23;
    --text: #e7edf2; --muted: #a9b6c2; --accent: #8fc1ea; --on-accent: #0d1a26; --head: #101b26; --on-head: #e7edf2; --head-muted: #a9b6c2;
    --new: #8fe0c0; --new-ground: #123a2d; --target: #3d3612; --entry: #1f3244; --now: #ff8a7a;
    --tag: #ffc6a8; --tag-ground: #43281a; --alert: #ffb9b2; --alert-ground: #43201d;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--text);
  font: 0.875rem/1.45 "Segoe UI", "Source Sans 3", "Noto Sans", "Liberation Sans", "Helvetica Neue", sans-serif;
}
a { color: var(--accent); text-underline-offset: 0.15em; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
main:focus { outline: none; }
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: 0.5rem; background: var(--surface); padding: 0.5rem 1rem; z-index: 9; }
.bar { display: flex; flex-wrap: wrap; align-items: center; gap: 0.25rem 1.25rem; padding: 0.35rem 1.25rem; background: var(--head); color: var(--on-head); }
.bar a { color: inherit; }
.bar :focus-visible { outline-color: var(--on-head); }
.brand { display: flex; align-items: center; gap: 0.5rem; font-weight: 650; text-decoration: none; font-size: 1rem; min-height: 2rem; }
.practice { color: var(--head-muted); }
.bar nav { display: flex; gap: 0.25rem; margin-left: auto; }
.bar nav a { padding: 0.3rem 0.6rem; text-decoration: none; border-radius: 5px; }
.bar nav a:hover { background: rgb(255 255 255 / 0.14); }
.who { display: flex; align-items: center; gap: 0.75rem; }
.who .quiet { color: var(--on-head); border-color: var(--head-muted); }
main { max-width: 64rem; margin: 0 auto; padding: 1rem 1.25rem; }
main.wide { max-width: 100rem; }
footer { max-width: 100rem; margin: 0 auto; padding: 0 1.25rem 1.5rem; color: var(--muted); font-size: 0.8125rem; }
h1 { font-size: 1.3rem; line-height: 1.25; margin: 0 0 0.75rem; }
h2 { font-size: 0.9375rem; margin: 0 0 0.5rem; }
h3 { font-size: 0.875rem; margin: 0; }
h4 { font-size: 0.8125rem; margin: 0.6rem 0 0.2rem; color: var(--muted); }
.card { background: var(--surface); border: 1px solid var(--line); border-radius: 6px; padding: 0.75rem 1rem; margin: 0 0 0.75rem; }
.narrow { max-width: 27rem; }
main > .narrow:first-child { margin: 2.5rem auto; padding: 1.25rem; }
.card > .alert:first-child { margin-top: 0; }
.narrow h1 { margin-bottom: 0.5rem; }
label { display: block; font-weight: 600; margin: 0.75rem 0 0.25rem; }
input, select {
  width: 100%; font: inherit; color: inherit; background: var(--surface); padding: 0.3rem 0.55rem;
  border: 1px solid var(--edge); border-radius: 5px; min-height: 2.125rem;
}
input[aria-invalid] { border: 2px solid var(--alert); }
button, .button {
  font: inherit; font-weight: 600; color: var(--on-accent); background: var(--accent); border: 1px solid var(--accent);
  border-radius: 5px; padding: 0.35rem 0.8rem; min-height: 2.125rem; cursor: pointer; text-decoration: none; display: inline-block;
}
form > button { margin-top: 1rem; }
form > .row { margin-top: 1rem; }
.quiet { color: var(--accent); background: transparent; border-color: var(--edge); }
.who .quiet { margin: 0; padding: 0.1rem 0.7rem; min-height: 1.75rem; }
.row { display: flex; gap: 0.5rem; }
.search { margin-bottom: 0.75rem; }
.search .row { margin-top: 0; }
.search input { max-width: 26rem; }
.search button { margin: 0; }
.search > .row { flex-wrap: wrap; }
.hint, .muted { color: var(--muted); }
.hint, .field-error { font-size: 0.8125rem; margin: 0.25rem 0 0; }
.field-error { color: var(--alert); font-weight: 600; }
.alert { color: var(--alert); background: var(--alert-ground); border-left: 4px solid var(--alert); padding: 0.5rem 0.75rem; margin: 0 0 0.75rem; }
.code { font-family: ui-monospace, "Liberation Mono", monospace; font-size: 1.05rem; letter-spacing: 0.12em; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; min-width: 44rem; }
th, td { text-align: left; vertical-align: top; padding: 0.35rem 1rem 0.35rem 0; border-bottom: 1px solid var(--line); }
tbody tr:last-child > * { border-bottom: 0; }
tbody tr:hover > * { background: var(--raised); }
thead th { font-size: 0.8125rem; color: var(--muted); font-weight: 600; white-space: nowrap; }
tbody th { font-weight: 500; }
.nowrap { white-space: nowrap; }
td { overflow-wrap: break-word; max-width: 22rem; }
td:last-child, th:last-child { padding-right: 0; }
.pages { display: flex; gap: 1.25rem; align-items: center; }
.columns { display: flex; flex-wrap: wrap; gap: 0.75rem; }
.crumb { margin: 0 0 0.25rem; font-size: 0.8125rem; }
.facts { display: flex; flex-wrap: wrap; gap: 0.1rem 1rem; color: var(--muted); margin: 0; }
.facts-list { display: grid; grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr)); gap: 0.5rem 1.25rem; margin: 0.25rem 0 0; }
dt { font-size: 0.8125rem; color: var(--muted); }
dd { margin: 0; overflow-wrap: anywhere; }
.facts-list + .scroll { margin-top: 0.6rem; }
.folder { margin: 0.75rem 0 0.25rem; }
.encounter { border-top: 1px solid var(--line); padding: 0.75rem 0; }
.encounter:first-of-type { border-top: 0; padding-top: 0.25rem; }
.encounter:last-of-type { padding-bottom: 0; }
.encounter > p { margin: 0; }
.encounter h3 .muted { font-weight: 400; font-size: 0.8125rem; }
.tag { font-size: 0.8125rem; color: var(--tag); background: var(--tag-ground); border-radius: 4px; padding: 0.05rem 0.45rem; display: inline-block; }
.new { font-size: 0.75rem; font-weight: 650; white-space: nowrap; color: var(--new); background: var(--new-ground); border-radius: 4px; padding: 0 0.4rem; display: inline-block; }
blockquote { margin: 0.5rem 0; padding: 0.1rem 0 0.1rem 0.75rem; border-left: 3px solid var(--line); white-space: pre-wrap; overflow-wrap: anywhere; }
.fields { flex-wrap: wrap; align-items: flex-end; }
.fields label { margin-top: 0; }
.fields > div { flex: 1 1 12rem; max-width: 26rem; }
input[type="date"] { max-width: 10rem; }
.log { margin: 0; padding-left: 1.25rem; }
.log li { margin-bottom: 0.35rem; white-space: pre-wrap; overflow-wrap: anywhere; }

/* The chart: the banner and the tabs stay while the page scrolls. */
.chart-top { position: sticky; top: 0; z-index: 3; margin: -1rem -1.25rem 0.75rem; padding: 0.6rem 1.25rem 0; background: var(--surface); border-bottom: 1px solid var(--line); box-shadow: 0 2px 6px rgb(0 0 0 / 0.07); }
.banner { display: flex; flex-wrap: wrap; gap: 0.4rem 2rem; align-items: center; justify-content: space-between; }
.banner h1 { margin: 0; }
.banner dl { display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem; margin: 0; }
.tabs ul { display: flex; gap: 0.1rem; margin: 0.45rem 0 0; padding: 0; list-style: none; overflow-x: auto; }
.tabs a { display: block; padding: 0.4rem 0.75rem; white-space: nowrap; text-decoration: none; color: var(--muted); border-bottom: 3px solid transparent; }
.tabs a:hover { color: var(--text); border-bottom-color: var(--line); }
.tab { scroll-margin-top: 30rem; }
.card[id] { scroll-margin-top: 9rem; }
.card[id] > .scroll { max-height: 34rem; overflow-y: auto; }
.card[id] > .scroll thead th { position: sticky; top: 0; background: var(--surface); z-index: 1; }
@supports selector(:has(a)) {
  @media screen {
    .tab { display: none; }
    .tab:target, .tab:has(:target), .chart:not(:has(:target)) .chart-top + .tab { display: block; }
  }
}
.chart:not(:has(:target)) .tabs li:first-child a,
${tab_ids.map((id) => `.chart:has(#${id}:target, #${id} :target) .tabs a[href="#${id}"]`).join(',\n')} {
  color: var(--accent); border-bottom-color: var(--accent); font-weight: 650;
}
.summary { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: 0.75rem; margin-bottom: 0.75rem; }
.summary .card { margin: 0; }
.summary ul { margin: 0; padding: 0; list-style: none; }
.summary li { padding: 0.25rem 0; border-top: 1px solid var(--line); }
.summary li:first-child { border-top: 0; }
.summary p { margin: 0; }
.actions { display: flex; flex-wrap: wrap; gap: 0.5rem; margin: 0 0 0.75rem; }

/* What a link names, such as the entry that an application has just written. */
:target:not(main, section, .tab) { background: var(--target); box-shadow: 0 0 0 4px var(--target), 0 0 0 6px var(--new); border-radius: 4px; scroll-margin: 10rem 0 4rem; }
tr:target { box-shadow: none; outline: 2px solid var(--new); outline-offset: -2px; }

/* The schedule: one column per provider, 8 px for five minutes. */
.day-bar { display: flex; flex-wrap: wrap; align-items: center; gap: 0.4rem 1.5rem; }
.day-bar h1, .day-bar p, .day-bar label { margin: 0; }
.day-bar input { width: auto; }
.day-bar .row { align-items: center; margin-left: auto; }
.day { display: flex; overflow: auto; max-height: calc(100vh - 9rem); min-height: 20rem; background: var(--surface); border: 1px solid var(--line); border-radius: 6px; }
.day .column { flex: 1 0 11rem; min-width: 0; }
.column .slots, .column .column-head { border-left: 1px solid var(--line); }
.day .hours { position: sticky; left: 0; z-index: 3; flex: 0 0 3.25rem; background: var(--surface); font-size: 0.75rem; color: var(--muted); }
.column-head { position: sticky; top: 0; z-index: 2; height: 3.9rem; margin: 0; padding: 0.3rem 0.5rem; background: var(--raised); border-bottom: 1px solid var(--line); font-size: 0.8125rem; line-height: 1.3; overflow: hidden; }
.column-head .muted { display: block; font-weight: 400; white-space: nowrap; }
.slots { display: grid; grid-template-columns: repeat(12, minmax(0, 1fr)); grid-auto-rows: 8px; margin: 0; padding: 0; list-style: none; background: repeating-linear-gradient(var(--line) 0 1px, transparent 1px 48px, var(--stripe) 48px 49px, transparent 49px 96px); }
.hours .slots { background: none; }
.hours .slots span { grid-column: 1 / -1; padding: 0 0.4rem; text-align: right; }
.entry { position: relative; overflow: hidden; margin: 1px 2px 1px 1px; padding: 0 0.4rem; font-size: 0.75rem; line-height: 1.25; border-left: 3px solid var(--accent); background: var(--entry); border-radius: 3px; overflow-wrap: anywhere; }
.entry a { color: var(--text); font-weight: 600; text-decoration: none; }
.entry a::after { content: ""; position: absolute; inset: 0; }
.entry a:hover { text-decoration: underline; }
.entry .time { font-variant-numeric: tabular-nums; }
.entry .muted { display: block; }
.entry.inactive { border-left-style: dotted; background: var(--raised); }
.entry.inactive a, .entry.inactive .muted { text-decoration: line-through; color: var(--muted); font-weight: 400; }
.entry.status-ARR, .entry.status-CHK { border-left-color: var(--new); background: var(--new-ground); }
.entry.block { border-left-color: var(--edge); background: repeating-linear-gradient(135deg, var(--raised) 0 6px, var(--stripe) 6px 12px); }
.for-1 .muted, .for-2 .muted, .for-3 .muted { display: none; }
.entry:target { z-index: 1; }
.now { grid-column: 1 / -1; height: 0; border-top: 2px solid var(--now); z-index: 1; pointer-events: none; }
${schedulePositions()}
@media (max-width: 70rem) {
  .practice { display: none; }
}
@media (max-width: 48rem) {
  .bar { padding: 0.35rem 0.75rem; }
  .bar nav { order: 1; width: 100%; margin: 0; overflow-x: auto; white-space: nowrap; }
  .who { margin-left: auto; }
  main { padding: 0.75rem; }
  .chart-top { margin: -0.75rem -0.75rem 0.75rem; padding: 0.4rem 0.75rem 0; }
  .banner h1 { font-size: 1.1rem; }
  .banner dl dt { display: inline; margin-right: 0.3rem; }
  .banner dl dd { display: inline; }
  .banner .wide-only { display: none; }
  :target:not(main, section, .tab) { scroll-margin-top: 14rem; }
  .facts-list { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .day-bar .row { margin-left: 0; }
  .day { max-height: none; }
}
`;

/** Classes for times and lengths in steps of five minutes, whole hours, and the lanes of overlapping entries. */
function schedulePositions(): string {
  const steps = Array.from({ length: 24 * 12 }, (_, index) => index);
  const lanes = [1, 2, 3, 4].flatMap((count) => {
    const width = 12 / count;
    const pairs = Array.from(
      { length: count * count },
      (_, n) => [Math.floor(n / count) + 1, (n % count) + 1] as const,
    );
    return pairs
      .filter(([first, last]) => first <= last)
      .map(
        ([first, last]) =>
          `.lanes-${first}-to-${last}-of-${count} { grid-column: ${(first - 1) * width + 1} / ${last * width + 1}; }`,
      );
  });
  return [
    ...steps.map((step) => `.at-${step} { grid-row-start: ${step + 1}; }`),
    ...steps.map((step) => `.for-${step + 1} { grid-row-end: span ${step + 1}; }`),
    ...Array.from({ length: 24 }, (_, index) => `.hours-${index + 1} { height: ${(index + 1) * 96}px; }`),
    ...lanes,
  ].join('\n');
}

export const logo = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 28 28">
<g fill="#4a6fb5"><ellipse cx="14" cy="7" rx="4" ry="6"/><ellipse cx="21" cy="13" rx="6" ry="4"/><ellipse cx="18" cy="21" rx="4.5" ry="5"/>
<ellipse cx="10" cy="21" rx="4.5" ry="5"/><ellipse cx="7" cy="13" rx="6" ry="4"/></g><circle cx="14" cy="14.5" r="3.5" fill="#f1c94b"/></svg>`;
