/* compressed.test.mjs -- request bodies with a Content-Encoding: decoded for the
 * endpoints of ours, passed on as they are where requests are relayed. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { deflateSync, gzipSync } from 'node:zlib';
import { checkError, checkStream } from '../lib/check.mjs';
import { ask } from '../lib/client.mjs';
import { pair, shared } from '../lib/daemon.mjs';
import { zstdRepeated, zstdStored } from '../lib/zstd.mjs';

const REQUEST = { model: 'm', input: 'compressed' };
const BODY = JSON.stringify(REQUEST);
const gzip = gzipSync(BODY), zstd = zstdStored(BODY);

describe('compressed bodies', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--max-body', '64KiB');
    const send = (body, coding, options = {}) => ask(both.daemon, body, { ...options, headers: { 'content-encoding': coding, ...options.headers } });

    for (const [coding, body] of [['gzip', gzip], ['x-gzip', gzip], ['GZIP', gzip], ['deflate', deflateSync(BODY)], ['zstd', zstd],
        ['identity', BODY], ['', BODY], ['gzip', Buffer.concat([gzipSync(BODY.slice(0, 9)), gzipSync(BODY.slice(9))])]]) {
        test(`${coding || 'no coding'} of ${body.length} bytes is read`, async () => {
            const got = await send(body, coding);
            assert.equal(got.status, 200, got.text);
            assert.equal((await both.up.request(0)).body.messages[0].content, REQUEST.input);
        });
    }

    test('a compressed request can be streamed, on a connection that goes on', async () => {
        const got = await send(zstdStored(JSON.stringify({ ...REQUEST, stream: true })), 'zstd');
        assert.equal(checkStream(got.text).response.status, 'completed');
    });

    test('a compressed body in chunks is read', async () => {
        assert.equal((await send(gzip, 'gzip', { headers: { 'content-length': undefined, 'transfer-encoding': 'chunked' } })).status, 200);
    });

    for (const [what, coding, body] of [
        ['gzip cut short', 'gzip', gzip.subarray(0, -1)],
        ['zstd cut short', 'zstd', zstd.subarray(0, -1)],
        ['gzip with a wrong checksum', 'gzip', Buffer.concat([gzip.subarray(0, -8), Buffer.alloc(4), gzip.subarray(-4)])],
        ['gzip with bytes behind it', 'gzip', Buffer.concat([gzip, Buffer.from('{}')])],
        ['zstd with bytes behind it', 'zstd', Buffer.concat([zstd, Buffer.from('{}')])],
        ['plain JSON called gzip', 'gzip', BODY],
        ['plain JSON called zstd', 'zstd', BODY],
        ['gzip called zstd', 'zstd', gzip],
        ['nothing called gzip', 'gzip', ''],
    ]) {
        test(`${what} is 400`, async () => {
            const error = checkError(await send(body, coding), 400, 'bad_request');
            assert.match(error.message, new RegExp(`^The request body is not valid ${coding} data: `));
            assert.equal(both.up.requests.length, 0);
        });
    }

    for (const [what, coding, body] of [['gzip', 'gzip', gzipSync(Buffer.alloc(32 << 20, ' '))], ['zstd', 'zstd', zstdRepeated(' ', 1 << 30)]]) {
        test(`a ${what} bomb of ${body.length} bytes is 413`, async () => {
            const error = checkError(await send(body, coding), 413, 'request_too_large');
            assert.equal(error.message, 'The request body is larger than 65536 bytes when decoded.');
        });
    }

    test('a body that swells more than the ratio allows is 413, an honest one of the same size is read', async (t) => {
        const { daemon, up } = await pair(t, '--max-body-ratio', '50');
        const post = (body, coding) => ask(daemon, body, { headers: { 'content-encoding': coding } });
        const request = (text) => JSON.stringify({ model: 'm', store: false, input: text });
        const spaces = request(' '.repeat(8 << 20));
        for (const [coding, body] of [['gzip', gzipSync(spaces)], ['deflate', deflateSync(spaces)], ['zstd', zstdRepeated(' ', 8 << 20)]])
            assert.match(checkError(await post(body, coding), 413, 'request_too_large').message, /more than 50 times larger when decoded \(max_body_ratio\)/);
        assert.equal(up.requests.length, 0);
        const words = Array.from({ length: 1 << 20 }, (_, i) => `word ${(i * 2654435761) % 1000003}`).join(' ');
        assert.equal((await post(gzipSync(request(words)), 'gzip')).status, 200);
        assert.equal((await up.request(0)).body.messages[0].content, words);
    });

    for (const coding of ['br', 'gzip, zstd', 'gzip,gzip', 'aes128gcm']) {
        test(`${coding} is 415 and the answer names what is known`, async () => {
            const got = await send(gzip, coding);
            checkError(got, 415, 'unsupported_media_type');
            assert.equal(got.headers['accept-encoding'], 'gzip, zstd');
        });
    }

    test('two lines of Content-Encoding are two codings', async () => {
        checkError(await send(gzip, ['gzip', 'gzip']), 415, 'unsupported_media_type');
        checkError(await send(gzip, ['identity', 'gzip']), 415, 'unsupported_media_type');
    });

    test('a wrong Content-Type says nothing about codings', async () => {
        const got = await ask(both.daemon, BODY, { headers: { 'content-type': 'text/plain' } });
        checkError(got, 415, 'unsupported_media_type');
        assert.equal(got.headers['accept-encoding'], undefined);
    });

    test('a relayed body and its coding reach the upstream as they are', async () => {
        await send(gzip, 'gzip', { path: '/v1/chat/completions' });
        const request = await both.up.request(0);
        assert.equal(request.headers['content-encoding'], 'gzip');
        assert.ok(request.raw.equals(gzip));
    });
});
