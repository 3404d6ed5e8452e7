/** The stylesheet of the screens, as a module so that the build need not copy it. */
export const stylesheet = `
:root {
  color-scheme: light dark;
  --ground: #f4f6f8; --surface: #ffffff; --line: #d5dce3; --edge: #6f7d8b;
  --text: #1b2733; --muted: #536170; --accent: #285a86; --on-accent: #ffffff;
  --new: #0b6347; --new-ground: #e1f4ec; --target: #fff6d6;
  --tag: #8a2f0c; --tag-ground: #fdeee6; --alert: #8c1d18; --alert-ground: #fdecea;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #10171e; --surface: #18212a; --line: #2d3944; --edge: #8494a3;
    --text: #e7edf2; --muted: #a9b6c2; --accent: #8fc1ea; --on-accent: #0d1a26;
    --new: #8fe0c0; --new-ground: #123a2d; --target: #3a3312;
    --tag: #ffc6a8; --tag-ground: #43281a; --alert: #ffb9b2; --alert-ground: #43201d;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--text);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif;
}
a { color: var(--accent); text-underline-offset: 0.15em; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
main:focus { outline: none; }
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: 0.5rem; background: var(--surface); padding: 0.5rem 1rem; z-index: 1; }
.bar {
  display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem 1.5rem; padding: 0.6rem 1.5rem;
  background: var(--surface); border-bottom: 1px solid var(--line);
}
.brand { display: flex; align-items: center; gap: 0.5rem; font-weight: 650; color: inherit; text-decoration: none; }
.practice { color: var(--muted); }
.bar nav { display: flex; gap: 1.25rem; margin-left: auto; }
.bar nav a { padding: 0.25rem 0; }
.who { display: flex; align-items: center; gap: 0.75rem; }
main { max-width: 68rem; margin: 0 auto; padding: 1.5rem; }
main.wide { max-width: 100rem; }
footer { max-width: 68rem; margin: 0 auto; padding: 0 1.5rem 2rem; color: var(--muted); font-size: 0.875rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 1rem; }
h2 { font-size: 1.15rem; margin: 0 0 0.75rem; }
h3 { font-size: 1rem; margin: 0; }
h4 { font-size: 0.875rem; margin: 0.75rem 0 0.25rem; color: var(--muted); }
.card { background: var(--surface); border: 1px solid var(--line); border-radius: 8px; padding: 1.25rem; margin: 0 0 1.25rem; }
.narrow { max-width: 27rem; }
main > .narrow:first-child { margin: 2.5rem auto; }
.card > .alert:first-child { margin-top: 0; }
.narrow h1 { margin-bottom: 0.5rem; }
label { display: block; font-weight: 600; margin: 1rem 0 0.3rem; }
input, select {
  width: 100%; font: inherit; color: inherit; background: var(--surface); padding: 0.5rem 0.65rem;
  border: 1px solid var(--edge); border-radius: 6px; min-height: 2.75rem;
}
input[aria-invalid] { border: 2px solid var(--alert); }
button, .button {
  font: inherit; font-weight: 600; color: var(--on-accent); background: var(--accent); border: 1px solid var(--accent);
  border-radius: 6px; padding: 0.55rem 1.1rem; min-height: 2.75rem; cursor: pointer; text-decoration: none; display: inline-block;
}
form > button { margin-top: 1.25rem; }
form > .row { margin-top: 1.25rem; }
.quiet { color: var(--accent); background: transparent; border-color: var(--edge); }
.who .quiet { margin: 0; padding: 0.2rem 0.8rem; min-height: 2.25rem; }
.row { display: flex; gap: 0.75rem; }
.search { margin-bottom: 1rem; }
.search .row { margin-top: 0; }
.search input { max-width: 26rem; }
.search button { margin: 0; }
.hint, .muted { color: var(--muted); }
.hint, .field-error { font-size: 0.875rem; margin: 0.25rem 0 0; }
.field-error { color: var(--alert); font-weight: 600; }
.alert { color: var(--alert); background: var(--alert-ground); border-left: 4px solid var(--alert); padding: 0.65rem 0.9rem; margin: 1rem 0; }
.code { font-family: ui-monospace, "Liberation Mono", monospace; font-size: 1.15rem; letter-spacing: 0.12em; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; min-width: 44rem; }
th, td { text-align: left; vertical-align: top; padding: 0.5rem 1rem 0.5rem 0; border-bottom: 1px solid var(--line); }
tbody tr:last-child > * { border-bottom: 0; }
thead th { font-size: 0.875rem; color: var(--muted); font-weight: 600; white-space: nowrap; }
tbody th { font-weight: 500; }
.nowrap { white-space: nowrap; }
td { overflow-wrap: break-word; max-width: 22rem; }
td:last-child, th:last-child { padding-right: 0; }
.pages { display: flex; gap: 1.25rem; align-items: center; }
.chart-head { display: flex; flex-wrap: wrap; gap: 1rem; justify-content: space-between; align-items: flex-end; margin-bottom: 1.25rem; }
.chart-head h1, .chart-head p { margin: 0; }
.parts { position: sticky; top: 0; z-index: 1; margin: 0 0 1.25rem; background: var(--ground); border-bottom: 1px solid var(--line); }
.parts ul { display: flex; flex-wrap: wrap; gap: 0 1.25rem; margin: 0; padding: 0.35rem 0; list-style: none; font-size: 0.9375rem; }
.parts a { display: inline-block; padding: 0.25rem 0; }
.card[id] { scroll-margin-top: 6.5rem; }
/* A long table scrolls in its own box, so that the parts below it stay within reach. */
.card[id] > .scroll { max-height: 30rem; overflow-y: auto; }
.card[id] > .scroll thead th { position: sticky; top: 0; background: var(--surface); }
@media (max-width: 70rem) {
  .practice { display: none; }
}
@media (max-width: 48rem) {
  .bar { padding: 0.6rem 1rem; }
  .bar nav { order: 1; width: 100%; margin: 0; overflow-x: auto; white-space: nowrap; }
  .who { margin-left: auto; }
  main { padding: 1rem; }
  .parts ul { flex-wrap: nowrap; overflow-x: auto; white-space: nowrap; }
  .card[id] { scroll-margin-top: 4rem; }
}
.crumb { margin: 0 0 0.25rem; font-size: 0.875rem; }
.facts { display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem; color: var(--muted); }
.facts-list { display: grid; grid-template-columns: repeat(auto-fill, minmax(14rem, 1fr)); gap: 0.75rem 1.5rem; margin: 0.5rem 0 0; }
@media (max-width: 48rem) {
  .facts-list { grid-template-columns: repeat(2, minmax(0, 1fr)); }
}
dt { font-size: 0.875rem; color: var(--muted); }
dd { margin: 0; overflow-wrap: anywhere; }
.encounter { border-top: 1px solid var(--line); padding: 1rem 0; }
.encounter:first-of-type { border-top: 0; padding-top: 0; }
.encounter:last-of-type { padding-bottom: 0; }
.encounter > p { margin: 0; }
.encounter h3 .muted { font-weight: 400; font-size: 0.875rem; }
.tag { font-size: 0.8125rem; color: var(--tag); background: var(--tag-ground); border-radius: 4px; padding: 0.1rem 0.5rem; }
blockquote { margin: 0.6rem 0; padding: 0.1rem 0 0.1rem 0.9rem; border-left: 3px solid var(--line); white-space: pre-wrap; overflow-wrap: anywhere; }
.fields { flex-wrap: wrap; align-items: flex-end; }
.fields label { margin-top: 0; }
.fields > div { flex: 1 1 12rem; max-width: 26rem; }
input[type="date"] { max-width: 12rem; }
.search > .row { flex-wrap: wrap; }
.facts-list + .scroll { margin-top: 0.75rem; }
.folder { margin: 1rem 0 0.25rem; }
.grid { min-width: 70rem; table-layout: fixed; }
.grid th:first-child { width: 4.5rem; }
.grid thead th { white-space: normal; }
.grid td, .grid th { padding: 0.35rem 0.4rem; border-left: 1px solid var(--line); }
.grid tr > :first-child { border-left: 0; }
.entry { margin: 0 0 0.35rem; padding: 0.3rem 0.5rem; font-size: 0.875rem; line-height: 1.35; border-left: 3px solid var(--accent); background: var(--ground); border-radius: 4px; overflow-wrap: anywhere; }
.entry:last-child { margin-bottom: 0; }
.entry a { display: inline-block; min-height: 24px; }
.entry.inactive { border-left-style: dotted; text-decoration: line-through; }
.entry.block { border-left-color: var(--edge); border-left-style: double; }
.new { font-size: 0.8125rem; font-weight: 600; white-space: nowrap; color: var(--new); background: var(--new-ground); border-radius: 4px; padding: 0.1rem 0.5rem; text-decoration: none; display: inline-block; }
:target:not(main, section) { background: var(--target); box-shadow: 0 0 0 6px var(--target), 0 0 0 8px var(--new); border-radius: 4px; scroll-margin-top: 8rem; }
tr:target { box-shadow: none; outline: 2px solid var(--new); outline-offset: -2px; }
.log { margin: 0; padding-left: 1.25rem; }
.log li { margin-bottom: 0.35rem; white-space: pre-wrap; overflow-wrap: anywhere; }
`;

export const logo = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 28 28">
<g fill="#4a6fb5"><ellipse cx="14" cy="7" rx="4" ry="6"/><ellipse cx="21" cy="13" rx="6" ry="4"/><ellipse cx="18" cy="21" rx="4.5" ry="5"/>
<ellipse cx="10" cy="21" rx="4.5" ry="5"/><ellipse cx="7" cy="13" rx="6" ry="4"/></g><circle cx="14" cy="14.5" r="3.5" fill="#f1c94b"/></svg>`;
