export type ShellPage = {
  title: string;
  icon: string;
  style: string;
  script: string;
  /** Additional head elements and attributes. They are inserted as they are and must be safe HTML. */
  head?: string;
  html?: string;
  body?: string;
  root: string;
  /** Shown in a browser without JavaScript. */
  without_script: string;
};

/** An HTML page without content; its script renders everything. */
export function shellPage({
  title,
  icon,
  style,
  script,
  head = '',
  html = 'lang="en"',
  body = '',
  root,
  without_script,
}: ShellPage): string {
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
