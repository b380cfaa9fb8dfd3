/* tap.mjs -- a proxy in front of the gateway that keeps what passes.
 *
 * For clients that are programs of their own, into which no fetch can be put.
 * It hands on every byte as it comes and ends what either side ends. A client
 * that takes it for its web proxy is refused, and the host it wanted is kept:
 * so a test sees whether a client tried to leave the machine.
 *
 *     const tap = await startTap(daemon.origin);
 *     tap.exchanges[0]        { method, path, headers, sent, status, bytes }
 *     tap.outside             ['example.org:443']
 */
import http from 'node:http';
import { once } from 'node:events';

class Tap {
    exchanges = [];
    outside = [];
    #server = http.createServer((req, res) => this.#pass(req, res));

    async listen(target) {
        this.target = target;
        this.#server.on('connect', (req, socket) => {
            socket.on('error', () => {}); /* a client may reset what it was refused */
            this.outside.push(req.url);
            socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
        });
        this.#server.listen(0, '127.0.0.1');
        await once(this.#server, 'listening');
        this.origin = `http://127.0.0.1:${this.#server.address().port}`;
        return this;
    }

    /* Waits for the head of the i-th answer. */
    async answered(i, ms = 10_000) {
        for (const deadline = performance.now() + ms; this.exchanges[i]?.status === undefined;) {
            if (performance.now() > deadline)
                throw new Error(`tap: no answer to request ${i} within ${ms} ms`);
            await new Promise((done) => setTimeout(done, 5));
        }
    }

    async close() {
        this.#server.close();
        this.#server.closeAllConnections();
        await once(this.#server, 'close');
    }

    #pass(req, res) {
        if (!req.url.startsWith('/')) {
            this.outside.push(req.url);
            res.writeHead(403).end();
            return;
        }
        const seen = { method: req.method, path: req.url, headers: req.headers };
        this.exchanges.push(seen);
        const through = http.request(this.target + req.url, { method: req.method, headers: req.headers, agent: false }, (answer) => {
            seen.status = answer.statusCode;
            res.writeHead(answer.statusCode, answer.headers);
            keep(answer, seen, 'bytes');
            answer.on('error', () => res.destroy());
            answer.pipe(res);
        });
        through.on('error', () => res.destroy());
        res.on('close', () => through.destroy());
        keep(req, seen, 'sent');
        req.pipe(through);
    }
}

function keep(stream, seen, name) {
    seen[name] = Buffer.alloc(0);
    stream.on('data', (piece) => (seen[name] = Buffer.concat([seen[name], piece])));
}

export const startTap = (target) => new Tap().listen(target);
