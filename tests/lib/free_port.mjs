/* free_port.mjs -- a TCP port on which nobody listens. */
import { once } from 'node:events';
import net from 'node:net';

/* The port of a listener that has just gone. */
export async function freePort() {
    const server = net.createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address();
    server.close();
    await once(server, 'close');
    return port;
}
