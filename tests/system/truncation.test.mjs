/* truncation.test.mjs -- `truncation: auto` leaves the oldest turns out when the
 * upstream says that there is too much (contract 1.1).
 */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkError, checkStream } from '../lib/check.mjs';
import { ask } from '../lib/client.mjs';
import { shared } from '../lib/daemon.mjs';
import { chunk, failure, frames, stream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();

const TOO_LONG = failure(400, 'too much', { code: 'context_length_exceeded' });
const TOO_LONG_IN_STREAM = stream(frames({ error: { message: 'too much', code: 'context_length_exceeded' } }));

const turns = (n) => Array.from({ length: n }, (_, i) => [
    { role: 'user', content: `question ${i}` },
    { role: 'assistant', content: `answer ${i}` },
]).flat();

const request = (more = {}) => ({
    model: 'm', instructions: 'Be brief.', truncation: 'auto',
    input: [...turns(8), { role: 'user', content: 'the last question' }], ...more,
});

describe('truncation', { concurrency: false }, () => {
    const t = shared({ before, beforeEach, after });

    const sent = () => t.up.requests.map((r) => r.body.messages.map((m) => m.content));

    for (const streamed of [false, true]) {
        for (const [where, refusal] of [['by status', TOO_LONG], ['inside the stream', TOO_LONG_IN_STREAM]]) {
            test(`the oldest turns go when the upstream refuses ${where}${streamed ? ', streamed' : ''}`, async () => {
                t.up.next(refusal, refusal, textStream('Fits.'));
                const got = await ask(t.daemon, request({ stream: streamed }));
                const name = `${where}.${streamed ? 'sse' : 'json'}`;
                captures.keep(name, got.bytes);
                const response = streamed ? checkStream(got.text).response : got.json;
                assert.equal(response.status, 'completed');
                assert.equal(response.output[0].content[0].text, 'Fits.');
                assert.equal(response.truncation, 'auto');
                assert.deepEqual(sent().map((m) => m.length), [18, 10, 6]);
                for (const messages of sent()) {
                    assert.equal(messages[0], 'Be brief.');
                    assert.equal(messages.at(-1), 'the last question');
                }
                assert.deepEqual(sent()[2].slice(1, 3), ['question 6', 'answer 6']);
                await t.daemon.logged(/ shortened=2 /);
            });
        }
    }

    test('after three attempts the error is the client\'s', async () => {
        t.up.always(TOO_LONG);
        const got = await ask(t.daemon, request());
        captures.keep('given up.json', got.bytes, '--kind', 'error');
        checkError(got, 400, 'context_length_exceeded');
        assert.deepEqual(sent().map((m) => m.length), [18, 10, 6, 2]);
    });

    test('nothing to leave out: asked once', async () => {
        t.up.always(TOO_LONG);
        checkError(await ask(t.daemon, request({ input: 'one long question' })), 400, 'context_length_exceeded');
        assert.equal(t.up.requests.length, 1);
    });

    test('disabled, which is the default: asked once', async () => {
        t.up.always(TOO_LONG);
        for (const truncation of ['disabled', undefined])
            checkError(await ask(t.daemon, request({ truncation })), 400, 'context_length_exceeded');
        assert.equal(t.up.requests.length, 2);
    });

    test('another error is not a reason to ask again', async () => {
        t.up.always(failure(400, 'temperature is too hot'));
        checkError(await ask(t.daemon, request()), 400, 'upstream_rejected');
        assert.equal(t.up.requests.length, 1);
    });

    test('what has been said already is not taken back', async () => {
        t.up.always(stream(frames(chunk({ content: 'Half' }), { error: { message: 'too much', code: 'context_length_exceeded' } })));
        const got = await ask(t.daemon, request({ stream: true }));
        captures.keep('half.sse', got.bytes);
        assert.equal(checkStream(got.text).response.status, 'failed');
        assert.equal(t.up.requests.length, 1);
    });

    test('a call and its output are left out together', async () => {
        t.up.next(TOO_LONG, textStream('Fits.'));
        await ask(t.daemon, request({ input: [
            { role: 'user', content: 'look' },
            { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
            { type: 'function_call_output', call_id: 'call_1', output: 'seen' },
            { role: 'user', content: 'and now?' }] }));
        assert.deepEqual(t.up.requests[1].body.messages.map((m) => m.role), ['system', 'user']);
    });
});

captures.judge(test);
