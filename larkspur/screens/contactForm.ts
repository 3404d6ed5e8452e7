import type { Patient } from '../charts/patients.ts';
import type { ContactErrors, ContactForm } from './editPage.ts';

export function contactForm({ cellPhone, homePhone, email, address }: Patient): ContactForm {
  return {
    cellPhone: cellPhone ?? '',
    homePhone: homePhone ?? '',
    email: email ?? '',
    line1: address.line1,
    line2: address.line2 ?? '',
    city: address.city,
    state: address.state,
    zip: address.zip,
  };
}

/** What was typed, what is wrong with it, and what a patient's row would take of it. */
export function readContactForm(body: Record<string, string>): {
  form: ContactForm;
  errors: ContactErrors;
  values: object;
} {
  const typed = (field: keyof ContactForm) =>
    String(body[field] ?? '')
      .trim()
      .slice(0, 200);
  const form: ContactForm = {
    cellPhone: typed('cellPhone'),
    homePhone: typed('homePhone'),
    email: typed('email'),
    line1: typed('line1'),
    line2: typed('line2'),
    city: typed('city'),
    state: typed('state').toUpperCase(),
    zip: typed('zip'),
  };
  const { cellPhone, homePhone, email, line1, line2, city, state, zip } = form;
  const address = { line1, line2: line2 || null, city, state, zip };
  const values = { cellPhone: cellPhone || null, homePhone: homePhone || null, email: email || null, address };
  return { form, errors: errorsIn(form), values };
}

function errorsIn(form: ContactForm): ContactErrors {
  const errors: ContactErrors = {};
  for (const [field, shape, text] of rules) {
    if (form[field] !== '' && !shape.test(form[field])) errors[field] = text;
  }
  return errors;
}

const rules: [field: keyof ContactForm, shape: RegExp, text: string][] = [
  ['cellPhone', /^\d{3}-\d{3}-\d{4}$/, 'A phone number looks like 518-555-0100.'],
  ['homePhone', /^\d{3}-\d{3}-\d{4}$/, 'A phone number looks like 518-555-0100.'],
  ['email', /^[^\s@]+@[^\s@]+\.[^\s@]+$/, 'An email address looks like name@example.org.'],
  ['state', /^[A-Z]{2}$/, 'A state is two letters, such as NY.'],
  ['zip', /^\d{5}(-\d{4})?$/, 'A ZIP code is five digits, such as 12999.'],
];
