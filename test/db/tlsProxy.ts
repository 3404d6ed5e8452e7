import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/** An authority made for the tests. It has issued one certificate, for localhost and 127.0.0.1. */
export const test_authority = `-----BEGIN CERTIFICATE-----
MIIBnTCCAUOgAwIBAgIUIOQy7IsP3ZbjbSMyxR7R2IWX+SEwCgYIKoZIzj0EAwIw
IzEhMB8GA1UEAwwYQ2hhcnR3aXJlIHRlc3QgYXV0aG9yaXR5MCAXDTI2MTExNjAy
NTM1NFoYDzIxMjYxMDIzMDI1MzU0WjAjMSEwHwYDVQQDDBhDaGFydHdpcmUgdGVz
dCBhdXRob3JpdHkwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATqBnDRVmebB93c
w9x15OxqdHg6oLeSpVR2vbjVUf63pQcgy7BaeB7m1y0nODIacfxP1uzsnDGQdEKc
W+4vBWhbo1MwUTAdBgNVHQ4EFgQUp80wCbMyOE39jJlxAiL93+FQmXAwHwYDVR0j
BBgwFoAUp80wCbMyOE39jJlxAiL93+FQmXAwDwYDVR0TAQH/BAUwAwEB/zAKBggq
hkjOPQQDAgNIADBFAiAvM4xQAPB0UJuE/LJIvhvh9hVvZbjPC5jMeditAdRyaAIh
AM2LCjAhT0+DzFv5V9g716i1+LvmhbFt7ScUOAfbc391
-----END CERTIFICATE-----
`;

const certificate = `-----BEGIN CERTIFICATE-----
MIIBmTCCAT+gAwIBAgIUezlK01ix8cAN4rsf/kxgLbGZMCAwCgYIKoZIzj0EAwIw
IzEhMB8GA1UEAwwYQ2hhcnR3aXJlIHRlc3QgYXV0aG9yaXR5MCAXDTI2MTExNjAy
NTM1NFoYDzIxMjYxMDIzMDI1MzU0WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTAT
BgcqhkjOPQIBBggqhkjOPQMBBwNCAATwQrJOgHZzzoScsEUPUSdVEykRUg1tbhE4
Yl57XVUjqrxt+l9ClleaF4IAOIE0ak7CRKsma57GWSgR2onUaWh2o14wXDAaBgNV
HREEEzARgglsb2NhbGhvc3SHBH8AAAEwHQYDVR0OBBYEFFE3gioq1KpbYpSbClWJ
pYxW5wgAMB8GA1UdIwQYMBaAFKfNMAmzMjhN/YyZcQIi/d/hUJlwMAoGCCqGSM49
BAMCA0gAMEUCIC6TFzoDEmZNa6nxY7jUcV8NXtvxqQ6QNpe+dcmsNmAHAiEApQzo
+lj34tnfSmyh7XaAIkGu+9GuR+Pt575GUkHSoek=
-----END CERTIFICATE-----
`;

const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgo1U8x2OZg0kd9abY
PhB2EbyJwvHjIBj7p4q7GHDC5BOhRANCAATwQrJOgHZzzoScsEUPUSdVEykRUg1t
bhE4Yl57XVUjqrxt+l9ClleaF4IAOIE0ak7CRKsma57GWSgR2onUaWh2
-----END PRIVATE KEY-----
`;

export type TlsProxy = { port: number; close(): Promise<void> };

/** A PostgreSQL server with TLS at every loopback address, in front of the server at a Unix socket. */
export async function startTlsProxy(socket_path: string, options: { offers_tls?: boolean } = {}): Promise<TlsProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    // The first message of a client that wants TLS is SSLRequest; the response is one byte.
    socket.once('data', () => {
      if (options.offers_tls === false) return socket.write('N');
      socket.write('S');
      const secure = new TLSSocket(socket, { isServer: true, key, cert: certificate });
      const upstream = connect(socket_path);
      for (const each of [secure, upstream]) each.on('error', () => {});
      secure.pipe(upstream).pipe(secure);
    });
  }).listen(0, '0.0.0.0');
  await once(server, 'listening');
  return {
    // A listening TCP server has an address with a port.
    port: (server.address() as AddressInfo).port,
    close: async () => {
      for (const each of sockets) each.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
