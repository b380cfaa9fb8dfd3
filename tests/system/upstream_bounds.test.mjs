/* upstream_bounds.test.mjs -- upstreams that go on and never say anything.
 *
 * Each of them sends as fast as it is read, up to far more than any of it may be; what is seen is
 * that the gateway ends it, with an error that names the reason, and what it cost the upstream. */
import assert from 'node:assert/strict';
import net from 'node:net';
import { once } from 'node:events';
import test, { describe } from 'node:test';
import { ask } from '../lib/client.mjs';
import { startDaemon } from '../lib/daemon.mjs';
import { chunk, frames } from '../lib/upstream.mjs';

const MIB = 1 << 20;
const MOST = 64 * MIB; /* then the upstream gives up, and the test fails */
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n';
const CHUNKED = HEAD + 'Transfer-Encoding: chunked\r\n\r\n';
const EMPTY = frames({ ...chunk({}), choices: [] })[0];

const repeat = (text, bytes = 64 * 1024) => text.repeat(Math.ceil(bytes / text.length));
const asChunk = (text) => `${text.length.toString(16)}\r\n${text}\r\n`;

/* Says `first`, and then `again` for ever. */
async function startEndless(t, first, again) {
    const up = { sent: 0, ended: null };
    const server = net.createServer((socket) => {
        let request = '';
        socket.on('error', () => {});
        const pump = () => {
            while (again !== '' && !socket.destroyed && up.sent < MOST) {
                up.sent += again.length;
                if (!socket.write(again))
                    return;
            }
        };
        socket.on('data', (bytes) => {
            request += bytes;
            if (request.startsWith('GET '))
                return void socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
            if (!/\r\n\r\n[^]*}$/.test(request) || up.ended)
                return;
            up.ended = new Promise((done) => socket.on('close', done));
            socket.write(first);
            socket.on('drain', pump);
            pump();
        });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    up.url = `http://127.0.0.1:${server.address().port}/v1`;
    return up;
}

const ENDLESS = {
    'informational answers': ['', repeat('HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n'), /header|head/],
    'headers': [HEAD, repeat('X-Nothing: at all\r\n'), /header|head/],
    'chunk extensions': [CHUNKED + '1;', repeat('nothing'), /chunk extensions or trailers/],
    'chunks with extensions': [CHUNKED + asChunk(': begin\n\n'), repeat(`1;${'x'.repeat(4000)}\r\n:\r\n`), /chunk extensions or trailers/],
    'trailers': [CHUNKED + '0\r\n', repeat('X-Nothing: at all\r\n'), /chunk extensions or trailers/],
    'comments': [CHUNKED, asChunk(repeat(': OPENROUTER PROCESSING\n\n')), /comments or empty chunks/],
    'empty lines': [CHUNKED, asChunk(repeat('\n')), /comments or empty chunks/],
    'empty chunks': [CHUNKED, asChunk(repeat(EMPTY)), /comments or empty chunks/],
    'chunks of nothing but a role': [CHUNKED, asChunk(repeat(frames(chunk({ role: 'assistant', content: '' }))[0])), /comments or empty chunks/],
    'fields that nobody knows': [CHUNKED, asChunk(repeat('retry: 1\nid: 2\nevent: x\n\n')), /comments or empty chunks/],
    'spaces before the body': [CHUNKED, asChunk(repeat(' ')), /comments or empty chunks/],
};

describe('an upstream that sends without end', { concurrency: false }, () => {
    for (const [what, [first, again, why]] of Object.entries(ENDLESS)) {
        for (const streams of [false, true]) {
            test(`${what}, ${streams ? 'streamed' : 'whole'}`, async (t) => {
                const up = await startEndless(t, first, again);
                const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'm', '--max-line', '1MiB'] });
                t.after(() => daemon.stop());
                const answer = await ask(daemon, { model: 'm', input: 'x', stream: streams });
                const error = answer.status === 200
                    ? JSON.parse(answer.text.match(/^data: (.*"response.failed".*)$/m)[1]).response.error
                    : answer.json.error;
                assert.match(error.code, /upstream|server_error/);
                assert.match(error.message, why);
                await up.ended;
                assert.ok(up.sent < MOST, `${up.sent} bytes`);
            });
        }
    }

    test('signs of life are no reason to end it', async (t) => {
        const up = await startEndless(t, CHUNKED
            + asChunk(repeat(': OPENROUTER PROCESSING\n\n', 3 * MIB)) + asChunk(frames(chunk({ content: 'a' }))[0])
            + asChunk(repeat(EMPTY, 3 * MIB)) + asChunk(frames(chunk({ content: 'b' }))[0])
            + asChunk(repeat(': OPENROUTER PROCESSING\n\n', 3 * MIB)) + asChunk(frames(chunk({}, 'stop'), '[DONE]').join('')) + '0\r\n\r\n', '');
        const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'm', '--max-line', '1MiB'] });
        t.after(() => daemon.stop());
        const answer = await ask(daemon, { model: 'm', input: 'x' });
        assert.equal(answer.json.output[0].content[0].text, 'ab');
    });
});
