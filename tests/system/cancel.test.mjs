/* cancel.test.mjs -- a client that leaves takes its upstream request with it.
 *
 * The aim is 100 ms; a loaded machine may take longer, so the figure is printed
 * and only a generous bound fails the test. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkStream } from '../lib/check.mjs';
import { ask, open } from '../lib/client.mjs';
import { shared } from '../lib/daemon.mjs';
import { patience } from '../lib/patience.mjs';
import { HANG, SILENCE, chunk, frames, stream } from '../lib/upstream.mjs';

const AIM_MS = 100;
const BOUND_MS = patience(1000);
const captures = new Captures();
const REQUEST = { model: 'm', input: 'Hi' };
const STARTED = stream([...frames(chunk({ content: 'one' }), chunk({ content: 'two' })), HANG]);

const TURN = '/v1/responses';
const RELAY = '/v1/chat/completions';

/* [when the client leaves, path, upstream's answer, streamed, what to wait for] */
const CASES = [
    ['in the middle of a stream', TURN, STARTED, true, '"delta":"two"'],
    ['before the first byte, inside early_error_window', TURN, SILENCE, true],
    ['during a silence after the stream has begun', TURN, SILENCE, true, 'response.in_progress'],
    ['before the first byte, not streamed', TURN, SILENCE, false],
    ['in the middle of an answer, not streamed', TURN, STARTED, false],
    ['in the middle of a relayed stream', RELAY, STARTED, true, '"two"'],
    ['before the first byte of a relayed answer', RELAY, SILENCE, false],
];

/* Milliseconds from `left` until the upstream saw its connection close. */
async function closing(request, left) {
    await Promise.race([request.closed, new Promise((done) => setTimeout(done, BOUND_MS + 200).unref())]);
    assert.ok(request.closedAt, 'the upstream connection is still open');
    return request.closedAt - left;
}

describe('a client leaves', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--early-error-window', '300ms');

    for (const [when, path, answer, streamed, sign] of CASES) {
        test(when, async (t) => {
            both.up.always(answer);
            const call = open(both.daemon, { ...REQUEST, messages: [], stream: streamed }, { path });
            const request = await both.up.request(0);
            if (sign)
                await call.until(sign);
            const left = performance.now();
            call.destroy();
            const took = await closing(request, left);
            t.diagnostic(`${took.toFixed(1)} ms (aim: ${AIM_MS} ms)`);
            assert.ok(took < BOUND_MS, `${took} ms`);
            if (sign && path === TURN) {
                checkStream(call.text, { partial: true });
                captures.keep(`${when}.sse`, call.text.slice(0, call.text.lastIndexOf('\n\n') + 2), '--partial');
            }
        });
    }

    test('a client that only closes its sending side counts as gone', async () => {
        both.up.always(STARTED);
        const call = open(both.daemon, { ...REQUEST, stream: true });
        await call.until('"delta":"two"');
        call.request.socket.end();
        await closing(both.up.requests[0], 0);
        call.destroy();
    });

    test('others go on', async () => {
        both.up.next(STARTED);
        const gone = open(both.daemon, { ...REQUEST, stream: true });
        await gone.until('"delta":"two"');
        const staying = ask(both.daemon, { ...REQUEST, stream: true });
        gone.destroy();
        assert.equal(checkStream((await staying).text).response.status, 'completed');
    });

    test('100 that leave at random moments harm nothing', async () => {
        both.up.always(stream(frames(...Array(20).fill(chunk({ content: 'x' })), chunk({}, 'stop'), '[DONE]').flatMap((f) => [f, 2])));
        await Promise.all(Array.from({ length: 100 }, async (_, i) => {
            const call = open(both.daemon, { ...REQUEST, stream: true });
            await new Promise((done) => setTimeout(done, i % 50));
            call.destroy();
        }));
        assert.equal(checkStream((await ask(both.daemon, { ...REQUEST, stream: true })).text).response.status, 'completed');
    });
});

captures.judge(test);
