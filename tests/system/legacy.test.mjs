/* The events of open-responses-server, for clients that were written for it. CONTRACT 4.9. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { ask } from '../lib/client.mjs';
import { declared, gateway, sharedGateway, shown } from '../lib/mcp.mjs';
import { startMcp } from '../lib/mcp_server.mjs';
import { fn, output } from '../lib/state.mjs';
import { callStream, failure, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const ORS = { 'x-gateway-dialect': 'ors' };

/* The events of a stream in the legacy dialect. */
async function stream(g, body, headers = ORS) {
    const answer = await ask(g.daemon, { input: 'Hi', stream: true, ...body }, { headers });
    assert.equal(answer.status, 200, answer.text);
    captures.keep('legacy.sse', answer.bytes, '--dialect', 'ors');
    assert.doesNotMatch(answer.text, /^event:|\[DONE\]/m);
    return answer.text.split('\n').filter((line) => line.startsWith('data: ')).map((line) => JSON.parse(line.slice(6)));
}

const typesOf = (events) => events.map(({ type }) => type.replace('response.', ''));

describe('the legacy dialect', { concurrency: false }, () => {
    const g = sharedGateway({ before, beforeEach, after }, undefined, async () => ({ servers: { fake: await startMcp() } }));

    test('text is deltas and an end', async () => {
        g.up.next(textStream('Hello there'));
        const events = await stream(g, {});
        assert.deepEqual([...new Set(typesOf(events))], ['created', 'in_progress', 'output_text.delta', 'completed']);
        assert.equal(events.filter(({ type }) => type.endsWith('text.delta')).map(({ delta }) => delta).join(''), 'Hello there');
        assert.ok(events.every((event) => event.sequence_number === undefined));
    });

    test('a call of the client\'s is ready when it is complete, and its output continues the response', async () => {
        g.up.next(callStream(['weather', { city: 'Rome' }, 'c1']), textStream('Sunny.'));
        const [, , ...events] = await stream(g, { tools: [fn('weather')], tool_choice: 'required' });
        const { response } = events.at(-1);
        const call = response.output.find(({ type }) => type === 'function_call');
        assert.deepEqual([call.name, call.arguments, call.status], ['weather', '{"city":"Rome"}', 'ready']);
        assert.equal(g.up.requests[0].body.tool_choice, undefined, 'tool_choice is not forwarded');
        await stream(g, { previous_response_id: response.id, input: [output(call.call_id ?? call.id, 'sun')] });
        assert.equal(g.messages.at(-1).content, 'sun');
    });

    test('a call of the gateway\'s ends the response, its result is a list of texts', async () => {
        g.up.next(callStream([shown('fake', 'echo'), { message: 'hi' }, 'c1']));
        const events = await stream(g, { tools: [declared('fake')] });
        const { response } = events.at(-1);
        const { output: said } = response.output.find(({ type }) => type === 'function_call_output');
        assert.equal(said, '["Echo: hi"]');
        assert.equal(g.up.requests.length, 1);
    });

    test('an id that nobody knows is ignored', async () => {
        g.up.next(textStream('Hello'));
        const events = await stream(g, { previous_response_id: `resp_${'x'.repeat(32)}` });
        assert.equal(events.at(-1).type, 'response.completed');
        assert.deepEqual(g.messages, [{ role: 'user', content: 'Hi' }]);
    });

    test('a failure is a completed response with an error', async () => {
        g.up.next({ headers: textStream('').headers, pieces: ['data: {"error":{"message":"Broken","code":500}}\n\n'] });
        const events = await stream(g, {});
        assert.equal(events.at(-1).type, 'response.completed');
        assert.match(events.at(-1).response.error.message, /Broken/);
    });

    test('before the stream it is an HTTP error as ever', async () => {
        g.up.next(failure(429, 'Slow down'));
        assert.equal((await ask(g.daemon, { input: 'Hi', stream: true }, { headers: ORS })).status, 429);
    });

    test('without a stream the answer is the usual one', async () => {
        g.up.next(textStream('Hello'));
        const { json } = await ask(g.daemon, { input: 'Hi' }, { headers: ORS });
        assert.deepEqual([json.object, json.status, json.output[0].content[0].text], ['response', 'completed', 'Hello']);
    });

    test('another word in the header is a mistake', async () => {
        const { status, json } = await ask(g.daemon, { input: 'Hi', stream: true }, { headers: { 'x-gateway-dialect': 'latin' } });
        assert.deepEqual([status, json.error.code], [400, 'invalid_value']);
    });
});

test('tool_choice is not forwarded when a server had to be listed first, either', async (t) => {
    const far = await startMcp({ style: { get: 405 } });
    t.after(() => far.close());
    const g = await gateway(t, { args: ['--mcp-remote', 'any'] });
    await stream(g, { tools: [declared('far', { server_url: far.url })], tool_choice: 'required' });
    assert.equal(g.up.requests[0].body.tool_choice, undefined);
});

test('dialect ors is for all that do not say otherwise', async (t) => {
    const g = await gateway(t, { args: ['--dialect', 'ors'] });
    g.up.next(textStream('Hello'), textStream('Hello'));
    assert.equal((await stream(g, {}, {})).at(-1).type, 'response.completed');
    const usual = await ask(g.daemon, { input: 'Hi', stream: true }, { headers: { 'x-gateway-dialect': 'responses' } });
    assert.match(usual.text, /^event: response\.completed$/m);
});

captures.judge(test);
