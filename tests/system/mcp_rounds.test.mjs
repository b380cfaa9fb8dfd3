/* mcp_rounds.test.mjs -- what one round with the model hands to the next, and what is checked
 * before anything is done at all. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { declared, gateway, sharedGateway, shown } from '../lib/mcp.mjs';
import { startMcp } from '../lib/mcp_server.mjs';
import { output } from '../lib/state.mjs';
import { callStream, chunk, frames, stream, textStream, usageChunk } from '../lib/upstream.mjs';

const captures = new Captures();
const FAKE = { tools: [declared('fake')] };
const echo = (message, id = 'c1') => [shown('fake', 'echo'), { message }, id];

/* A call after some reasoning. */
const thought = (reasoning, [name, args, id]) => stream(frames(
    chunk({ reasoning_content: reasoning }),
    chunk({ tool_calls: [{ index: 0, id, type: 'function', function: { name, arguments: JSON.stringify(args) } }] }),
    chunk({}, 'tool_calls'), usageChunk(20, 5), '[DONE]'));

const reasoningIn = ({ messages }) => messages.filter(({ role }) => role === 'assistant').map((message) => message.reasoning_content);

describe('reasoning before a call reaches the next round', { concurrency: false }, () => {
    for (const [what, args, more] of [
        ['as text', [], {}],
        ['as a summary, if asked for', [], { reasoning: { summary: 'auto' } }],
        ['as a summary, by the option', ['--reasoning', 'summary'], {}],
        ['hidden', ['--reasoning', 'none'], {}],
    ])
        test(what, async (t) => {
            const g = await gateway(t, { servers: { fake: await startMcp() }, captures, args });
            g.up.next(thought('One.', echo('a')), thought('Two.', echo('b')), textStream('Done.', { reasoning: 'Three.' }), textStream('Bye.'));
            const response = await g.respond({ ...FAKE, ...more });
            assert.deepEqual(reasoningIn(g), ['One.', 'Two.']);
            const { messages } = g;
            await g.respond({ ...FAKE, ...more, previous_response_id: response.id, input: 'Thanks' });
            assert.deepEqual(reasoningIn(g), ['One.', 'Two.', 'Three.']);
            assert.deepEqual(g.messages.slice(0, messages.length), messages, 'the next request begins with what was said');
        });
});

describe('mistakes are found before anything is done', { concurrency: false }, () => {
    const g = sharedGateway({ before, beforeEach, after }, captures, async () => ({ servers: { fake: await startMcp() }, args: ['--mcp-remote', 'any'] }));
    const ORPHAN = output('call_unknown', 'x');

    for (const how of [{}, { stream: true }]) {
        const what = how.stream ? 'streaming' : 'not streaming';

        test(`an output without its call, before an approved call is run, ${what}`, async () => {
            const tools = [declared('fake', { require_approval: 'always' })];
            g.up.next(callStream(echo('hi')));
            const { id, output: [request] } = await g.respond({ tools });
            const approval = { type: 'mcp_approval_response', approval_request_id: request.id, approve: true };
            await g.turnedAway({ ...how, tools, previous_response_id: id, input: [approval, ORPHAN] }, [400, 'invalid_value', 'input']);
            assert.equal(g.options.servers.fake.calls.length, 0);
        });

        test(`an output without its call, before a server is listed, ${what}`, async (t) => {
            const far = await startMcp({ style: { get: 405 } });
            t.after(() => far.close());
            const { id } = await g.respond();
            await g.turnedAway({ ...how, tools: [declared('far', { server_url: far.url })], previous_response_id: id, input: [ORPHAN] }, [400, 'invalid_value', 'input']);
            assert.equal(far.received.length, 0);
        });

        for (const tool_choice of [{ type: 'mcp', server_label: 'near' }, { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'mcp', server_label: 'near' }] }])
            test(`${tool_choice.type} of another server, before one is listed, ${what}`, async (t) => {
                const far = await startMcp({ style: { get: 405 } });
                t.after(() => far.close());
                await g.turnedAway({ ...how, tools: [declared('far', { server_url: far.url })], tool_choice }, [400, 'invalid_value', 'tool_choice']);
                assert.equal(far.received.length, 0);
            });
    }
});

/* Approved calls are begun while the request is still being read. */
describe('a request that ends before the model is asked', { concurrency: false }, () => {
    const approved = (args) => ({
        stream: true, store: false, tools: [declared('fake', { require_approval: 'always' })],
        input: [{ type: 'mcp_approval_request', id: 'mcpr_1', server_label: 'fake', name: 'echo', arguments: args }, { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true }],
    });

    test('because of what an approved call says, ends its stream as any other', async (t) => {
        const g = await gateway(t, { servers: { fake: await startMcp() }, captures, args: ['--max-response', '4096'] });
        const { response } = await g.stream(approved(JSON.stringify({ message: 'x'.repeat(5000) })));
        assert.deepEqual([response.status, response.output], ['failed', []]);
    });
});

test('an approved call counts for max_tool_calls: when it is the last, the model may only speak', async (t) => {
    const g = await gateway(t, { servers: { fake: await startMcp() }, captures });
    const tools = [declared('fake', { require_approval: { always: { tool_names: ['echo'] }, never: { tool_names: ['add'] } } })];
    const next = async (max_tool_calls) => {
        g.up.next(callStream(echo('hi')));
        const { id, output: [request] } = await g.respond({ tools });
        g.up.next(textStream('Done.'));
        await g.respond({ tools, max_tool_calls, previous_response_id: id, input: [{ type: 'mcp_approval_response', approval_request_id: request.id, approve: true }] });
        return g.up.requests.at(-1).body.tool_choice;
    };
    assert.deepEqual([await next(1), await next(2)], ['none', undefined]);
});

captures.judge(test);
