export type ScriptPage = {
  title: string;
  icon: string;
  style: string;
  script: string;
  /** More of the head, and attributes of the two elements, written by us and safe as they are. */
  head?: string;
  html?: string;
  body?: string;
  root: string;
  /** Told to a browser without scripts. */
  without_script: string;
};

/** A page before its script has run: nothing in it but where it will be. */
export function scriptPage({
  title,
  icon,
  style,
  script,
  head = '',
  html = 'lang="en"',
  body = '',
  root,
  without_script,
}: ScriptPage): string {
  return `<!doctype html>
<html ${html}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
${head}<title>${title}</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="${style}">
<script type="module" src="${script}"></script>
</head>
<body${body}>
${root}
<noscript><p>${without_script}</p></noscript>
</body>
</html>
`;
}
