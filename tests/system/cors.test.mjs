/* cors.test.mjs -- which web pages may use the gateway from a browser. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { checkError } from '../lib/check.mjs';
import { ask, get } from '../lib/client.mjs';
import { shared, startDaemon } from '../lib/daemon.mjs';
import { failure, json } from '../lib/upstream.mjs';

const REQUEST = { model: 'm', input: 'Hi' };
const CHAT = '/v1/chat/completions';
const GOOD = 'https://chat.example.org', SECOND = 'http://localhost:3000', EVIL = 'https://evil.example';
const corsOf = ({ headers }) => Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')));
const FOR_GOOD = { 'access-control-allow-origin': GOOD, 'access-control-expose-headers': 'x-request-id, retry-after, idempotent-replayed, openai-poll-after-ms' };
const preflight = (origin, more = {}) => ({ method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST', ...more } });

/* Every kind of answer, of ours and of the upstream. */
const kinds = [
    ['a response', REQUEST, {}, 200],
    ['a stream', { ...REQUEST, stream: true }, {}, 200],
    ['an error of ours', { input: 1 }, {}, 400],
    ['broken JSON', '{', {}, 400],
    ['an unknown path', REQUEST, { path: '/nothing' }, 404],
    ['another method', undefined, { method: 'GET' }, 405],
    ['a body too large', 'x'.repeat(2000), {}, 413],
    ['a relayed answer', { model: 'm' }, { path: CHAT }, 200],
    ['health', undefined, { method: 'GET', path: '/health' }, 200],
];

describe('with two origins', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--cors-origins', `${GOOD},${SECOND}`, '--max-body', '1KiB', '--relay', 'all');

    for (const [what, body, options, status] of kinds) {
        test(`${what} may be read by their pages, and others are refused`, async () => {
            const asked = (origin) => ask(both.daemon, body, { ...options, headers: { origin } });
            const good = await asked(GOOD), evil = await asked(EVIL), none = await asked(undefined);
            assert.equal(good.status, status, good.text);
            assert.deepEqual(corsOf(good), FOR_GOOD);
            assert.equal(corsOf(await asked(SECOND))['access-control-allow-origin'], SECOND);
            assert.equal(none.status, status);
            assert.deepEqual(corsOf(none), {});
            const asks = both.up.requests.length;
            for (const got of [evil, await asked('null'), await asked(`${GOOD}.evil.example`), await asked(`${GOOD}:444`)]) {
                if (status === 413) /* before its head is judged */
                    assert.equal(got.status, status);
                else
                    assert.match(checkError(got, 403, 'origin_not_allowed').message, /cors_origins/);
                assert.deepEqual(corsOf(got), {});
            }
            assert.equal(both.up.requests.length, asks, 'and reach no upstream');
            for (const got of [good, evil, none])
                assert.match(got.headers.vary, /\bOrigin\b/);
        });
    }

    test('a refused head may be read, too', async () => {
        const got = await get(both.daemon, '/health', { headers: { origin: GOOD, 'content-length': '9999' } });
        checkError(got, 413, 'request_too_large');
        assert.deepEqual(corsOf(got), FOR_GOOD);
    });

    test('the word of the upstream does not count', async () => {
        both.up.next(json(200, {}, { 'access-control-allow-origin': '*', 'access-control-allow-credentials': 'true', vary: 'Accept' }),
            failure(500, 'no', {}, { 'Access-Control-Allow-Origin': EVIL }));
        const got = await ask(both.daemon, {}, { path: CHAT, headers: { origin: GOOD } });
        assert.deepEqual(corsOf(got), FOR_GOOD);
        assert.deepEqual(got.headers.vary.split(', ').sort(), ['Accept', 'Origin']);
        assert.deepEqual(corsOf(await ask(both.daemon, {}, { path: CHAT })), {});
    });

    for (const [path, methods] of [['/v1/responses', 'POST, OPTIONS'], ['/v1/models/x', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'], ['/health', 'GET, HEAD, OPTIONS']]) {
        test(`the preflight of ${path} allows ${methods}`, async () => {
            const got = await get(both.daemon, path, preflight(GOOD, { 'access-control-request-headers': 'authorization,content-type,idempotency-key' }));
            assert.equal(got.status, 204);
            assert.deepEqual(corsOf(got), { ...FOR_GOOD, 'access-control-allow-methods': methods, 'access-control-max-age': '600',
                'access-control-allow-headers': 'authorization,content-type,idempotency-key' });
            assert.equal(both.up.requests.length, 0);
        });
    }

    test('the preflight of another origin allows nothing', async () => {
        const got = await get(both.daemon, '/v1/responses', preflight(EVIL));
        assert.equal(got.status, 204);
        assert.deepEqual(corsOf(got), {});
    });

    test('a listed page may reach a private network, and no other one', async () => {
        const asked = (origin) => get(both.daemon, '/v1/responses', preflight(origin, { 'access-control-request-private-network': 'true' }));
        assert.equal(corsOf(await asked(GOOD))['access-control-allow-private-network'], 'true');
        assert.deepEqual(corsOf(await asked(EVIL)), {});
    });

    test('header names are given back only when they are a short list of names', async () => {
        for (const asked of ['x(y)', 'a: b', '"x"', 'caf\xe9', 'x'.repeat(1025)]) {
            const got = await get(both.daemon, '/v1/responses', preflight(GOOD, { 'access-control-request-headers': asked }));
            assert.equal(corsOf(got)['access-control-allow-headers'], undefined, asked);
        }
    });
});

describe('with every origin', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--cors-origins', '*');

    test('all pages may read, without credentials', async () => {
        for (const origin of [GOOD, EVIL, 'null', undefined]) {
            const got = await ask(both.daemon, { ...REQUEST, stream: true }, { headers: { origin } });
            assert.deepEqual(corsOf(got), { ...FOR_GOOD, 'access-control-allow-origin': '*' });
            assert.equal(got.headers.vary, undefined);
        }
    });

    test('a preflight is answered', async () => {
        const got = await get(both.daemon, '/v1/responses', preflight(EVIL));
        assert.equal(corsOf(got)['access-control-allow-origin'], '*');
        assert.equal(corsOf(got)['access-control-allow-methods'], 'POST, OPTIONS');
    });
});

test('without configuration no answer says anything of it', async (t) => {
    const daemon = await startDaemon({ args: ['--max-body', '1KiB'] });
    t.after(() => daemon.stop());
    for (const [what, body, options] of kinds) {
        const got = await ask(daemon, body, { ...options, headers: { origin: GOOD } });
        assert.deepEqual(corsOf(got), {}, what);
        assert.equal(got.headers.vary, undefined, what);
    }
    assert.deepEqual(corsOf(await get(daemon, '/v1/responses', preflight(GOOD))), {});
});
