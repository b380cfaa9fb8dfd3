/* upstream.mjs -- a server of Chat Completions, and of plain ones, that says what the test tells
 * it to.
 *
 *     const up = await startUpstream();
 *     up.next(stream(frames(chunk({ content: 'Hi' }), '[DONE]')));   // one answer, in order
 *     up.always((request) => ...);                                   // all others
 *     const seen = await up.request(0);                              // what arrived
 *
 * An answer is { status, headers, pieces } or a function of the request that
 * gives one. Pieces are written one by one: a string or Buffer is sent, a
 * number is a pause in milliseconds, a promise is waited for, a function is called
 * and waited for, and the symbols below end the exchange in other ways than a clean
 * one. `before` holds pieces that are played before the head is sent; `raw: true`
 * sends no head at all.
 *
 * What the gateway asks to find out who this is, is not part of the play: it stands in `probes`, on
 * connections that are not counted, and gets what `probed` says, a function of the request; 404
 * without one.
 */
import http from 'node:http';
import { once } from 'node:events';
import { patience } from './patience.mjs';

export const HANG = Symbol('say nothing more, keep the connection');
export const CLOSE = Symbol('close the connection in the middle');
export const RESET = Symbol('reset the connection');

const tick = () => new Promise((done) => setImmediate(done));
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

class Upstream {
    requests = [];
    served = 0; /* how many, whoever has emptied `requests` */
    probes = [];
    probed = () => json(404, { error: { message: 'Not Found' } });
    connections = 0;
    #queue = [];
    #fallback = textStream('Hello');
    #waiting = new Set();
    #sockets = new Set();
    #asking = new WeakSet(); /* sockets of probes */
    #closing = new WeakMap(); /* socket -> promise of the time it closed */
    #server = http.createServer((req, res) => this.#serve(req, res));

    async listen(path, host = '127.0.0.1') {
        this.#server.on('connection', (socket) => {
            this.connections++;
            this.#sockets.add(socket);
            socket.on('close', () => this.#sockets.delete(socket));
            socket.setNoDelay(true);
            socket.on('error', () => {}); /* resets are part of the play */
            this.#closing.set(socket, new Promise((done) => socket.on('close', () => done(performance.now()))));
        });
        this.#server.keepAliveTimeout = 60_000;
        this.#server.listen(path ?? { port: 0, host });
        await once(this.#server, 'listening');
        this.port = this.#server.address().port;
        this.host = host;
        this.origin = path ? `unix:${path}` : `http://${host}:${this.port}`;
        this.url = `${this.origin}/v1`;
        return this;
    }

    next(...answers) {
        this.#queue.push(...answers);
    }

    always(answer) {
        this.#fallback = answer;
    }

    /* Forget what was asked and what was to be said; not who this is. */
    reset() {
        this.requests = [];
        this.#queue = [];
        this.#fallback = textStream('Hello');
    }

    /* The i-th request, as soon as it has arrived whole. */
    async request(i = 0, ms = 5000) {
        const deadline = performance.now() + patience(ms);
        while (!this.requests[i]?.whole) {
            if (performance.now() > deadline)
                throw new Error(`upstream: request ${i} did not arrive within ${ms} ms`);
            await new Promise((done) => {
                this.#waiting.add(done);
                setTimeout(done, 50);
            });
        }
        return this.requests[i];
    }

    async close() {
        if (!this.#server.listening)
            return; /* it was killed */
        this.#server.close();
        for (const socket of this.#sockets)
            socket.destroy();
        await once(this.#server, 'close').catch(() => {});
    }

    /* Gone as a process that was killed: connections are reset, new ones refused. Only over TCP. */
    async kill() {
        const gone = once(this.#server, 'close');
        this.#server.close();
        for (const socket of this.#sockets)
            socket.resetAndDestroy();
        await gone;
    }

    /* Listens again where it did before it was killed. */
    async revive() {
        this.#server.listen({ port: this.port, host: this.host });
        await once(this.#server, 'listening');
    }

    async #serve(req, res) {
        const seen = { method: req.method, path: req.url, headers: req.headers, whole: false };
        if (/^antiphon\//.test(req.headers['user-agent'])) {
            this.probes.push(seen);
            this.connections -= this.#asking.has(req.socket) ? 0 : 1;
            this.#asking.add(req.socket);
            seen.body = await bodyOf(req);
            await this.#play(await this.probed(seen), res);
            return;
        }
        seen.closed = this.#closing.get(req.socket).then((at) => (seen.closedAt = at));
        this.requests.push(seen);
        this.served++;
        const parts = [];
        try {
            for await (const part of req)
                parts.push(part);
        } catch {
            return; /* the gateway went away while sending */
        }
        seen.raw = Buffer.concat(parts);
        try {
            seen.body = JSON.parse(seen.raw);
        } catch {
            seen.body = undefined;
        }
        seen.whole = true;
        for (const wake of this.#waiting)
            wake();
        this.#waiting.clear();
        const answer = this.#queue.length > 0 ? this.#queue.shift() : this.#fallback;
        await this.#play(typeof answer === 'function' ? await answer(seen) : answer, res);
    }

    async #play(answer, res) {
        const { status = 200, headers = {}, before = [], pieces = [], raw = false } = answer;
        const { socket } = res;
        if (!await playPieces(before, socket, socket))
            return;
        if (!raw) {
            res.writeHead(status, headers);
            res.flushHeaders();
        }
        if (await playPieces(pieces, raw ? socket : res, socket))
            (raw ? socket : res).end();
    }
}

/* The JSON of a small body; undefined when there is none. */
async function bodyOf(req) {
    const parts = await req.toArray().catch(() => []);
    return parts.length > 0 ? JSON.parse(Buffer.concat(parts)) : undefined;
}

/* True when all pieces were said and a clean end may follow. */
async function playPieces(pieces, out, socket) {
    for (const piece of pieces) {
        if (socket.destroyed)
            return false;
        if (typeof piece === 'number') {
            await pause(piece);
        } else if (piece instanceof Promise) {
            await piece;
        } else if (typeof piece === 'function') {
            await piece();
        } else if (typeof piece === 'symbol') {
            if (piece === CLOSE)
                socket.destroySoon();
            if (piece === RESET)
                socket.resetAndDestroy();
            return false;
        } else {
            out.write(piece);
            await tick(); /* so that pieces tend to leave apart */
        }
    }
    return true;
}

export const startUpstream = (path, host) => new Upstream().listen(path, host);

/* ---- what a server may say ---- */

const SSE = { 'content-type': 'text/event-stream' };

export const stream = (pieces, headers = SSE) => ({ headers, pieces });

export const json = (status, body, headers = {}) => ({
    status,
    headers: { 'content-type': 'application/json', ...headers },
    pieces: [typeof body === 'string' ? body : JSON.stringify(body)],
});

export const failure = (status, message, more = {}, headers = {}) =>
    json(status, { error: { message, type: 'error', param: null, code: null, ...more } }, headers);

/* Answers to a request that is never answered. */
export const SILENCE = { before: [HANG] };

export const chunk = (delta, finish_reason = null, more = {}) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1767225600,
    model: 'upstream-model',
    choices: [{ index: 0, delta, finish_reason }],
    ...more,
});

export const usageChunk = (prompt_tokens, completion_tokens) => ({
    ...chunk({}),
    choices: [],
    usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
});

export const frames = (...values) =>
    values.map((v) => `data: ${typeof v === 'string' ? v : JSON.stringify(v)}\n\n`);

export const words = (text) => text.match(/\s*\S+|\s+$/g) ?? [];

/* A whole streamed answer with text, word by word. */
export function textStream(text, { reasoning = '', finish = 'stop' } = {}) {
    return stream(frames(
        chunk({ role: 'assistant', content: '' }),
        ...words(reasoning).map((w) => chunk({ reasoning_content: w })),
        ...words(text).map((w) => chunk({ content: w })),
        chunk({}, finish), usageChunk(9, words(text).length), '[DONE]'));
}

/* A whole streamed answer that calls tools: [name, arguments object, id]. */
export function callStream(...calls) {
    const pieces = calls.flatMap(([name, args, id = `call_${name}`], index) => {
        const text = JSON.stringify(args);
        const half = Math.ceil(text.length / 2);
        return [
            { index, id, type: 'function', function: { name, arguments: '' } },
            { index, function: { arguments: text.slice(0, half) } },
            { index, function: { arguments: text.slice(half) } },
        ];
    });
    return stream(frames(...pieces.map((p) => chunk({ tool_calls: [p] })),
        chunk({}, 'tool_calls'), usageChunk(20, 5), '[DONE]'));
}

/* ---- what the same server may say at /v1/completions ---- */

export const completionChunk = (text, finish_reason = null, more = {}) => ({
    id: 'cmpl-1',
    object: 'text_completion',
    created: 1767225600,
    model: 'upstream-model',
    choices: [{ index: 0, text, logprobs: null, finish_reason }],
    ...more,
});

export const completionUsage = (prompt_tokens, completion_tokens) => ({
    ...completionChunk(''),
    choices: [],
    usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
});

/* A model's own text, in these pieces: over /v1/completions, and as the content of a chat whose
 * server does not look into it. One write, unless the test needs to look in between. */
export const rawCompletion = (pieces, finish = 'stop') => stream([frames(
    ...[pieces].flat().map((text) => completionChunk(text)),
    completionChunk('', finish), completionUsage(20, 5), '[DONE]').join('')]);

export const rawChat = (pieces, finish = 'stop') => stream([frames(
    chunk({ role: 'assistant', content: '' }),
    ...[pieces].flat().map((content) => chunk({ content })),
    chunk({}, finish), usageChunk(20, 5), '[DONE]').join('')]);

export function splitEvery(bytes, size) {
    const pieces = [];
    for (let at = 0; at < bytes.length; at += size)
        pieces.push(bytes.subarray(at, at + size));
    return pieces;
}
