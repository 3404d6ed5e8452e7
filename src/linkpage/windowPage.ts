/** The window in which a person goes to the EMR's own page and comes back. What is in its address only its script reads. */
export const windowPage = `<!doctype html>
<html lang="en" data-mode="hosted">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>Link</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="../page.css">
<script type="module" src="../window.js"></script>
</head>
<body>
<main id="link"></main>
<noscript><p>This page needs JavaScript. Esta página necesita JavaScript.</p></noscript>
</body>
</html>
`;
