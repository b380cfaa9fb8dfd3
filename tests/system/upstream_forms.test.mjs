/* upstream_forms.test.mjs -- every known form of an upstream answer gives the
 * reading it should, streamed and not, however the network cuts it. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkError, checkReading, checkStream, readingOf } from '../lib/check.mjs';
import { ask } from '../lib/client.mjs';
import { shared } from '../lib/daemon.mjs';
import { bytesOf, jsonOf } from '../lib/data.mjs';
import { splitEvery, stream } from '../lib/upstream.mjs';

const EXPECT = jsonOf('upstream', 'EXPECT.json');
const PIECES = [Infinity, 1, 7, 64];

const tool = (name) => ({ type: 'function', name, parameters: { type: 'object', properties: { city: { type: 'string' } } } });
const REQUEST = { model: 'm', input: 'Hi', tools: [tool('get_weather'), tool('get_time')] };

const captures = new Captures();

const answer = (name, size) => {
    const bytes = bytesOf('upstream', name);
    return stream(size === Infinity ? [bytes] : splitEvery(bytes, size),
        { 'content-type': name.endsWith('.json') ? 'application/json' : 'text/event-stream' });
};

function checkResponse(response, { text, refusal, reasoning, tool_calls, terminal, usage }) {
    const want = usage ?? { input: 0, output: 0, cached: 0, reasoning: 0 };
    const got = readingOf(response);
    assert.ok(got.usage.reasoning <= got.usage.output);
    if (reasoning !== '' && want.reasoning === 0)
        got.usage.reasoning = 0; /* the deltas are counted where the server does not */
    checkReading(got, { text, refusal, reasoning, tool_calls, terminal, usage: want });
    assert.ok(response.output.every((item) => item.status !== 'in_progress'));
}

async function checkStreamed({ up, daemon }, name, size) {
    up.next(answer(name, size));
    const got = await ask(daemon, { ...REQUEST, stream: true });
    assert.equal(got.status, 200, got.text);
    const { response } = checkStream(got.text);
    if (size === Infinity || size === 7)
        captures.keep(`${name}-${size}.sse`, got.bytes);
    checkResponse(response, EXPECT[name]);
    if (EXPECT[name].error)
        assert.ok(response.error.message.includes(EXPECT[name].error), response.error.message);
    if (name === 'error_context_length.sse')
        assert.equal(response.error.code, 'context_length_exceeded');
}

async function checkWhole({ up, daemon }, name) {
    up.next(answer(name, Infinity));
    const got = await ask(daemon, REQUEST);
    captures.keep(`${name}.json`, got.bytes);
    if (EXPECT[name].terminal !== 'failed') {
        assert.equal(got.status, 200, got.text);
        return checkResponse(got.json, EXPECT[name]);
    }
    const [status, code] = name === 'error_context_length.sse' ? [400, 'context_length_exceeded'] : [got.status];
    const error = checkError(got, status, code);
    assert.ok(status >= 400, 'a failed answer is an HTTP error');
    assert.ok(error.message.includes(EXPECT[name].error ?? ''), error.message);
}

const usesThinkTags = (name) => EXPECT[name].option?.think_tags === true;

for (const [title, args, wanted] of [
    ['as configured by default', [], (name) => !usesThinkTags(name)],
    ['with think tags', ['--think-tags', 'on'], usesThinkTags],
]) {
    describe(`upstream forms ${title}`, { concurrency: false }, () => {
        const both = shared({ before, beforeEach, after }, ...args);
        for (const name of Object.keys(EXPECT).filter(wanted)) {
            for (const size of PIECES)
                test(`${name} streamed, ${size === Infinity ? 'whole' : `in pieces of ${size}`}`, () => checkStreamed(both, name, size));
            test(`${name} not streamed`, () => checkWhole(both, name));
        }
    });
}

captures.judge(test);
