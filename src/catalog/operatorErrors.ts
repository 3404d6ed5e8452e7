/** The part of the error catalogue that operators of the dashboard see: sign-in, second factors, roles and invitations. */
export const operator_errors = {
  passkey_not_registered: { status: 400, message: 'The passkey could not be registered. Try again.' },
  passkeys_max: { status: 400, message: 'You can have at most {max} passkeys. Delete one that you no longer use.' },
  passkeys_need_name: {
    status: 400,
    message:
      'Passkeys need a host name, and BASE_URL contains an IP address. Set BASE_URL to the name of this service.',
  },
  operator_credentials_wrong: { status: 401, message: 'Incorrect email or password.' },
  operator_code_required: { status: 401, message: 'Enter the code from your authenticator app.' },
  operator_code_wrong: {
    status: 401,
    message:
      'Incorrect code, or the code was already used. Enter the current code from your authenticator app, or a recovery code.',
  },
  operator_passkey_required: {
    status: 401,
    message: 'Sign in with your passkey, or enter one of your recovery codes.',
  },
  passkey_refused: {
    status: 401,
    message: 'This passkey was not accepted. Try again, or sign in with your password.',
  },
  operator_password_off: {
    status: 403,
    message: 'Passwords are turned off for this account. Use single sign-on.',
  },
  sso_off: { status: 409, message: 'Single sign-on is not set up. Sign in with your password.' },
  sso_expired: {
    status: 400,
    message: 'This sign-in has expired, or it was already used. Sign in again.',
  },
  sso_declined: {
    status: 403,
    message: 'The identity provider did not sign you in. Try again, or ask its administrator for access.',
  },
  sso_client_refused: {
    status: 502,
    message:
      'The identity provider does not accept this installation. Ask its administrator to check OIDC_CLIENT_ID, OIDC_CLIENT_SECRET and the redirect URI.',
  },
  sso_invalid: {
    status: 502,
    message:
      'The identity provider’s response is not valid for this sign-in. Try again. If it happens again, ask an administrator to check OIDC_ISSUER and the log.',
  },
  sso_unavailable: {
    status: 503,
    message: 'The identity provider cannot be reached. Try again in a minute.',
  },
  sso_role_missing: {
    status: 403,
    message:
      'You have no role in Chartwire. Ask the administrator of your identity provider to add you to a Chartwire group, then sign in again.',
  },
  sso_email_missing: {
    status: 403,
    message:
      'The identity provider did not send a verified email address for you. Ask its administrator to add one, then sign in again.',
  },
  sso_email_taken: {
    status: 409,
    message:
      'Your email address belongs to another operator. Ask an owner to choose “Allow single sign-on” for it under Settings → Operators, then sign in again.',
  },
  sso_email_unverified: {
    status: 403,
    message:
      'The identity provider did not confirm your email address (email_verified), which is required to take over an existing operator. Ask its administrator to send this claim, then sign in again.',
  },
  sso_other_person: {
    status: 403,
    message: 'You signed in at the identity provider as someone else. Sign in as the operator who uses this dashboard.',
  },
  sso_auth_time_missing: {
    status: 403,
    message:
      'The identity provider did not say when you signed in. Ask its administrator to send the claim auth_time, then try again.',
  },
  sso_not_again: {
    status: 403,
    message:
      'The identity provider did not ask you to sign in again. Ask its administrator to support max_age or prompt=login, then try again.',
  },
  sso_acr_missing: {
    status: 403,
    message:
      'The identity provider did not sign you in with the level of security that is required here (acr). Sign in there with your second factor, or ask its administrator which method to use, then try again.',
  },
  sso_amr_missing: {
    status: 403,
    message:
      'You did not sign in at the identity provider with a method that is required here (amr). Sign in there with your second factor, or ask its administrator which method to use, then try again.',
  },
  logout_token_refused: { status: 400, message: 'The logout token is not valid, or was already used.' },
  logout_token_unchecked: {
    status: 400,
    message: 'The logout token could not be checked, because the keys of the identity provider cannot be read.',
  },
  sso_disabled: { status: 403, message: 'Your account is disabled. Ask an owner to enable it.' },
  operator_inactive: {
    status: 403,
    message: 'Your account was disabled because it was not used for a long time. Ask an owner to enable it.',
  },
  operator_session_over: { status: 401, message: 'Your session has ended. Sign in again.' },
  operator_password_temporary: {
    status: 403,
    message: 'Your password is temporary. Change it before you continue.',
  },
  operator_second_factor_missing: {
    status: 403,
    message: 'A second factor is required. Set up a passkey or an authenticator app before you continue.',
  },
  operator_sign_in_again: {
    status: 403,
    message: 'Confirm your identity first: your last sign-in was more than 10 minutes ago.',
  },
  operator_role_lacking: { status: 403, message: 'This requires the {role} role.' },
  reveal_not_allowed: {
    status: 403,
    message: 'You do not have permission to reveal patient details. Ask an owner for it.',
  },
  disclosures_not_allowed: {
    status: 403,
    message: 'You do not have permission to see disclosures. Ask an owner for it.',
  },
  legal_hold_not_allowed: {
    status: 403,
    message: 'You do not have permission to place or lift legal holds. Ask an owner for it.',
  },
  operator_clients_lacking: { status: 403, message: 'This requires access to all clients.' },
  operator_request_foreign: {
    status: 403,
    message: 'This request did not come from the dashboard page. Reload the page and try again.',
  },
  invitation_invalid: {
    status: 410,
    message: 'This invitation was used or revoked, or has expired. Ask an owner for a new one.',
  },
  client_secrets_max: { status: 409, message: 'A client can have at most {max} active secrets. Revoke one first.' },
  operator_exists: { status: 409, message: 'An operator with this email address already exists.' },
  operator_single_sign_on: {
    status: 409,
    message: 'This operator uses single sign-on: the identity provider manages the role and the sign-in.',
  },
  owner_from_provider: {
    status: 409,
    message:
      'You signed in with single sign-on, so you cannot create, enable or reset an owner with a password. Give the role in the identity provider, or ask an owner who signed in with a password.',
  },
  passwords_off: {
    status: 409,
    message: 'Local passwords are turned off (OIDC_ONLY). Add operators in the identity provider.',
  },
  approval_required: {
    status: 409,
    message: 'A second person must approve this. It waits under Approvals until {until}.',
  },
  approvals_max: {
    status: 409,
    message: 'You can have at most {max} open approvals. Withdraw one, or wait until one is decided.',
  },
  approval_over: {
    status: 409,
    message: 'This was already decided, run or canceled, or has expired. Request it again.',
  },
  approval_own: { status: 403, message: 'Another operator with the same right must decide about this.' },
  approval_right_lost: {
    status: 409,
    message: 'The operator who requested this no longer has the right to do it, so it was canceled.',
  },
  review_attested: {
    status: 409,
    message: 'This access review was already attested, and can no longer be changed. Start a new one.',
  },
  owner_last: { status: 409, message: 'There must be at least one owner. Make another operator an owner first.' },
  operator_codes_locked: {
    status: 403,
    message:
      'Too many incorrect codes. Sign in with a passkey or a recovery code, or ask an owner to reset your sign-in.',
  },
  operator_password_expired: {
    status: 403,
    message: 'Your temporary password has expired. Ask an owner to reset your password again.',
  },
  totp_offer_missing: { status: 409, message: 'This setup has expired. Start it again.' },
  sign_in_busy: {
    status: 503,
    message:
      'Too many sign-ins at the moment. Try again in a minute, or use a browser in which you have signed in before.',
  },
  dashboard_network_refused: {
    status: 403,
    message:
      'The dashboard is not available from {address}. The administrator of this server can add the address to DASHBOARD_NETWORKS.',
  },
  operator_locked: {
    status: 429,
    message: 'Too many failed sign-ins. Try again in 15 minutes.',
  },
} as const satisfies Record<string, { status: number; message: string }>;
