import { parseUrl } from '../../catalog/parseUrl.ts';
import { fold } from '../../model/fold.ts';

/** The words of a name for searches: folded, without punctuation. */
export function toWords(text: string): string[] {
  return fold(text)
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
    .map((word) => Array.from(word).slice(0, word_chars_max).join(''));
}

/** Index entries are limited; nobody types a longer word. */
const word_chars_max = 60;

/** A name as it is compared as a whole. */
export function toNameKey(name: string): string {
  return toWords(name)
    .join(' ')
    .slice(0, name_chars_max)
    .replace(/[\ud800-\udbff]$/, '');
}

const name_chars_max = 300;

/**
 * An address as a list has it, as one that can be used: lists have them without a scheme, and with text before it.
 * Undefined if there is none in the text.
 */
export function readAddress(text: string): string | undefined {
  const [address = text] = /https?:\/\/\S+/i.exec(text) ?? [];
  const trimmed = address.trim();
  const complete = /^https?:\/\//i.test(trimmed) ? trimmed : `https://${trimmed.replace(/^[:/]+/, '')}`;
  return parseUrl(complete) ? complete : undefined;
}

/** An address for comparison: host in lower case, no default port, no slash at the end. */
export function toAddressKey(address: string): string {
  return new URL(address).href.replace(/\/+$/, '');
}
