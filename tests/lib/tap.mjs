/* tap.mjs -- a proxy in front of the gateway that keeps what passes.
 *
 * For clients that are programs of their own, into which no fetch can be put.
 * It hands on every byte as it comes and ends what either side ends. A client
 * that takes it for its web proxy is refused, and the host it wanted is kept:
 * so a test sees whether a client tried to leave the machine.
 *
 *     const tap = await startTap(daemon.origin);
 *     tap.exchanges[0]        { method, path, headers, sent, status, bytes }
 *     tap.sockets[0]          { path, headers, status, frames }
 *     tap.outside             ['example.org:443']
 *
 * `frames` is a transcript as tools that judge one read it: 'in' is what the client has sent.
 */
import http from 'node:http';
import { connect } from 'node:net';
import { once } from 'node:events';
import { FrameReader } from './frames.mjs';

class Tap {
    exchanges = [];
    sockets = [];
    outside = [];
    #upgraded = new Set();
    #server = http.createServer((req, res) => this.#pass(req, res));

    async listen(target) {
        this.target = target;
        this.#server.on('connect', (req, socket) => {
            socket.on('error', () => {}); /* a client may reset what it was refused */
            this.outside.push(req.url);
            socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
        });
        this.#server.on('upgrade', (req, socket, head) => this.#upgrade(req, socket, head));
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
        for (const socket of this.#upgraded)
            socket.destroy();
        this.#server.close();
        this.#server.closeAllConnections();
        await once(this.#server, 'close');
    }

    /* Byte by byte; only the status line and the frames are looked at. */
    #upgrade(req, socket, head) {
        const { hostname, port } = new URL(this.target);
        const seen = { path: req.url, headers: req.headers, status: 0, frames: [] };
        const through = connect(port, hostname);
        const hear = (dir) => (kind, data) => {
            if (kind === 'text')
                seen.frames.push({ dir, frame: JSON.parse(data) });
            else if (kind === 'close')
                seen.frames.push({ dir: 'close', code: data.length > 1 ? data.readUInt16BE(0) : 1005 });
        };
        const inward = new FrameReader(hear('in'));
        const outward = new FrameReader(hear('out'));
        let answer = Buffer.alloc(0);

        this.sockets.push(seen);
        through.write(`${req.method} ${req.url} HTTP/1.1\r\n${pairs(req.rawHeaders)}\r\n`);
        through.write(head);
        inward.feed(head);
        for (const [from, to] of [[socket, through], [through, socket]]) {
            this.#upgraded.add(from);
            from.on('error', () => to.destroy());
            from.on('close', () => (this.#upgraded.delete(from), to.end()));
        }
        socket.on('data', (piece) => (inward.feed(piece), through.write(piece)));
        through.on('data', (piece) => {
            socket.write(piece);
            if (seen.status === 101) {
                outward.feed(piece);
                return;
            }
            answer = Buffer.concat([answer, piece]);
            const end = answer.indexOf('\r\n\r\n');
            if (end < 0 || seen.status !== 0)
                return;
            seen.status = Number(answer.toString('latin1', 9, 12));
            if (seen.status === 101)
                outward.feed(answer.subarray(end + 4));
        });
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

const pairs = (raw) => raw.map((text, i) => i % 2 ? `${text}\r\n` : `${text}: `).join('');

function keep(stream, seen, name) {
    seen[name] = Buffer.alloc(0);
    stream.on('data', (piece) => (seen[name] = Buffer.concat([seen[name], piece])));
}

export const startTap = (target) => new Tap().listen(target);
