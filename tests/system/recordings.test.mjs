/* recordings.test.mjs -- answers of real llama-servers through the gateway give
 * what a reading of the recording gives. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkError, checkReading, checkStream, readingOf } from '../lib/check.mjs';
import { ask } from '../lib/client.mjs';
import { shared } from '../lib/daemon.mjs';
import { readRecording, recordings } from '../lib/data.mjs';
import { splitEvery } from '../lib/upstream.mjs';

const captures = new Captures();
const chat = ['ik-llama', 'llama-2025-02'].flatMap(recordings).filter((r) => r.path === '/v1/chat/completions');
const good = chat.filter((r) => r.status === 200);
const failed = chat.filter((r) => r.status !== 200);

/* What these say fails however often it is sent, but for a bare failure of the JSON library, which
 * they also say of what their model wrote. */
const failsAs = ({ name }) => /error_(bad_json|no_messages)$/.test(name) ? [502, 'upstream_error'] : [400, 'upstream_rejected'];

const replay = (recording, size = recording.bytes.length) => ({
    status: recording.status,
    headers: { 'content-type': recording.type },
    pieces: splitEvery(recording.bytes, size),
});

/* The recorded request as a Responses client would have put it: only its tools
 * matter to the answer. */
const asked = ({ request, name }) => ({
    model: 'tiny',
    input: 'Hi',
    tools: (request?.tools ?? []).map(({ function: fn }) => ({ type: 'function', ...fn })),
    ...(name.includes('logprobs') && { include: ['message.output_text.logprobs'] }),
});

function checkResponse(response, recording) {
    const { usage, ...got } = readingOf(response);
    const { usage: counted, ...want } = readRecording(recording);
    checkReading(got, want);
    assert.deepEqual({ input: usage.input, output: usage.output }, counted ?? { input: 0, output: 0 });
    if (recording.name.endsWith('/logprobs_stream'))
        assert.ok(response.output.at(-1).content[0].logprobs.length > 0, 'logprobs arrive');
}

describe('recorded answers', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });

    for (const recording of good) {
        const sizes = recording.streamed && recording.bytes.length < 30_000 ? [undefined, 1000, 13] : [undefined, 1000];
        for (const size of sizes) {
            test(`${recording.name} streamed, ${size ? `in pieces of ${size}` : 'whole'}`, async () => {
                both.up.next(replay(recording, size));
                const got = await ask(both.daemon, { ...asked(recording), stream: true });
                assert.equal(got.status, 200, got.text);
                if (size === 1000 && recording.bytes.length < 60_000)
                    captures.keep(`${recording.name}.sse`, got.bytes);
                checkResponse(checkStream(got.text).response, recording);
            });
        }
        test(`${recording.name} not streamed`, async () => {
            both.up.next(replay(recording));
            const got = await ask(both.daemon, asked(recording));
            assert.equal(got.status, 200, got.text);
            captures.keep(`${recording.name}.json`, got.bytes);
            checkResponse(got.json, recording);
        });
    }

    for (const recording of failed) {
        for (const streamed of [false, true]) {
            const [status, code] = failsAs(recording);
            test(`${recording.name}: status ${recording.status} becomes ${status}${streamed ? ', streamed' : ''}`, async () => {
                both.up.next(replay(recording));
                const error = checkError(await ask(both.daemon, { ...asked(recording), stream: streamed }), status, code);
                const said = JSON.parse(recording.bytes).error.message;
                assert.ok(error.message.includes(said.slice(0, 40)), error.message);
            });
        }
    }
});

captures.judge(test);
