/** The page before its script has run. Styles that components make as they run carry the nonce. */
export function dashboardPage(nonce: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<meta name="style-nonce" content="${nonce}">
<title>Chartwire</title>
<link rel="icon" href="/dashboard/files/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/dashboard/files/main.css">
<script type="module" src="/dashboard/files/main.js"></script>
</head>
<body>
<div id="root"></div>
<noscript>The dashboard needs JavaScript.</noscript>
</body>
</html>
`;
}
