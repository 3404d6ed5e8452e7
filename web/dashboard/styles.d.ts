// Style sheets are bundled; what they export is of no use to code.
declare module '*.css';
