/* client.mjs -- a plain HTTP client that lets tests look while it happens.
 *
 * Nothing here waits longer than PATIENCE_MS, so a gateway that forgets to
 * answer fails one test and does not stop them all.
 *
 * open() starts an exchange: `head` and `done` are promises, `text` grows, and
 * until() waits for something to appear in it. ask() is the whole exchange in
 * one call. raw() speaks bytes, for what an HTTP library would not send.
 */
import http from 'node:http';
import net from 'node:net';
import { once } from 'node:events';
import { patience } from './patience.mjs';

const PATIENCE_MS = patience(10_000);

const withoutUndefined = (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

class Exchange {
    #parts = [];
    #changed = new Set();

    constructor(target, { method = 'POST', path = '/v1/responses', headers = {}, body, agent = false }) {
        const payload = body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
        this.request = http.request(target + path, {
            method,
            agent,
            headers: withoutUndefined({
                ...(payload !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
                ...headers, /* undefined takes one of ours away */
            }),
        });
        this.startedAt = performance.now();
        this.head = new Promise((done, fail) => {
            const late = setTimeout(() => this.request.destroy(new Error(`no head within ${PATIENCE_MS} ms`)), PATIENCE_MS);
            this.request.on('response', (res) => {
                clearTimeout(late);
                done(this.#read(res));
            });
            this.request.on('error', (error) => {
                clearTimeout(late);
                this.error = error;
                this.#notify();
                fail(error);
            });
        });
        this.done = this.head.then(async () => {
            await this.until(() => this.ended || this.error);
            if (this.error)
                throw this.error;
            return this;
        });
        this.head.catch(() => {});
        this.done.catch(() => {});
        this.request.end(payload);
    }

    /* What has come so far; put together only when somebody looks. */
    get bytes() {
        if (this.#parts.length > 1)
            this.#parts = [Buffer.concat(this.#parts)];
        return this.#parts[0] ?? Buffer.alloc(0);
    }

    get text() {
        return this.bytes.toString();
    }

    get json() {
        return JSON.parse(this.text);
    }

    #read(res) {
        Object.assign(this, { status: res.statusCode, headers: res.headers, headAt: performance.now() });
        res.on('data', (piece) => {
            this.#parts.push(piece);
            this.#notify();
        });
        res.on('end', () => {
            this.ended = res.complete;
            this.#notify();
        });
        res.on('error', (error) => {
            this.error = error;
            this.#notify();
        });
        return this;
    }

    #notify() {
        for (const look of this.#changed)
            look();
    }

    /* Waits until the text holds `what`, or until the function is true. */
    async until(what, ms = 10_000) {
        const met = typeof what === 'function' ? what : () => this.text.includes(what);
        if (met())
            return this;
        let look, timer;
        try {
            await new Promise((done, fail) => {
                timer = setTimeout(() => fail(new Error(`waited ${ms} ms for ${what} in:\n${this.text.slice(-2000)}`)), patience(ms));
                look = () => met() ? done() : (this.ended || this.error) && fail(this.error ?? new Error(`ended without ${what}`));
                this.#changed.add(look);
            });
        } finally {
            clearTimeout(timer);
            this.#changed.delete(look);
        }
        return this;
    }

    destroy() {
        this.request.destroy();
    }
}

export const open = (daemon, body, options = {}) => new Exchange(daemon.origin, { body, ...options });

export const ask = (daemon, body, options = {}) => open(daemon, body, options).done;

export const get = (daemon, path, options = {}) => open(daemon, undefined, { method: 'GET', path, ...options }).done;

/* Sends the pieces as they are and gives everything that came back until the
 * peer closed, or until `enough` says so. */
export async function raw(daemon, pieces, enough = () => false, ms = 5000) {
    const socket = net.connect(daemon.port, daemon.host);
    let got = Buffer.alloc(0);
    await once(socket, 'connect');
    const over = new Promise((done, fail) => {
        const late = setTimeout(() => fail(new Error(`no end within ${ms} ms after:\n${got.toString('latin1')}`)), patience(ms));
        const finish = () => (clearTimeout(late), done());
        socket.on('data', (piece) => {
            got = Buffer.concat([got, piece]);
            if (enough(got.toString('latin1')))
                finish();
        });
        socket.on('close', finish);
        socket.on('error', finish);
    });
    for (const piece of [pieces].flat()) {
        if (socket.destroyed)
            break;
        socket.write(piece);
        await new Promise((done) => setTimeout(done, 2));
    }
    await over;
    socket.destroy();
    return got;
}

/* Head and HTTP chunks of one raw answer. */
export function dechunk(bytes) {
    const end = bytes.indexOf('\r\n\r\n');
    const chunks = [];
    for (let at = end + 4; ;) {
        const eol = bytes.indexOf('\r\n', at);
        const size = parseInt(bytes.subarray(at, eol).toString(), 16);
        if (!(size > 0))
            return { head: bytes.subarray(0, end).toString(), chunks, complete: size === 0 };
        chunks.push(bytes.subarray(eol + 2, eol + 2 + size).toString());
        at = eol + 2 + size + 2;
    }
}
