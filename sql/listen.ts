import pg from 'pg';
import type { DatabaseAddress } from './address.ts';
import { Client } from './client.ts';
import { clientConfig } from './connect.ts';
import { ConnectionError, translateError } from './errors.ts';
import { reconnectPause } from './pipelines.ts';

/** `payload` is undefined if notifications may have been missed: after every connection, including the first. */
export type OnNotification = (payload: string | undefined) => void;

export type Listener = {
  /** Resolves when LISTEN has succeeded; rejects if the first connection fails. */
  listen(channel: string, onNotification: OnNotification): Promise<void>;
  end(): Promise<void>;
};

/** Opens a dedicated connection for LISTEN and reopens it whenever it is lost. */
export function openListener(address: DatabaseAddress, application_name: string): Listener {
  const channels = new Map<string, OnNotification[]>();
  const config = clientConfig(address, { application_name });
  let client: Promise<pg.Client> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let ended = false;

  const open = async (): Promise<pg.Client> => {
    const opened = new Client(config);
    opened.on('error', () => {});
    opened.on('notification', ({ channel, payload }) => {
      for (const onNotification of channels.get(channel) ?? []) onNotification(payload ?? '');
    });
    try {
      await opened.connect();
      for (const channel of channels.keys()) await subscribe(opened, channel);
    } catch (error) {
      opened.end().catch(() => {});
      throw error;
    }
    opened.once('end', reopen);
    return opened;
  };
  const reopen = () => {
    client = undefined;
    if (ended) return;
    timer = setTimeout(() => {
      timer = undefined;
      client = open();
      client.then(catchUp, reopen);
    }, reconnectPause());
  };
  const catchUp = () => {
    for (const each of [...channels.values()].flat()) each(undefined);
  };

  return {
    listen: async (channel, onNotification) => {
      if (ended) throw new ConnectionError('CONNECTION_ENDED');
      const present = channels.get(channel);
      channels.set(channel, [...(present ?? []), onNotification]);
      try {
        // If the connection is about to be reopened, the new one subscribes to this channel as well.
        if (timer === undefined) client ??= open();
        const opened = await client;
        if (opened && !present) await subscribe(opened, channel);
      } catch (error) {
        client = undefined;
        throw translateError(error as Error);
      }
      onNotification(undefined);
    },
    end: async () => {
      ended = true;
      clearTimeout(timer);
      await client?.then(
        (opened) => opened.end(),
        () => {},
      );
    },
  };
}

async function subscribe(client: pg.Client, channel: string): Promise<void> {
  await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
}
