import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Issued } from './issuer.ts';

/**
 * A TLS server that refuses certificates in the handshake, with an alert, as OpenSSL does for most servers. Node's own
 * closes the connection instead, after the handshake.
 */
export type StrictTlsServer = { url: string; requests(): number; close(): Promise<void> };

export async function startStrictTlsServer(
  folder: string,
  { certificate, client_authority, version }: { certificate: Issued; client_authority: string; version: string },
): Promise<StrictTlsServer> {
  const files = [join(folder, 'server.pem'), join(folder, 'clients.pem')] as const;
  await writeFile(files[0], certificate.certificate + certificate.private_key);
  await writeFile(files[1], client_authority);
  const child = spawn('python3', ['-c', program, ...files, version], { stdio: ['ignore', 'pipe', 'inherit'] });
  let requests = 0;
  const lines = createInterface({ input: child.stdout });
  const [port] = (await once(lines, 'line')) as [string];
  lines.on('line', () => {
    requests += 1;
  });
  return {
    url: `https://localhost:${port}/`,
    requests: () => requests,
    close: async () => {
      child.kill();
      await once(child, 'exit');
    },
  };
}

/** Prints its port, then a line per request. After a refusal it reads to the end, so that the alert is not lost. */
const program = `
import socket, ssl, sys, threading
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1])
context.load_verify_locations(sys.argv[2])
context.verify_mode = ssl.CERT_REQUIRED
context.minimum_version = context.maximum_version = ssl.TLSVersion[sys.argv[3]]
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)

def serve(connection):
    secured = context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
    try:
        secured.do_handshake()
        if secured.recv(65536):
            print('request', flush=True)
            secured.sendall(b'HTTP/1.1 200 OK\\r\\ncontent-length: 0\\r\\nconnection: close\\r\\n\\r\\n')
        secured.close()
    except ssl.SSLError:
        raw = socket.socket(fileno=secured.detach())
        raw.shutdown(socket.SHUT_WR)
        while raw.recv(65536):
            pass
        raw.close()

while True:
    connection, _ = listener.accept()
    threading.Thread(target=serve, args=(connection,), daemon=True).start()
`;
