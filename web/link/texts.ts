/** `{emr}` and `{client}` are filled in. */
const en = {
  title: 'Connect {emr}',
  title_update: 'Reconnect {emr}',
  lead: 'Sign in with your {emr} account to connect it to {client}.',
  lead_update: 'The connection between {client} and {emr} needs to be renewed.',
  lead_update_password: '{emr} no longer accepts the saved password. Enter your current one.',
  known_account: 'Account',
  organisation: 'Organization',
  address: 'Address',
  username: 'User name',
  password: 'Password',
  show: 'Show',
  hide: 'Hide',
  show_password: 'Show password',
  hide_password: 'Hide password',
  sign_in: 'Sign in',
  reconnect: 'Reconnect',
  signing_in: 'Signing in to {emr}…',
  checking_code: 'Checking the code…',
  sending_code: 'Asking {emr} for a new code…',
  privacy: 'Your password goes to {emr} and is kept encrypted. {client} never sees it.',
  code_title: 'Enter your code',
  code_lead: '{emr} asks for a one-time code. Open your authenticator app and enter the code it shows now.',
  code_lead_sent: '{emr} has sent you a one-time code. Enter it here.',
  code: 'One-time code',
  check_code: 'Continue',
  send_again: 'Send a new code',
  sent_again: '{emr} has been asked to send a new code.',
  back: 'Back',
  try_again: 'Try again',
  close: 'Close',
  loading: 'Loading…',
  linked_title: '{emr} is connected',
  linked: 'Your account is linked to {client}.',
  linked_returning: 'Your account is linked. Taking you back to {client}…',
  linked_close_window: 'Your account is linked to {client}. You can close this window.',
  done: 'Done',
  emr_credentials_wrong: '{emr} did not accept this user name and password. Check both and enter the password again.',
  emr_code_wrong: 'That code is wrong or too old. Enter the newest code.',
  emr_locked:
    '{emr} has locked this account after too many wrong tries. Wait a while, or ask your {emr} administrator to unlock it. Then try again.',
  emr_unavailable: '{emr} cannot be reached right now. Nothing is wrong with what you typed. Try again in a moment.',
  emr_sign_in_refused: '{emr} refused the sign-in. Check the address above, or ask your {emr} administrator.',
  emr_mismatch: 'This organization is connected to another EMR already. Ask {client} for help.',
  missing_field: 'Fill in every field.',
  missing_code: 'Enter the code.',
  rate_limited: 'Too many requests at once. Wait a moment, then try again.',
  offline: 'There is no connection to the service. Check your internet connection, then try again.',
  trouble: 'Something went wrong on our side. Try again. If it happens again, tell {client}.',
  trouble_title: 'This page could not be loaded',
  trouble_plain: 'Something went wrong on our side. Try again in a moment.',
  expired_title: 'This link has expired',
  expired: 'Links work for 30 minutes, to keep your account safe. Go back to where you came from and start again.',
  used_title: 'This link was already used',
  used: 'Each link works once. If your account is not connected yet, go back to where you came from and start again.',
  exhausted_title: 'Too many tries',
  exhausted: 'This link was closed to keep your account safe. Go back to where you came from and start again.',
  unknown_title: 'This link is not valid',
  unknown: 'It may be incomplete or too old. Go back to where you came from and start again.',
};

export type TextName = keyof typeof en;
/** A text that is missing in a language does not compile. */
type Texts = Record<TextName, string>;

const es: Texts = {
  title: 'Conectar {emr}',
  title_update: 'Volver a conectar {emr}',
  lead: 'Inicie sesión con su cuenta de {emr} para conectarla con {client}.',
  lead_update: 'Hay que renovar la conexión entre {client} y {emr}.',
  lead_update_password: '{emr} ya no acepta la contraseña guardada. Escriba la actual.',
  known_account: 'Cuenta',
  organisation: 'Organización',
  address: 'Dirección',
  username: 'Usuario',
  password: 'Contraseña',
  show: 'Mostrar',
  hide: 'Ocultar',
  show_password: 'Mostrar contraseña',
  hide_password: 'Ocultar contraseña',
  sign_in: 'Iniciar sesión',
  reconnect: 'Volver a conectar',
  signing_in: 'Iniciando sesión en {emr}…',
  checking_code: 'Comprobando el código…',
  sending_code: 'Pidiendo un código nuevo a {emr}…',
  privacy: 'Su contraseña se envía a {emr} y se guarda cifrada. {client} nunca la ve.',
  code_title: 'Escriba su código',
  code_lead: '{emr} pide un código de un solo uso. Abra su aplicación de autenticación y escriba el código actual.',
  code_lead_sent: '{emr} le ha enviado un código de un solo uso. Escríbalo aquí.',
  code: 'Código de un solo uso',
  check_code: 'Continuar',
  send_again: 'Enviar otro código',
  sent_again: 'Se ha pedido a {emr} que envíe otro código.',
  back: 'Atrás',
  try_again: 'Intentar de nuevo',
  close: 'Cerrar',
  loading: 'Cargando…',
  linked_title: '{emr} está conectado',
  linked: 'Su cuenta está vinculada con {client}.',
  linked_returning: 'Su cuenta está vinculada. Volviendo a {client}…',
  linked_close_window: 'Su cuenta está vinculada con {client}. Ya puede cerrar esta ventana.',
  done: 'Listo',
  emr_credentials_wrong:
    '{emr} no aceptó este usuario y esta contraseña. Revise ambos y escriba la contraseña otra vez.',
  emr_code_wrong: 'El código no es correcto o ya no sirve. Escriba el código más reciente.',
  emr_locked:
    '{emr} ha bloqueado esta cuenta por demasiados intentos fallidos. Espere un rato o pida al administrador de {emr} que la desbloquee. Después, inténtelo de nuevo.',
  emr_unavailable: 'No se puede contactar con {emr} ahora. Lo que escribió no tiene la culpa. Inténtelo en un momento.',
  emr_sign_in_refused: '{emr} rechazó el inicio de sesión. Revise la dirección o consulte al administrador de {emr}.',
  emr_mismatch: 'Esta organización ya está conectada a otro EMR. Pida ayuda a {client}.',
  missing_field: 'Complete todos los campos.',
  missing_code: 'Escriba el código.',
  rate_limited: 'Demasiadas solicitudes a la vez. Espere un momento e inténtelo de nuevo.',
  offline: 'No hay conexión con el servicio. Revise su conexión a internet e inténtelo de nuevo.',
  trouble: 'Algo falló de nuestro lado. Inténtelo de nuevo. Si vuelve a ocurrir, avise a {client}.',
  trouble_title: 'No se pudo cargar esta página',
  trouble_plain: 'Algo falló de nuestro lado. Inténtelo de nuevo en un momento.',
  expired_title: 'Este enlace ha caducado',
  expired:
    'Los enlaces sirven durante 30 minutos, para proteger su cuenta. Vuelva al lugar de donde vino y empiece de nuevo.',
  used_title: 'Este enlace ya se usó',
  used: 'Cada enlace sirve una vez. Si su cuenta aún no está conectada, vuelva al lugar de donde vino y empiece de nuevo.',
  exhausted_title: 'Demasiados intentos',
  exhausted: 'Este enlace se cerró para proteger su cuenta. Vuelva al lugar de donde vino y empiece de nuevo.',
  unknown_title: 'Este enlace no es válido',
  unknown: 'Puede estar incompleto o ser demasiado antiguo. Vuelva al lugar de donde vino y empiece de nuevo.',
};

const catalogue: Record<'en' | 'es', Texts> = { en, es };
export type Language = keyof typeof catalogue;

/** The language of the link, else the browser's first one that there are texts in. */
export function chooseLanguage(wanted: string, offered: readonly string[]): Language {
  const known = [wanted, ...offered].map((tag) => tag.toLowerCase().split('-')[0]);
  return known.find((tag): tag is Language => tag === 'en' || tag === 'es') ?? 'en';
}

export type Say = (name: TextName) => string;

export function speak(language: Language, names: { emr: string; client: string }): Say {
  return (name) =>
    catalogue[language][name].replace(/\{(emr|client)\}/g, (_, key: string) =>
      key === 'emr' ? names.emr : names.client,
    );
}
