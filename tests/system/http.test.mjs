/* http.test.mjs -- the HTTP face: routes, methods, limits, headers, connections. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkError, checkStream } from '../lib/check.mjs';
import { ask, get, raw } from '../lib/client.mjs';
import { pair, shared } from '../lib/daemon.mjs';
import { dial } from '../lib/wire.mjs';

const captures = new Captures();
const REQUEST = { model: 'm', input: 'Hi' };
const BODY = JSON.stringify(REQUEST);

const post = (headers, body = BODY) =>
    `POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${headers.map((h) => `${h}\r\n`).join('')}\r\n${body}`;
const statusOf = (bytes) => Number(bytes.toString().match(/^HTTP\/1\.1 (\d+)/)?.[1]);

describe('routes', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });

    test('/v1/responses and /responses are the same', async () => {
        for (const path of ['/v1/responses', '/responses', '/v1/responses?beta=1', '//v1/responses', '/v1//responses', '///v1///responses//', '/v1/responses/',
            '/v1/responses/?beta=1', '/responses/', '//responses']) {
            const got = await ask(both.daemon, REQUEST, { path });
            assert.equal(got.status, 200, path);
            assert.equal(got.json.object, 'response');
        }
    });

    for (const path of ['/nothing', '/v1', '/v1/nothing', '/v1/responses/resp_x/none', '/v1/responsesx', '/v1/conversations//items', '//nothing',
        '/v1/health', '/files/x'])
        test(`${path} is 404`, async () => void checkError(await get(both.daemon, path), 404, 'not_found'));

    for (const [method, path, allow] of [
        ['GET', '/v1/responses', 'POST'], ['PUT', '/v1/responses', 'POST'], ['DELETE', '/responses', 'POST'],
        ['GET', '/v1/chat/completions', 'POST'], ['POST', '/v1/models', 'GET'], ['POST', '/health', 'GET'],
    ]) {
        test(`${method} ${path} is 405 and allows ${allow}`, async () => {
            const got = await get(both.daemon, path, { method });
            const error = checkError(got, 405, 'method_not_allowed');
            assert.equal(error.message, `Not allowed to ${method} on ${path}.`);
            assert.ok(got.headers.allow.split(/, */).includes(allow), got.headers.allow);
        });
    }

    test('a method without a length is 405 where it is not allowed, and 411 where it is', async () => {
        for (const [method, path, status, allow] of [['PUT', '/v1/responses', 405, 'POST, OPTIONS'], ['PATCH', '/v1/models', 405, 'GET, HEAD, OPTIONS'],
            ['PUT', '/v1/conversations/conv_x', 405, 'GET, HEAD, POST, DELETE, OPTIONS'], ['POST', '/v1/models', 405, 'GET, HEAD, OPTIONS'], ['PUT', '/nothing', 404], ['POST', '/v1/responses', 411]]) {
            const wire = await dial(both.daemon);
            wire.send(`${method} ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
            await wire.until(() => wire.ended);
            const [{ headers, ...answer }] = wire.answers;
            assert.deepEqual([answer.status, headers.allow, headers.connection], [status, allow, 'close'], `${method} ${path}`);
            wire.socket.destroy();
        }
    });

    test('every path is there without /v1 as well', async () => {
        const conversation = (await ask(both.daemon, {}, { path: '/conversations' })).json;
        assert.equal(conversation.object, 'conversation');
        assert.equal((await get(both.daemon, `/conversations/${conversation.id}`)).json.id, conversation.id);
        assert.equal((await get(both.daemon, `/conversations/${conversation.id}/items`)).json.object, 'list');
        assert.equal((await get(both.daemon, '/mcp/servers')).json.object, 'list');
        for (const path of ['/containers', '/models', '/models/m', '/chat/completions', '/embeddings', '/responses/resp_x', '/responses/resp_x/cancel'])
            assert.ok((await get(both.daemon, path, { method: 'OPTIONS' })).headers.allow?.includes('OPTIONS'), path);
        assert.equal(checkError(await get(both.daemon, '/chat/completions'), 405, 'method_not_allowed').message, 'Not allowed to GET on /chat/completions.');
    });

    test('GET /health answers without the upstream', async () => {
        const got = await get(both.daemon, '/health');
        assert.deepEqual([got.status, got.json], [200, { status: 'ok' }]);
        captures.keep('health.json', got.bytes);
        assert.equal(both.up.requests.length, 0);
    });

    test('GET / tells name and version', async () => {
        const got = await get(both.daemon, '/');
        assert.equal(got.status, 200);
        assert.match(got.text, /antiphon.*\d+\.\d+/is);
    });

    test('HEAD has the head of GET and no body', async () => {
        for (const path of ['/health', '/', '/v1/models']) {
            const got = await get(both.daemon, path, { method: 'HEAD' });
            assert.equal(got.status, 200, path);
            assert.equal(got.text, '');
        }
    });

    test('OPTIONS tells what is allowed and invites no other origin', async () => {
        const got = await get(both.daemon, '/v1/responses', { method: 'OPTIONS', headers: { origin: 'http://evil' } });
        assert.equal(got.status, 204);
        assert.match(got.headers.allow, /POST/);
        assert.equal(got.headers['access-control-allow-origin'], undefined);
    });
});

describe('bodies', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--max-body', '1KiB');
    const large = JSON.stringify({ ...REQUEST, instructions: 'x'.repeat(2000) });

    test('a body above max_body is 413 and the connection survives telling it', async () => {
        const error = checkError(await ask(both.daemon, large), 413, 'request_too_large');
        assert.equal(error.message, 'The request body is larger than 1024 bytes.');
        checkError(await ask(both.daemon, Buffer.alloc(4 << 20, 'x')), 413, 'request_too_large');
    });

    test('a chunked body above max_body is 413', async () => {
        checkError(await ask(both.daemon, large, { headers: { 'content-length': undefined, 'transfer-encoding': 'chunked' } }), 413);
    });

    test('a chunked body is read', async () => {
        const bytes = await raw(both.daemon, ['POST /v1/responses HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
            ...[...BODY].map((c) => `1\r\n${c}\r\n`), '0\r\n\r\n']);
        assert.equal(statusOf(bytes), 200);
    });

    test('a request in single bytes is read', async () => {
        assert.equal(statusOf(await raw(both.daemon, [...post(['Connection: close'])])), 200);
    });

    for (const [type, status] of [['application/json', 200], ['application/json; charset=utf-8', 200], ['Application/JSON', 200],
        ['application/vnd.api+json', 200], ['application/json ; x', 200], ['+json', 415], ['application/jsonx', 415],
        ['text/plain', 415], ['text/plain; application/json', 415], ['', 415], ['application/x-www-form-urlencoded', 415], ['multipart/form-data; boundary=x', 415]]) {
        test(`Content-Type ${type} is ${status}`, async () => {
            const got = await ask(both.daemon, REQUEST, { headers: { 'content-type': type } });
            assert.equal(got.status, status, got.text);
            if (status === 415)
                assert.match(checkError(got, 415, 'unsupported_media_type').message, /^Content-Type must be application\/json\./);
        });
    }

    for (const path of ['/v1/responses', '/v1/chat/completions', '/v1/completions', '/v1/embeddings', '/v1/conversations', '/v1/conversations/x/items', '/v1/responses/x/cancel']) {
        test(`a body without Content-Type is no request to ${path}`, async () => {
            for (const type of [undefined, 'text/plain', 'application/x-www-form-urlencoded']) {
                const got = await ask(both.daemon, REQUEST, { path, headers: { 'content-type': type } });
                assert.match(checkError(got, 415, 'unsupported_media_type').message, /Content-Type: application\/json/);
            }
            assert.deepEqual(both.up.requests, []);
        });
    }

    test('files that are relayed are of any type but those of pages', async (t) => {
        const { up, daemon } = await pair(t, '--relay', 'all');
        const send = (type) => ask(daemon, 'bytes', { path: '/v1/audio/transcriptions', headers: { 'content-type': type } });
        for (const type of ['multipart/form-data; boundary=x', 'application/octet-stream', 'audio/wav', 'application/json'])
            assert.equal((await send(type)).status, 200, type);
        for (const type of [undefined, 'text/plain', 'application/x-www-form-urlencoded'])
            checkError(await send(type), 415, 'unsupported_media_type');
        assert.equal(up.requests.length, 4);
    });

    test('without a body no Content-Type is wanted', async () => {
        assert.equal((await ask(both.daemon, '', { path: '/v1/conversations', headers: { 'content-type': undefined } })).status, 200);
    });

    test('Expect: 100-continue is answered before the body', async () => {
        const request = http.request(`${both.daemon.origin}/v1/responses`, {
            method: 'POST',
            agent: false,
            headers: { 'content-type': 'application/json', 'content-length': BODY.length, expect: '100-continue' },
        });
        request.flushHeaders();
        await once(request, 'continue'); /* the body waits for it */
        request.end(BODY);
        const [answer] = await once(request, 'response');
        assert.equal(answer.statusCode, 200);
        answer.resume();
    });
});

describe('heads', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--max-head', '4KiB', '--max-headers', '40');
    const head = (...lines) => `GET /health HTTP/1.1\r\nHost: x\r\n${lines.map((l) => `${l}\r\n`).join('')}\r\n`;

    for (const [what, bytes, status] of [
        ['a long header', head(`X-Long: ${'x'.repeat(5000)}`), 431],
        ['a long path', `GET /${'x'.repeat(5000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
        ['many headers', head(...Array.from({ length: 50 }, (_, i) => `X-${i}: 1`)), 431],
        ['two lengths', 'POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}', 400],
        ['a length and chunks', 'POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400],
        ['a negative length', 'POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n', 400],
        ['a space before the colon', head('X-Odd : 1'), 400],
        ['no HTTP at all', 'hello\r\n\r\n', 400],
    ]) {
        test(`${what}: ${status}`, async () => {
            assert.equal(statusOf(await raw(both.daemon, bytes)), status);
            assert.equal((await get(both.daemon, '/health')).status, 200, 'and it still serves');
        });
    }

    test('x-request-id is given back, or made', async () => {
        const own = await get(both.daemon, '/health', { headers: { 'x-request-id': 'mine-123' } });
        assert.equal(own.headers['x-request-id'], 'mine-123');
        const made = [await get(both.daemon, '/health'), await get(both.daemon, '/nothing')].map((got) => got.headers['x-request-id']);
        assert.ok(made.every((id) => /^\S{8,}$/.test(id)) && made[0] !== made[1], `${made}`);
    });

    test('an x-request-id that would break a header or a log line is not taken', async () => {
        const long = 'x'.repeat(2000);
        const got = await get(both.daemon, '/health', { headers: { 'x-request-id': long } });
        assert.notEqual(got.headers['x-request-id'], long);
        for (const odd of ['a" status=ok b', 'a/b', 'a,b', 'a+b', 'a@b', ''])
            assert.match((await get(both.daemon, '/health', { headers: { 'x-request-id': odd } })).headers['x-request-id'], /^req_[A-Za-z0-9]+$/, odd);
        for (const plain of ['A.b_c:d-9', 'x'.repeat(128)])
            assert.equal((await get(both.daemon, '/health', { headers: { 'x-request-id': plain } })).headers['x-request-id'], plain);
    });
});

describe('connections', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--workers', '1');

    test('a connection carries many requests, streams included, on both sides', async () => {
        const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
        for (const [i, streamed] of [false, true, false, true].entries()) {
            const got = await ask(both.daemon, { ...REQUEST, stream: streamed }, { agent });
            assert.equal(got.status, 200);
            assert.equal(got.request.reusedSocket, i > 0);
            if (streamed)
                checkStream(got.text);
            await new Promise((done) => setImmediate(done));
        }
        agent.destroy();
        assert.ok(both.up.connections < 4, `the upstream saw ${both.up.connections} connections for 4 requests`);
    });

    test('pipelined requests are answered in order', async () => {
        const bytes = await raw(both.daemon, [post([]) + post([]) + 'GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n']);
        assert.equal(bytes.toString().match(/HTTP\/1\.1 200/g).length, 3);
        assert.match(bytes.toString(), /\{"status":"ok"\}/);
    });

    test('HTTP/1.0 and Connection: close end with a close', async () => {
        for (const head of ['GET /health HTTP/1.0\r\n\r\n', 'GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'])
            assert.match((await raw(both.daemon, head)).toString(), /"ok"\}/);
    });
});

test('slow heads and bodies are given up', async (t) => {
    const { daemon } = await pair(t, '--head-timeout', '200ms', '--body-timeout', '200ms');
    for (const bytes of ['POST /v1/resp', 'POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{"mod'])
        assert.ok([408, NaN].includes(statusOf(await raw(daemon, bytes))), 'told 408, or closed');
});

test('idle connections are closed after keep_alive', async (t) => {
    const { daemon } = await pair(t, '--keep-alive', '150ms');
    const started = performance.now();
    assert.equal(statusOf(await raw(daemon, 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n')), 200);
    assert.ok(performance.now() - started < 3000);
});

captures.judge(test);
