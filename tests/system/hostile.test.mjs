/* hostile.test.mjs -- upstreams and clients that mean harm, or might as well. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { checkError, checkStream } from '../lib/check.mjs';
import { ask, get, raw as bytes } from '../lib/client.mjs';
import { shared, startDaemon } from '../lib/daemon.mjs';
import { HANG, chunk, frames, json, stream } from '../lib/upstream.mjs';

const REQUEST = { model: 'm', input: 'Hi' };
const CHAT = '/v1/chat/completions';
const raw = (...pieces) => ({ raw: true, pieces });

describe('a hostile peer', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--workers', '1', '--max-line', '64KiB',
        '--upstream-key', 'upstream-secret', '--max-request-memory', '8MiB');

    for (const [what, head] of [
        ['101', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n'],
        ['only 1xx', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n'],
        ['no HTTP at all', 'SSH-2.0-OpenSSH\r\n'],
        ['a head without an end', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(400_000)}`],
    ]) {
        test(`${what} instead of an answer is an upstream error`, async () => {
            both.up.always(raw(head));
            for (const stream of [false, true]) {
                const got = await ask(both.daemon, { ...REQUEST, stream });
                checkError(got, 502, got.json.error.code);
                assert.match(got.json.error.code, /^upstream_(error|unavailable)$/);
            }
            assert.equal((await ask(both.daemon, {}, { path: CHAT })).status, 502);
        });
    }

    for (const path of ['/v1/models/../../admin', '/v1/models/%2e%2e/%2E%2E/admin', '/v1/models/..%2fadmin', '/v1/models/x/.', '/v1/models/..', '/v1/models/..;/..;a=b/admin', '/v1/models/%2e.%3bx/admin']) {
        test(`${path} is not asked of the upstream`, async () => {
            const got = await bytes(both.daemon, [`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`]);
            assert.match(got.toString(), /^HTTP\/1.1 404 .*"code":"not_found"/s);
            assert.equal(both.up.requests.length, 0);
        });
    }

    test('model ids with slashes and dots are asked for as they stand', async () => {
        for (const id of ['org/model-7.2b', '.hidden', 'a..b', 'x%20y']) {
            both.up.reset();
            both.up.next(json(200, { id }));
            await get(both.daemon, `/v1/models/${id}`);
            assert.equal((await both.up.request(0)).path, `/v1/models/${id}`);
        }
    });

    test('a request of very many tiny items is refused before it takes the machine', async () => {
        const got = await ask(both.daemon, { model: 'm', input: Array(200_000).fill('') });
        assert.match(checkError(got, 413, 'request_too_large').message, /max_request_memory/);
    });

    test('endless white space does not keep the worker busy', async () => {
        both.up.next(stream([...Array(60).fill(' '.repeat(65536)), ...frames(chunk({ content: 'Hi' }, 'stop'), '[DONE]')]));
        const got = await ask(both.daemon, { ...REQUEST, stream: true });
        assert.equal(checkStream(got.text).response.output[0].content[0].text, 'Hi');
    });

    test('an endless JSON body fails at the limit', async () => {
        both.up.next({ headers: { 'content-type': 'application/json' }, pieces: ['{"x":"', ...Array(3).fill('A'.repeat(65536)), HANG] });
        const got = await ask(both.daemon, { ...REQUEST, stream: true });
        const { response } = checkStream(got.text);
        assert.equal(response.status, 'failed');
        assert.match(response.error.message, /65536 bytes/);
    });

    test('an endless line of events fails at the limit', async () => {
        both.up.next(stream(['data: {"x":"', ...Array(3).fill('A'.repeat(65536)), HANG]));
        const got = await ask(both.daemon, { ...REQUEST, stream: true });
        assert.equal(checkStream(got.text).response.status, 'failed');
    });

    test('a tool name without an end ends', async () => {
        const pieces = Array.from({ length: 20_000 }, (_, i) => chunk({ tool_calls: [{ index: 0, function: { name: i % 2 ? 'ab' : 'cd' } }] }));
        both.up.next(stream([frames(...pieces, chunk({}, 'tool_calls'), '[DONE]').join('')]));
        const got = await ask(both.daemon, { ...REQUEST, stream: true });
        assert.equal(checkStream(got.text).response.output[0].name.length, 256);
    });
});

test('the demo model says something very long', async (t) => {
    const daemon = await startDaemon({ args: ['--workers', '1'] });
    t.after(() => daemon.stop());
    const text = 'A'.repeat(300_000);
    const got = await ask(daemon, { model: 'demo', input: `call f with ${JSON.stringify({ a: text })}`, stream: true, tools: [{ type: 'function', name: 'f' }] });
    assert.equal(JSON.parse(checkStream(got.text).response.output[0].arguments).a, text);
});
