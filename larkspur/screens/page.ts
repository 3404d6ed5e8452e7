import { type Content, type Html, html } from './html.ts';

/** The parts of a page around its content. */
export interface Frame {
  practice_name: string;
  /** The signed-in user and their form token. */
  user?: { name: string; form_token: string } | undefined;
  /** Uses the full window width. */
  wide?: boolean;
}

export function page({ practice_name, user, wide }: Frame, title: string, content: Content): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Larkspur</title>
<link rel="stylesheet" href="/larkspur.css">
<link rel="icon" href="/larkspur.svg" type="image/svg+xml">
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header class="bar">
<a class="brand" href="/"><img src="/larkspur.svg" alt="" width="28" height="28"> Larkspur</a>
<span class="practice">${practice_name}</span>
<nav aria-label="Main">
${user && html`<a href="/patients">Patients</a> <a href="/schedule">Schedule</a> <a href="/referrals">Referrals</a> <a href="/claims">Claims</a>`}
<a href="/codes">One-time codes</a>
</nav>
${
  user &&
  html`<form class="who" method="post" action="/sign-out">
<span>${user.name}</span>
${formToken(user.form_token)}
<button class="quiet">Sign out</button>
</form>`
}
</header>
<main id="content" tabindex="-1"${wide && html` class="wide"`}>
${content}
</main>
<footer>Reference EMR for testing. All data is fictitious.</footer>
</body>
</html>`;
}

export function formToken(token: string): Html {
  return html`<input type="hidden" name="formToken" value="${token}">`;
}

export function errorAlert(text: string | undefined): Content {
  return text !== undefined && html`<p class="alert" role="alert">${text}</p>`;
}
