/* mcp_server.mjs -- an MCP server that does what the test tells it to, and
 * remembers what it was sent.
 *
 *     const server = await startMcp({ tools: { echo: ({ message }) => message } });
 *     server.entry                      // its entry for the gateway's file of servers
 *     server.calls                      // [{ name, arguments, id, headers, session, cancelled }]
 *     await server.until(() => server.calls.length === 2);
 *     await server.close();
 *
 * `transport` is "http" (the default), "sse" or "stdio"; mcp_http.mjs and
 * mcp_pipe.mjs are those. All of them run in the test's process, also the
 * server behind stdio: its child only carries lines to and fro. `era` is
 * "legacy" (the default), "modern" or "both".
 *
 * A tool is a function of (arguments, call), or { call, description,
 * inputSchema, annotations ... } with it. What it returns, also as a promise:
 *
 *     'text'              a result of one text
 *     [part ...]          a result of these parts
 *     { content: ... }    a result as it is
 *     HANG                no answer, ever
 *     LOST                the stream of the answer ends without it; with stdio, the process
 *     http(status ...)    an answer of HTTP alone
 *     throw rpcError()    a JSON-RPC error
 *
 * and `call` has progress(n), notify(method, params), ended (a promise that
 * comes true when the call is cancelled) and session. `on(method, function)`
 * takes any other method over; undefined from it means the usual answer.
 */
import { patience } from './patience.mjs';

export const HANG = Symbol('no answer, ever');
export const LOST = Symbol('the stream ends without an answer');

export class RpcError extends Error {
    constructor(code, message, data) {
        super(message);
        Object.assign(this, { code, data });
    }
}

export const rpcError = (code, message, data) => new RpcError(code, message, data);

/* An answer of the HTTP server in place of a JSON-RPC message. */
export const http = (status, body = '', headers = {}) => ({ [HTTP]: true, status, body, headers });
const HTTP = Symbol('http');
export const isHttp = (answer) => answer?.[HTTP] === true;

/* ---- parts of results ---- */

export const text = (words) => ({ type: 'text', text: words });
export const failed = (...parts) => ({ content: parts.map((part) => (typeof part === 'string' ? text(part) : part)), isError: true });
export const image = (base64, mimeType = 'image/png') => ({ type: 'image', data: base64, mimeType });

/* ---- versions ---- */

export const MODERN = '2026-07-28';
export const LEGACY = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
const META = 'io.modelcontextprotocol/';

const OBJECT = { type: 'object' };

/* Tools that most tests are content with. */
export const TOOLS = {
    echo: {
        description: 'Says it again',
        inputSchema: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
        annotations: { readOnlyHint: true },
        call: ({ message }) => `Echo: ${message}`,
    },
    add: {
        description: 'Adds two numbers',
        inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
        call: ({ a, b }) => String(a + b),
    },
    fail: { description: 'Fails', call: () => failed('It did not work.') },
    hang: { description: 'Never answers', call: () => HANG },
};

export class McpServer {
    received = []; /* every message: { method, params, id, message, session, headers, at } */
    calls = [];
    sessions = []; /* of the transport: HTTP sessions, SSE streams or child processes */
    #waiting = new Set();
    #handlers = new Map();

    constructor({
        tools = TOOLS, era = 'legacy', versions, pages = 0, capabilities = { tools: { listChanged: true } },
        instructions, ttlMs = 60_000, cacheScope = 'private', name = 'scripted',
    } = {}) {
        this.tools = tools;
        this.era = era;
        this.versions = versions ?? LEGACY;
        Object.assign(this, { pages, capabilities, instructions, ttlMs, cacheScope, name });
    }

    on(method, handler) {
        this.#handlers.set(method, handler);
        return this;
    }

    /* Forget what was sent and what was to be done otherwise. */
    reset() {
        this.received.length = 0;
        this.calls.length = 0;
        this.#handlers.clear();
        this.forget?.(); /* of the transport */
    }

    /* ---- what came ---- */

    of(method) {
        return this.received.filter((one) => one.method === method);
    }

    get cancelled() {
        return this.of('notifications/cancelled').map(({ params }) => params.requestId);
    }

    /* Waits until the function is true; it is asked whenever something arrived. */
    async until(met, ms = 10_000) {
        const deadline = performance.now() + patience(ms);
        while (!met()) {
            if (performance.now() > deadline)
                throw new Error(`MCP server: waited ${ms} ms for ${met}; received:\n${this.received.map(({ message }) => JSON.stringify(message).slice(0, 200)).join('\n')}`);
            await new Promise((done) => {
                this.#waiting.add(done);
                setTimeout(done, 50);
            });
        }
        return this;
    }

    async called(n = 1, ms = 10_000) {
        await this.until(() => this.calls.length >= n, ms);
        return this.calls[n - 1];
    }

    changed() {
        for (const wake of this.#waiting)
            wake();
        this.#waiting.clear();
    }

    /* ---- what is answered ---- */

    /* One message of the client's. `way.reply(message | HTTP answer | LOST)` ends
     * the exchange, `way.send(message)` says something before; both may do nothing. */
    async take(message, way) {
        const { method, params, id } = message;
        const seen = { method, params, id, message, session: way.session, headers: way.headers, at: performance.now() };
        this.received.push(seen);
        if (method === 'notifications/cancelled')
            this.#cancel(params?.requestId, way.session);
        this.changed();
        if (method === undefined || id === undefined)
            return;
        way.reply(await this.#answer(seen, way));
    }

    async #answer(seen, way) {
        const { id } = seen;
        try {
            const own = await this.#handlers.get(seen.method)?.(seen.params ?? {}, { ...seen, way });
            const result = own ?? await this.#usual(seen, way);
            if (typeof result === 'symbol' || isHttp(result))
                return result;
            return { jsonrpc: '2.0', id, result: this.#isModern(seen) ? this.#modern(result) : result };
        } catch (error) {
            if (!(error instanceof RpcError))
                throw error;
            return { jsonrpc: '2.0', id, error: { code: error.code, message: error.message, data: error.data } };
        }
    }

    #isModern({ params }) {
        return this.era !== 'legacy' && params?._meta?.[`${META}protocolVersion`] !== undefined;
    }

    #modern(result) {
        return { resultType: 'complete', ...result, _meta: { [`${META}serverInfo`]: { name: this.name, version: '1.0.0' } } };
    }

    #usual(seen, way) {
        switch (seen.method) {
        case 'initialize': return this.#initialize(seen.params);
        case 'ping': return {};
        case 'server/discover': return this.#discover(seen);
        case 'tools/list': return this.#list(seen);
        case 'tools/call': return this.#call(seen, way);
        case 'subscriptions/listen': return this.#listen(seen, way);
        }
        throw rpcError(-32601, 'Method not found');
    }

    #initialize({ protocolVersion }) {
        if (this.era === 'modern')
            throw rpcError(-32022, `Unsupported protocol version: ${protocolVersion}`, { supported: [MODERN], requested: protocolVersion });
        return {
            protocolVersion: this.versions.includes(protocolVersion) ? protocolVersion : this.versions[0],
            capabilities: this.capabilities,
            serverInfo: { name: this.name, version: '1.0.0' },
            instructions: this.instructions,
        };
    }

    #discover(seen) {
        if (this.era === 'legacy')
            throw rpcError(-32601, 'Method not found');
        this.#checkVersion(seen);
        return {
            supportedVersions: [MODERN], capabilities: this.capabilities, instructions: this.instructions,
            ttlMs: this.ttlMs, cacheScope: this.cacheScope,
        };
    }

    #checkVersion({ params }) {
        const requested = params?._meta?.[`${META}protocolVersion`];
        if (requested !== MODERN)
            throw rpcError(-32022, `Unsupported protocol version: ${requested}`, { supported: [MODERN], requested });
    }

    /* The tools as they are listed; `tools` may also be such a list's function. */
    get listed() {
        return Object.entries(this.tools).map(([name, tool]) => {
            const { call, ...described } = typeof tool === 'function' ? {} : tool;
            return { name, inputSchema: OBJECT, ...described };
        });
    }

    #list(seen) {
        const { cursor } = seen.params ?? {};
        const all = this.listed;
        const more = this.#isModern(seen) ? { ttlMs: this.ttlMs, cacheScope: this.cacheScope } : {};
        if (this.pages === 0)
            return { tools: all, ...more };
        const at = cursor === undefined ? 0 : Number(cursor.replace('page-', ''));
        const size = Math.ceil(all.length / this.pages);
        const isLast = at + 1 >= this.pages;
        return { tools: all.slice(at * size, (at + 1) * size), nextCursor: isLast ? undefined : `page-${at + 1}`, ...more };
    }

    async #call(seen, way) {
        const { name, arguments: args, _meta } = seen.params;
        let end;
        const ended = new Promise((done) => (end = done));
        const call = { name, arguments: args, meta: _meta, id: seen.id, headers: seen.headers, session: way.session, params: seen.params, cancelled: false, ended, end, at: seen.at };
        this.calls.push(call);
        way.onGone?.(() => (call.gone = performance.now(), end(), this.changed()));
        this.changed();
        const tool = this.tools[name];
        if (tool === undefined)
            throw rpcError(-32602, `Unknown tool: ${name}`);
        call.notify = (method, params) => way.send({ jsonrpc: '2.0', method, params });
        call.progress = (progress, total) => call.notify('notifications/progress', { progressToken: _meta?.progressToken, progress, total });
        const result = await (typeof tool === 'function' ? tool : tool.call)(args, call, way);
        if (typeof result === 'string')
            return { content: [text(result)] };
        return Array.isArray(result) ? { content: result } : result;
    }

    #cancel(id, session) {
        const call = this.calls.find((one) => one.id === id && one.session === session);
        if (call !== undefined) {
            call.cancelled = true;
            call.end();
        }
    }

    #listen({ id, params }, way) {
        if (this.era === 'legacy')
            throw rpcError(-32601, 'Method not found');
        const tagged = (method, more = {}) => ({ jsonrpc: '2.0', method, params: { ...more, _meta: { [`${META}subscriptionId`]: id } } });
        way.send(tagged('notifications/subscriptions/acknowledged', { notifications: params.notifications }));
        way.session.listeners ??= new Set();
        const listener = (method) => way.send(tagged(method));
        way.session.listeners.add(listener);
        way.onGone?.(() => way.session.listeners.delete(listener));
        return HANG;
    }

    /* ---- what is said unasked ---- */

    /* Replaces the tools and tells every client that listens. */
    changeTools(tools = this.tools) {
        this.tools = tools;
        for (const session of this.sessions)
            this.tell(session, 'notifications/tools/list_changed');
    }

    tell(session, method, params) {
        if (this.era === 'modern') /* where only those hear of it who asked */
            session.listeners?.forEach((listener) => listener(method));
        else
            session.push?.({ jsonrpc: '2.0', method, params });
    }
}

export async function startMcp({ transport = 'http', ...options } = {}) {
    const { serve } = transport === 'stdio' ? await import('./mcp_pipe.mjs') : await import('./mcp_http.mjs');
    const server = await serve(new McpServer(options), { transport, ...options });
    const close = server.close;
    let closing;
    server.close = () => (closing ??= close());
    return server;
}
