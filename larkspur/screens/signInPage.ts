import { type Html, html } from './html.ts';
import { alert, type Frame, page } from './page.ts';

export function signInPage(frame: Omit<Frame, 'title'>, userName: string, error?: string): Html {
  return page(
    { ...frame, title: 'Sign in' },
    html`<section class="card narrow">
<h1>Sign in</h1>
${alert(error)}
<form method="post" action="/sign-in">
<label for="userName">User name</label>
<input id="userName" name="userName" value="${userName}" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="200" required>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="200" required>
<button>Continue</button>
</form>
</section>`,
  );
}

export function codePage(frame: Omit<Frame, 'title'>, challengeId: string, error?: string): Html {
  return page(
    { ...frame, title: 'One-time code' },
    html`<section class="card narrow">
<h1>One-time code</h1>
${alert(error)}
<form method="post" action="/sign-in/code">
<input type="hidden" name="challengeId" value="${challengeId}">
<label for="code">Six-digit code</label>
<input id="code" name="code" class="code" inputmode="numeric" autocomplete="one-time-code" pattern="[0-9]{6}" maxlength="6" aria-describedby="code-hint" required>
<p id="code-hint" class="hint">From your authenticator, or from the page <a href="/codes" target="_blank">One-time codes (opens a new tab)</a> of this sandbox.</p>
<button>Sign in</button>
</form>
<p><a href="/">Start again</a></p>
</section>`,
  );
}
