/* mcp_http.mjs -- the HTTP transports of the scripted MCP server.
 *
 * "http" is Streamable HTTP of both eras, "sse" the older HTTP+SSE. How it
 * behaves is in server.style, which a test may change at any time:
 *
 *     answer      'sse', 'json', 'sse-length' (Content-Length), 'sse-close' (ends with the connection)
 *     type        content type of those, when it is to be another one
 *     eol, bom    line ends of events, and whether a BOM comes first
 *     priming     null, or { retry } for a first event with an id and no data
 *     polling     true: the stream of a call ends after that one; a GET gets the answer
 *     get         'stream', or a status that refuses it
 *     accepted    [status, body] of the answer to notifications
 *     sessions    false: it gives no session ids
 *     lost        404 or 400: how it answers to a session id that it does not know
 *     strict      false: modern headers are not looked at
 *     endpoint    of HTTP+SSE: what its first event says
 *     onRequest   function of the exchange; what http() it returns is the answer
 *
 * server.exchanges has every request: { method, path, headers, body, at, gone }.
 */
import { randomUUID } from 'node:crypto';
import nodeHttp from 'node:http';
import { once } from 'node:events';
import { HANG, LOST, MODERN, isHttp, http } from './mcp_server.mjs';

const JSON_TYPE = 'application/json';
const SSE_TYPE = 'text/event-stream';
const rpcFailure = (status, code, message, id = null) =>
    http(status, JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id }), { 'content-type': JSON_TYPE });

const LOST_ANSWERS = {
    404: rpcFailure(404, -32001, 'Session not found'),
    400: rpcFailure(400, -32000, 'Bad Request: No valid session ID provided'),
};

/* ---- one stream of events ---- */

class Events {
    constructor(res, style) {
        Object.assign(this, { res, style });
        if (style.bom)
            res.write('\ufeff');
    }

    write(fields) {
        const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
        this.res.write([...lines, '', ''].join(this.style.eol));
    }

    message(message, id) {
        this.write({ event: 'message', ...(id && { id }), data: JSON.stringify(message) });
    }
}

/* ---- the answer to one POST ---- */

class Answer {
    #events;

    constructor(exchange, server) {
        Object.assign(this, { exchange, server, style: server.style, res: exchange.res });
    }

    #head(status, headers) {
        const { session } = this.exchange;
        this.res.writeHead(status, { ...headers, ...(session?.id && { 'mcp-session-id': session.id }) });
    }

    /* The stream, opened when there is something to say. */
    open() {
        if (this.#events === undefined) {
            this.res.useChunkedEncodingByDefault = this.style.answer !== 'sse-close';
            this.#head(200, { 'content-type': this.style.type ?? SSE_TYPE });
            this.res.flushHeaders();
            this.#events = new Events(this.res, this.style);
            if (this.style.priming) {
                this.id = randomUUID();
                this.#events.write({ id: this.id, ...(this.style.priming.retry !== undefined && { retry: this.style.priming.retry }), data: '' });
            }
        }
        return this.#events;
    }

    send(message) {
        this.open().message(message);
    }

    /* Ends the stream now; the answer waits for a GET that names its event. */
    postpone() {
        this.open();
        this.res.end();
        this.server.postponed.set(this.id, new Promise((done) => (this.postponed = done)));
    }

    finish(answer) {
        if (answer === HANG)
            return;
        if (answer === LOST)
            this.#lose();
        else if (this.postponed)
            this.postponed(answer);
        else if (isHttp(answer))
            this.#plain(answer);
        else
            this.#message(answer);
    }

    /* The stream has begun, and breaks off. */
    #lose() {
        this.open();
        this.res.write(': gone\n\n', () => this.res.destroy());
    }

    #plain({ status, body, headers }) {
        this.#head(status, { 'content-length': Buffer.byteLength(body), ...headers });
        this.res.end(body);
    }

    #message(message) {
        const { answer, type } = this.style;
        const status = message.error && this.exchange.isModern ? STATUS_OF[message.error.code] ?? 200 : 200;
        if (this.#events || (answer !== 'json' && status === 200 && answer !== 'sse-length')) {
            this.open().message(message);
            this.res.end();
        } else if (answer === 'sse-length' && status === 200) {
            this.#plain(http(200, `event: message\ndata: ${JSON.stringify(message)}\n\n`, { 'content-type': type ?? SSE_TYPE }));
        } else {
            this.#plain(http(status, JSON.stringify(message), { 'content-type': type ?? JSON_TYPE }));
        }
    }
}

const STATUS_OF = { '-32601': 404, '-32020': 400, '-32021': 400, '-32022': 400 };

/* ---- modern headers ---- */

const decoded = (value) => {
    const [, base64] = value?.match(/^=\?base64\?(.*)\?=$/) ?? [];
    return base64 === undefined ? value : Buffer.from(base64, 'base64').toString();
};

/* What headers and body disagree in, or null. */
function disagreement(headers, { method, params }, server) {
    const version = params?._meta?.['io.modelcontextprotocol/protocolVersion'];
    if (headers['mcp-protocol-version'] !== version)
        return 'MCP-Protocol-Version';
    if (headers['mcp-method'] !== method)
        return 'Mcp-Method';
    if (method !== 'tools/call')
        return null;
    if (decoded(headers['mcp-name']) !== params.name)
        return 'Mcp-Name';
    const { properties = {} } = server.tools[params.name]?.inputSchema ?? {};
    for (const [name, { 'x-mcp-header': mirrored }] of Object.entries(properties)) {
        const value = params.arguments[name];
        const wanted = value === undefined || value === null ? undefined : String(value);
        if (mirrored !== undefined && decoded(headers[`mcp-param-${mirrored.toLowerCase()}`]) !== wanted)
            return `Mcp-Param-${mirrored}`;
    }
    return null;
}

/* ---- the server ---- */

class Front {
    #sessions = new Map();
    #shared = { id: undefined }; /* the session of those that have none */

    constructor(server, { transport, style }) {
        Object.assign(this, { server, isSse: transport === 'sse' });
        server.exchanges = [];
        server.forget = () => (server.exchanges.length = 0);
        server.postponed = new Map();
        server.style = { answer: 'sse', type: undefined, eol: '\n', bom: false, priming: null, polling: false, get: 'stream', accepted: [202, ''], sessions: true, lost: 404, strict: true, ...style };
        server.forgetSessions = (lost = server.style.lost) => {
            server.style.lost = lost;
            this.#sessions.clear();
        };
        server.dropStreams = () => server.sessions.forEach(({ streams = [] }) => streams.forEach(({ res }) => res.destroy()));
    }

    async listen() {
        const { server } = this;
        this.http = nodeHttp.createServer((req, res) => this.#serve(req, res).catch((error) => {
            server.fault = error;
            res.destroy();
        }));
        this.http.keepAliveTimeout = 60_000;
        server.connections = 0;
        this.http.on('connection', (socket) => {
            server.connections++;
            socket.on('error', () => {});
        });
        this.http.listen(0, '127.0.0.1');
        await once(this.http, 'listening');
        server.port = this.http.address().port;
        server.url = `http://127.0.0.1:${server.port}${this.isSse ? '/sse' : '/mcp'}`;
        server.entry = { url: server.url };
        server.close = async () => {
            this.http.close();
            this.http.closeAllConnections();
            await once(this.http, 'close').catch(() => {});
            if (server.fault)
                throw server.fault;
        };
        return server;
    }

    async #serve(req, res) {
        const { server } = this;
        const exchange = { method: req.method, path: req.url, headers: req.headers, at: performance.now(), res };
        server.exchanges.push(exchange);
        res.on('close', () => {
            exchange.gone = performance.now();
            if (!res.writableFinished)
                exchange.onGone?.();
            server.changed();
        });
        const parts = [];
        for await (const part of req)
            parts.push(part);
        exchange.body = Buffer.concat(parts).toString();
        server.changed();
        const own = await server.style.onRequest?.(exchange);
        if (own !== undefined)
            new Answer(exchange, server).finish(own);
        else if (this.isSse)
            this.#serveSse(exchange);
        else
            await this.#serveStreamable(exchange);
    }

    /* ---- Streamable HTTP ---- */

    async #serveStreamable(exchange) {
        const { method, headers, path } = exchange;
        const answer = new Answer(exchange, this.server);
        if (new URL(path, this.server.url).pathname !== '/mcp')
            return answer.finish(http(404, 'Not Found', { 'content-type': 'text/plain' }));
        const id = headers['mcp-session-id'];
        exchange.session = id === undefined ? undefined : this.#sessions.get(id);
        if (id !== undefined && exchange.session === undefined)
            return answer.finish(LOST_ANSWERS[this.server.style.lost]);
        if (method === 'GET')
            return this.#openStream(exchange, answer);
        if (method === 'DELETE') {
            this.#sessions.delete(id);
            return answer.finish(http(exchange.session ? 200 : 405));
        }
        if (method !== 'POST' || !headers.accept?.includes(SSE_TYPE) || !headers.accept.includes(JSON_TYPE))
            return answer.finish(rpcFailure(406, -32000, 'Not Acceptable'));
        return this.#post(exchange, answer);
    }

    async #post(exchange, answer) {
        const { server } = this;
        const message = JSON.parse(exchange.body);
        exchange.isModern = message.params?._meta?.['io.modelcontextprotocol/protocolVersion'] !== undefined;
        const refused = this.#refused(exchange, message);
        if (refused !== null)
            return answer.finish(refused);
        if (message.method === 'initialize' && server.era !== 'modern' && server.style.sessions)
            exchange.session = this.#newSession();
        const session = exchange.session ?? this.#shared;
        if (session === this.#shared && !server.sessions.includes(session))
            server.sessions.push(session);
        if (server.style.polling && message.method === 'tools/call')
            answer.postpone();
        const way = {
            session, headers: exchange.headers,
            send: (more) => answer.send(more),
            reply: (it) => answer.finish(it),
            onGone: (then) => (exchange.onGone = then),
        };
        await server.take(message, way);
        if (message.id === undefined || message.method === undefined)
            answer.finish(http(...server.style.accepted));
    }

    #refused(exchange, message) {
        const { server } = this;
        const { id } = message;
        if (exchange.isModern && server.era === 'legacy')
            return rpcFailure(400, -32000, 'Bad Request: Server not initialized', id);
        if (exchange.isModern) {
            const header = server.style.strict ? disagreement(exchange.headers, message, server) : null;
            return header && rpcFailure(400, -32020, `the request headers and body disagree: ${header}`, id);
        }
        if (server.era === 'modern' && message.method !== 'initialize')
            return rpcFailure(400, -32020, `Missing MCP-Protocol-Version: ${MODERN}`, id);
        if (server.style.sessions && message.method !== 'initialize' && exchange.session === undefined && server.era !== 'modern')
            return LOST_ANSWERS[400];
        return null;
    }

    #newSession() {
        const session = { id: randomUUID(), streams: new Set() };
        session.push = (message) => session.streams.forEach((events) => events.message(message));
        this.#sessions.set(session.id, session);
        this.server.sessions.push(session);
        return session;
    }

    async #openStream(exchange, answer) {
        const { server } = this;
        const last = exchange.headers['last-event-id'];
        if (last !== undefined && server.postponed.has(last))
            return answer.finish(await server.postponed.get(last));
        if (server.style.get !== 'stream' || server.era === 'modern' || exchange.session === undefined)
            return answer.finish(rpcFailure(server.style.get === 'stream' ? 405 : server.style.get, -32000, 'Method not allowed.'));
        exchange.res.writeHead(200, { 'content-type': SSE_TYPE });
        exchange.res.flushHeaders();
        this.#keepStream(exchange.session, exchange.res);
    }

    #keepStream(session, res) {
        const events = new Events(res, this.server.style);
        session.streams.add(events);
        res.on('close', () => {
            session.streams.delete(events);
            this.server.changed();
        });
        this.server.changed();
        return events;
    }

    /* ---- HTTP+SSE ---- */

    #serveSse(exchange) {
        const { server } = this;
        const { pathname, searchParams } = new URL(exchange.path, server.url);
        const answer = new Answer(exchange, server);
        if (exchange.method === 'GET' && pathname === '/sse') {
            exchange.res.writeHead(200, { 'content-type': SSE_TYPE });
            const session = this.#newSession();
            const endpoint = server.style.endpoint ?? `/message?sessionId=${session.id}`;
            this.#keepStream(session, exchange.res).write({ event: 'endpoint', data: endpoint });
        } else if (exchange.method === 'POST' && pathname === '/message') {
            this.#postToStream(exchange, answer, this.#sessions.get(searchParams.get('sessionId')));
        } else {
            answer.finish(http(404, 'Not Found', { 'content-type': 'text/html' }));
        }
    }

    #postToStream(exchange, answer, session) {
        const { server } = this;
        if (session === undefined || session.streams.size === 0)
            return; /* as servers do for a session that is gone: no answer at all */
        answer.finish(http(...server.style.accepted));
        const reply = (it) => {
            if (it === LOST)
                session.streams.forEach(({ res }) => res.destroy());
            else if (typeof it !== 'symbol' && !isHttp(it))
                session.push(it);
        };
        server.take(JSON.parse(exchange.body), { session, headers: exchange.headers, send: session.push, reply })
            .catch((error) => (server.fault = error));
    }
}

export const serve = (server, options) => new Front(server, options).listen();
