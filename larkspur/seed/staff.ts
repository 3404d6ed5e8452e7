import { Secret } from 'otpauth';
import { deriveSecret, hashPassword } from '../signin/credentials.ts';

export interface SeededStaff {
  username: string;
  password: string;
  totp_secret: string;
  role: string;
  staff_id: string;
  name: string;
}

/**
 * The staff who can sign in. Passwords and one-time code secrets are derived from the control token: they differ between
 * installations, survive restarts and resets, and are not stored in plain text.
 */
export function seededStaff(control_token: string): SeededStaff[] {
  return people.filter((person) => person.active).map((person) => withSecrets(person, control_token));
}

export async function staffRows(control_token: string) {
  return Promise.all(
    people.map(async (person) => {
      const { password, totp_secret } = withSecrets(person, control_token);
      return {
        staffId: person.staff_id,
        displayName: person.name,
        role: person.role,
        activeFlag: person.active ? 'Y' : 'N',
        userName: person.username,
        passwordHash: await hashPassword(password),
        totpSecret: totp_secret,
      };
    }),
  );
}

type Person = Pick<SeededStaff, 'staff_id' | 'username' | 'name' | 'role'> & { active: boolean };

const people: Person[] = [
  person('701', 'avery', 'Avery Deskwell', 'frontdesk'),
  person('702', 'blair', 'Blair Counterby', 'frontdesk'),
  person('703', 'casey', 'Casey Bandageworth, RN', 'nurse'),
  person('704', 'devon', 'Devon Splintley, RN', 'nurse'),
  person('705', 'ellis', 'Ellis Gauzeman, MA', 'nurse'),
  person('706', 'finley', 'Finley Ledgerton', 'billing'),
  person('707', 'gray', 'Gray Coinsby', 'billing'),
  person('708', 'harper', 'Harper Samplewell, MD', 'provider'),
  person('709', 'indigo', 'Indigo Mockridge, MD', 'provider'),
  person('710', 'jordan', 'Jordan Keyholder', 'admin'),
  person('711', 'kendall', 'Kendall Folderman', 'records'),
  { ...person('712', 'lane', 'Lane Formerly', 'frontdesk'), active: false },
];

function person(staff_id: string, username: string, name: string, role: string): Person {
  return { staff_id, username, name, role, active: true };
}

function withSecrets({ staff_id, username, name, role }: Person, control_token: string): SeededStaff {
  const password = deriveSecret(control_token, `password of ${username}`).toString('base64url').slice(0, 20);
  const bytes = deriveSecret(control_token, `one-time codes of ${username}`).subarray(0, 20);
  const totp_secret = new Secret({ buffer: Uint8Array.from(bytes).buffer }).base32;
  return { username, password, totp_secret, role, staff_id, name };
}
