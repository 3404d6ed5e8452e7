import { JSONParser } from '@streamparser/json';

/** The text is not JSON, or has an item that is too large to read. */
export class JsonFault extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'JsonFault';
  }
}

/** The largest item, so that memory stays bounded whatever a file contains. */
const item_bytes_max = 8_000_000;

/**
 * Reads the items of an array in a JSON text of any length, one at a time. `path` names them: `$.*` for those of the text
 * itself, `$.entry.*` for those of a field.
 */
export async function* readJsonItems(chunks: AsyncIterable<Uint8Array>, path: string): AsyncGenerator<unknown> {
  let items: unknown[] = [];
  let bytes_without_item = 0;
  const parser = new JSONParser({ paths: [path], keepStack: false });
  parser.onValue = ({ value }) => void items.push(value);
  for await (const chunk of chunks) {
    // Some files end with blanks or a line break after the text.
    if (parser.isEnded) continue;
    readPart(() => parser.write(chunk));
    bytes_without_item = items.length > 0 ? 0 : bytes_without_item + chunk.length;
    if (bytes_without_item > item_bytes_max) throw new JsonFault('an item is too large');
    yield* items;
    items = [];
  }
  if (!parser.isEnded) throw new JsonFault('the JSON text is incomplete');
}

function readPart(read: () => void): void {
  try {
    read();
  } catch (cause) {
    // The parser's message quotes the text.
    throw new JsonFault('it is not valid JSON', cause);
  }
}
