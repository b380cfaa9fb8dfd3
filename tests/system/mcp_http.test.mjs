/* mcp_http.test.mjs -- MCP servers behind HTTP: how they are found out, every form
 * of their answers, sessions that get lost, streams that break off. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import nodeHttp from 'node:http';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { folder } from '../lib/folder.mjs';
import { declared, gateway, pause, sharedGateway, shown } from '../lib/mcp.mjs';
import { HANG, LOST, MODERN, TOOLS, http, rpcError, startMcp } from '../lib/mcp_server.mjs';
import { ABOUT_TIME } from '../lib/patience.mjs';
import { callStream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const FAKE = { tools: [declared('fake')] };
const echo = (message, id = 'c1') => [shown('fake', 'echo'), { message }, id];
const JSON_TYPE = { 'content-type': 'application/json' };

async function called(g, call) {
    g.up.next(callStream(call), textStream('Done.'));
    const { output: [item] } = await g.respond(FAKE);
    return item;
}

async function started(t, { entry = {}, args = [], wait = true, prepare = () => {}, ...options } = {}) {
    const fake = await startMcp(options);
    Object.assign(fake.entry, entry);
    prepare(fake);
    const g = await gateway(t, { servers: { fake }, args, wait, captures });
    return { g, fake };
}

const posts = (fake, method) => fake.exchanges.filter((one) => one.method === 'POST' && one.body.includes(`"${method}"`));

describe('what is sent', () => {
    test('to a legacy server: session and version on every message behind the handshake', async (t) => {
        const { g, fake } = await started(t, { entry: { headers: { 'X-Own': 'mine' }, bearerToken: 'tok-1' } });
        await called(g, echo('hi'));
        const sent = fake.exchanges.filter(({ method }) => method === 'POST');
        for (const { headers, body } of sent) {
            assert.equal(headers['content-type'], 'application/json');
            assert.match(headers.accept, /application\/json/);
            assert.match(headers.accept, /text\/event-stream/);
            assert.deepEqual([headers['x-own'], headers.authorization, headers.expect], ['mine', 'Bearer tok-1', undefined]);
            assert.ok(!Array.isArray(JSON.parse(body)), 'never a batch');
        }
        const [initialize] = posts(fake, 'initialize');
        assert.equal(initialize.headers['mcp-session-id'], undefined);
        for (const { headers } of sent.slice(sent.indexOf(initialize) + 1)) {
            assert.equal(headers['mcp-session-id'], fake.sessions.at(-1).id);
            assert.equal(headers['mcp-protocol-version'], '2025-11-25');
        }
        assert.equal((await g.servers()).fake.transport, 'streamable_http');
    });

    test('to a modern server: version, method and name in the headers of every request', async (t) => {
        const { g, fake } = await started(t, { era: 'modern' });
        assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
        const sent = fake.exchanges.map(({ body }) => JSON.parse(body));
        assert.deepEqual(sent.map(({ method }) => method).filter((method) => method !== 'subscriptions/listen'), ['server/discover', 'tools/list', 'tools/call']);
        for (const [i, { headers, method }] of fake.exchanges.entries()) {
            assert.equal(method, 'POST');
            assert.deepEqual([headers['mcp-protocol-version'], headers['mcp-method'], headers['mcp-session-id']], [MODERN, sent[i].method, undefined]);
            assert.equal(headers['mcp-name'], sent[i].method === 'tools/call' ? 'echo' : undefined);
            assert.equal(sent[i].params._meta['io.modelcontextprotocol/protocolVersion'], MODERN);
            assert.deepEqual(sent[i].params._meta['io.modelcontextprotocol/clientCapabilities'], {});
        }
    });

    test('the end of the gateway deletes the session', async (t) => {
        const { g, fake } = await started(t);
        await called(g, echo('hi'));
        await g.close();
        const { method, headers } = fake.exchanges.at(-1);
        assert.deepEqual([method, headers['mcp-session-id']], ['DELETE', fake.sessions.at(-1).id]);
    });
});

describe('finding out what a server speaks', () => {
    /* [what it answers to the first request] */
    for (const [what, answer] of [
        ['400 and a JSON-RPC error', () => http(400, '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}', JSON_TYPE)],
        ['200 and {}', () => http(200, '{}', JSON_TYPE)],
        ['200 and an empty result', () => http(200, '{"jsonrpc":"2.0","id":1,"result":{}}', JSON_TYPE)],
        ['404', () => http(404, 'Not Found')],
        ['405', () => http(405)],
        ['500', () => http(500, 'oops')],
        ['-32601', () => http(200, '{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}', JSON_TYPE)],
    ]) {
        test(`${what} to server/discover: the handshake of older servers follows`, async (t) => {
            const { g } = await started(t, { style: { onRequest: ({ body }) => (body.includes('server/discover') ? answer() : undefined) } });
            assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
        });
    }

    test('-32022 with a version we speak: asked again once', async (t) => {
        let refusals = 1;
        const { g, fake } = await started(t, {
            era: 'modern',
            prepare: (server) => server.on('server/discover', () => {
                if (refusals-- > 0)
                    throw rpcError(-32022, 'Unsupported protocol version', { supported: [MODERN], requested: MODERN });
            }),
        });
        assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
        assert.equal(fake.of('server/discover').length, 2);
        assert.equal(fake.of('initialize').length, 0);
    });

    test('-32022 with unknown versions alone: failed, without a handshake', async (t) => {
        const { g, fake } = await started(t, {
            era: 'modern', wait: false,
            prepare: (server) => server.on('server/discover', () => {
                throw rpcError(-32022, 'Unsupported protocol version', { supported: ['2031-01-01'] });
            }),
        });
        await g.untilServers((servers) => servers.fake.error);
        assert.equal((await g.servers()).fake.available, false);
        assert.equal(fake.of('initialize').length, 0);
    });

    test('protocol legacy: no discovery; protocol 2026-07-28: nothing but it', async (t) => {
        const [old, modern] = [await startMcp(), await startMcp({ era: 'both' })];
        old.entry.protocol = 'legacy';
        modern.entry.protocol = MODERN;
        await gateway(t, { servers: { old, modern }, captures });
        assert.deepEqual([old.of('server/discover').length, modern.of('initialize').length], [0, 0]);
    });

    for (const [what, entry] of [['by its URL', {}], ['by its type', { type: 'sse' }]]) {
        test(`HTTP+SSE, found out ${what}`, async (t) => {
            const { g, fake } = await started(t, { transport: 'sse', entry });
            assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
            assert.equal((await g.servers()).fake.transport, 'sse');
            assert.equal(fake.exchanges.filter(({ method }) => method === 'GET').length, 1);
        });
    }

    test('HTTP+SSE behind a URL that says nothing about it: after POST was refused', async (t) => {
        const fake = await startMcp({ transport: 'sse' });
        /* A front that gives the same server another path. */
        const front = nodeHttp.createServer((req, res) => req.pipe(nodeHttp.request({
            port: fake.port, method: req.method, headers: req.headers, path: req.url === '/rpc' ? '/sse' : req.url,
        }, (answer) => {
            res.writeHead(answer.statusCode, answer.headers);
            res.flushHeaders();
            answer.pipe(res);
        }).on('error', () => res.destroy())));
        front.listen(0, '127.0.0.1');
        await once(front, 'listening');
        t.after(() => (front.closeAllConnections(), front.close()));
        fake.entry.url = `http://127.0.0.1:${front.address().port}/rpc`;
        const g = await gateway(t, { servers: { fake }, captures });
        assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
    });

    test('an endpoint of another origin is refused', async (t) => {
        const other = await startMcp();
        t.after(() => other.close());
        const { g } = await started(t, { transport: 'sse', wait: false, style: { endpoint: `${other.url.replace('/mcp', '')}/message` } });
        await g.untilServers((servers) => servers.fake.error);
        assert.equal(other.exchanges.length, 0);
    });

    test('an endpoint given as a whole URL of the same origin is taken', async (t) => {
        const { g } = await started(t, {
            transport: 'sse',
            prepare: (server) => Object.defineProperty(server.style, 'endpoint', { get: () => `http://127.0.0.1:${server.port}/message?sessionId=${server.sessions.at(-1).id}` }),
        });
        assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
    });
});

describe('forms of answers', { concurrency: false }, () => {
    const g = sharedGateway({ before, beforeEach, after }, captures, async () => ({ servers: { fake: await startMcp() } }));
    const server = () => g.options.servers.fake;
    const usual = { answer: 'sse', type: undefined, eol: '\n', bom: false, priming: null, polling: false, get: 'stream', accepted: [202, ''], onRequest: undefined };
    beforeEach(() => Object.assign(server().style, usual));

    /* [what, style] */
    for (const [what, style] of [
        ['JSON', { answer: 'json' }],
        ['JSON with parameters in its type', { answer: 'json', type: 'Application/JSON; charset=utf-8' }],
        ['events in chunks', { answer: 'sse' }],
        ['events with a length', { answer: 'sse-length' }],
        ['events until the connection ends', { answer: 'sse-close' }],
        ['events with CRLF', { eol: '\r\n' }],
        ['events with CR', { eol: '\r' }],
        ['events behind a BOM', { bom: true }],
        ['events behind one without data', { priming: {} }],
        ['events with parameters in their type', { type: 'Text/Event-Stream;charset=utf-8' }],
    ]) {
        test(what, async () => {
            Object.assign(server().style, style);
            assert.equal((await called(g, echo('hi \u2028 \u{1f600}'))).output, 'Echo: hi \u2028 \u{1f600}');
        });
    }

    test('JSON in an array', async () => {
        server().on('tools/call', (_, { id }) => http(200, JSON.stringify([{ jsonrpc: '2.0', method: 'notifications/x' }, { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'in it' }] } }]), JSON_TYPE));
        assert.equal((await called(g, echo('hi'))).output, 'in it');
    });

    test('events with comments, fields nobody knows, and data in several lines', async () => {
        server().on('tools/call', (_, { id }) => http(200,
            `: hello\n\nfoo: bar\nid: 1\n\nevent: other\ndata: {"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[]}}\n\nevent: message\ndata: {"jsonrpc":"2.0","id":${JSON.stringify(id)},\ndata: "result":{"content":[{"type":"text","text":"lines"}]}}\n\n`,
            { 'content-type': 'text/event-stream' }));
        assert.equal((await called(g, echo('hi'))).output, 'lines');
    });

    test('requests and progress before the answer, on its stream', async () => {
        server().on('tools/call', (_, { way }) => {
            way.send({ jsonrpc: '2.0', id: 1, method: 'ping' });
            way.send({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } });
        });
        assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
        await server().until(() => server().received.some(({ message }) => message.result && message.id === 1));
    });

    test('the answer to a call on the stream of another', async () => {
        let first;
        server().on('tools/call', (_, { id, way }) => {
            if (first === undefined) {
                first = id;
                return HANG;
            }
            way.send({ jsonrpc: '2.0', id: first, result: { content: [{ type: 'text', text: 'for the first' }] } });
        });
        g.up.next(callStream(echo('a', 'c1'), echo('b', 'c2')), textStream('Done.'));
        const { output: items } = await g.respond(FAKE);
        assert.deepEqual(items.slice(0, 2).map((item) => item.output).sort(), ['Echo: b', 'for the first'].sort());
    });

    for (const accepted of [[200, '{}'], [200, ''], [202, ''], [202, 'Accepted'], [204, '']]) {
        test(`a notification answered with ${accepted.join(' ')} is accepted`, async () => {
            server().style.accepted = accepted;
            server().forgetSessions();
            assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
        });
    }

    test('errors with status 400 whose id is null or foreign belong to the call', async () => {
        for (const id of [null, 12345]) {
            server().on('tools/call', () => http(400, JSON.stringify({ jsonrpc: '2.0', error: { code: -32600, message: 'Bad call' }, id }), JSON_TYPE));
            assert.equal((await called(g, echo('hi'))).error, 'Bad call (-32600)');
        }
    });

    test('a redirect within the origin is followed with the same method', async () => {
        const path = new URL(server().url).pathname;
        server().style.onRequest = ({ body, path: at }) => (body.includes('"tools/call"') && at === path ? http(307, '', { location: `${path}?again=1` }) : undefined);
        assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
        assert.equal(server().calls.length, 1);
    });

    test('a redirect to another origin is not followed', async (t) => {
        const other = await startMcp();
        t.after(() => other.close());
        server().style.onRequest = ({ body }) => (body.includes('"tools/call"') ? http(307, '', { location: other.url }) : undefined);
        assert.equal((await called(g, echo('hi'))).status, 'failed');
        assert.equal(other.exchanges.length, 0);
    });
});

describe('lost sessions', () => {
    for (const status of [404, 400]) {
        test(`${status} under ten calls at once: one new handshake, and all of them succeed`, async (t) => {
            const { g, fake } = await started(t, { entry: { maxConcurrency: 10 } });
            const before = fake.of('initialize').length;
            fake.forgetSessions(status);
            g.up.next(callStream(...Array.from({ length: 10 }, (_, i) => echo(`${i}`, `c${i}`))), textStream('Done.'));
            const { output: items } = await g.respond(FAKE);
            assert.deepEqual(items.slice(0, 10).map((item) => item.output), Array.from({ length: 10 }, (_, i) => `Echo: ${i}`));
            assert.equal(fake.of('initialize').length, before + 1);
            assert.equal(fake.calls.length, 10, 'each is run once');
        });
    }

    test('404 without a session is no lost session', async (t) => {
        const { g, fake } = await started(t, { style: { sessions: false } });
        fake.style.onRequest = ({ body }) => (body.includes('"tools/call"') ? http(404, 'Not Found') : undefined);
        const before = fake.of('initialize').length;
        assert.equal((await called(g, echo('hi'))).error, 'MCP server fake: HTTP 404');
        assert.equal(fake.of('initialize').length, before);
    });

    for (const get of [405, 404, 400, 406, 501]) {
        test(`a GET refused with ${get}: not asked again, and the session stays`, async (t) => {
            const { g, fake } = await started(t, { style: { get } });
            for (let i = 0; i < 3; i++)
                await called(g, echo('hi'));
            assert.ok(fake.exchanges.filter(({ method }) => method === 'GET').length <= 1);
            assert.equal(fake.of('initialize').length, 1);
        });
    }

    test('a server that cannot change its tools is not asked for a stream', async (t) => {
        const { g, fake } = await started(t, { capabilities: { tools: {} } });
        await called(g, echo('hi'));
        assert.equal(fake.exchanges.filter(({ method }) => method === 'GET').length, 0);
    });
});

describe('broken streams', () => {
    test('after an event with an id: the answer is fetched by it, once, after the time to wait', { skip: ABOUT_TIME }, async (t) => {
        const { g, fake } = await started(t, { style: { priming: { retry: 500 } } });
        fake.style.polling = true;
        assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
        const resumed = fake.exchanges.find(({ headers }) => headers['last-event-id']);
        assert.deepEqual([resumed.method, resumed.headers.accept, resumed.headers['mcp-session-id']], ['GET', 'text/event-stream', fake.sessions.at(-1).id]);
        assert.equal(fake.calls.length, 1);
        const [call] = posts(fake, 'tools/call');
        assert.ok(resumed.at - call.gone >= 450, `${resumed.at - call.gone} ms`);
    });

    test('without an id: the call fails and is not repeated', async (t) => {
        const { g, fake } = await started(t, { tools: { ...TOOLS, lost: () => LOST } });
        assert.equal((await called(g, [shown('fake', 'lost'), {}, 'c1'])).error, 'MCP server fake closed the connection');
        assert.equal(fake.calls.length, 1);
        assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
    });

    test('HTTP+SSE: pending calls fail, the next one works', async (t) => {
        const { g, fake } = await started(t, { transport: 'sse' });
        g.up.next(callStream([shown('fake', 'hang'), {}, 'c1']), textStream('Lost.'));
        const waiting = g.respond(FAKE);
        await fake.called();
        fake.dropStreams();
        assert.equal((await waiting).output[0].error, 'MCP server fake closed the connection');
        await fake.until(() => fake.sessions.length === 2);
        await g.available('fake');
        assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
    });

    test('a server that was away is found again', async (t) => {
        const { g, fake } = await started(t, { entry: { protocol: 'legacy' } });
        fake.style.onRequest = ({ res }) => (res.destroy(), HANG);
        assert.equal((await called(g, echo('hi'))).status, 'failed');
        fake.style.onRequest = undefined;
        await g.available('fake');
        assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
    });
});

describe('news of tools', () => {
    const grown = { ...TOOLS, grown: () => 'new' };

    test('on the GET stream of a legacy server, also after that broke off', async (t) => {
        const { g, fake } = await started(t);
        const streams = () => fake.sessions.at(-1).streams.size;
        await fake.until(() => streams() === 1);
        fake.changeTools(grown);
        await g.untilTools('fake', (names) => names.includes('grown'));
        fake.dropStreams();
        await fake.until(() => streams() === 0);
        await fake.until(() => streams() === 1);
        fake.changeTools(TOOLS);
        await g.untilTools('fake', (names) => !names.includes('grown'));
    });

    test('by subscription to a modern server, also after that broke off', async (t) => {
        const { g, fake } = await started(t, { era: 'modern' });
        const subscribed = (n) => fake.until(() => fake.of('subscriptions/listen').length === n && fake.sessions[0].listeners?.size === 1);
        await subscribed(1);
        assert.deepEqual(fake.of('subscriptions/listen')[0].params.notifications, { toolsListChanged: true });
        fake.changeTools(grown);
        await g.untilTools('fake', (names) => names.includes('grown'));
        fake.exchanges.find(({ body }) => body.includes('subscriptions/listen')).res.destroy();
        await subscribed(2);
        fake.changeTools(TOOLS);
        await g.untilTools('fake', (names) => !names.includes('grown'));
    });

    test('mcp_refresh_interval: the list is asked for without news', async (t) => {
        const { g, fake } = await started(t, { capabilities: { tools: {} }, args: ['--mcp-refresh-interval', '100ms'] });
        fake.tools = grown;
        await g.untilTools('fake', (names) => names.includes('grown'));
    });

    test('a call of a tool that is gone has the list asked for again', async (t) => {
        const { g, fake } = await started(t, { capabilities: { tools: {} } });
        fake.tools = { grown: () => 'new' };
        const before = fake.of('tools/list').length;
        /* The list is not asked for more often than every five seconds. */
        for (; fake.of('tools/list').length === before; await pause(100))
            assert.equal((await called(g, echo('hi'))).error, 'Unknown tool: echo (-32602)');
        await g.untilTools('fake', (names) => names.includes('grown') && names.length === 1);
    });
});

test('a token file is read again after status 401', async (t) => {
    const file = folder(t, 'token');
    writeFileSync(file, 'first\n');
    const { g, fake } = await started(t, { entry: { bearerTokenFile: file, protocol: 'legacy' } });
    fake.style.onRequest = ({ headers }) => (headers.authorization === 'Bearer second' ? undefined : http(401, '', { 'www-authenticate': 'Bearer' }));
    writeFileSync(file, 'second\n');
    assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
    assert.ok(!g.daemon.log.includes('second'));
});

test('many calls of many responses share one session', async (t) => {
    const { g, fake } = await started(t);
    g.up.always((request) => (request.body.messages.at(-1).role === 'tool' ? textStream('Done.') : callStream(echo('hi'))));
    const all = await Promise.all(Array.from({ length: 30 }, () => g.respond(FAKE)));
    assert.deepEqual(all.map(({ output: [item] }) => item.output), Array(30).fill('Echo: hi'));
    assert.deepEqual([fake.calls.length, fake.of('initialize').length], [30, 1]);
});

captures.judge(test);
