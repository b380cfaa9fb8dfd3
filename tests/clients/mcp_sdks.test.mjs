/* mcp_sdks.test.mjs -- the SDKs of OpenAI with tools that the gateway runs. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Agent, hostedMcpTool, run, setDefaultOpenAIClient, setTracingDisabled } from '@openai/agents';
import OpenAI from 'openai';
import { Captures } from '../lib/check.mjs';
import { declared, sharedGateway, shown } from '../lib/mcp.mjs';
import { startMcp } from '../lib/mcp_server.mjs';
import { Spy } from '../lib/spy.mjs';
import { callStream, textStream } from '../lib/upstream.mjs';

setTracingDisabled(true); /* traces would go to OpenAI */

const spy = new Spy();
const everything = { command: process.execPath, args: [fileURLToPath(new URL('node_modules/.bin/mcp-server-everything', import.meta.url)), 'stdio'] };
const sum = (a, b, id = 'c1') => [shown('all', 'get-sum'), { a, b }, id];
const SUM = 'The sum of 2 and 3 is 5.';

function setup() {
    const g = sharedGateway({ before, beforeEach, after }, new Captures(),
        async () => ({ servers: { all: everything, far: await startMcp({ style: { get: 405 } }) }, args: ['--mcp-remote', 'any'] }));
    const made = {};
    before(() => {
        made.client = new OpenAI({ baseURL: `${g.daemon.origin}/v1`, apiKey: 'sk-test', maxRetries: 0, fetch: spy.fetch });
        setDefaultOpenAIClient(made.client);
    });
    return { g, made };
}

describe('openai', { concurrency: false }, () => {
    const { g, made } = setup();
    const body = (more) => ({ model: 'm', input: 'How much?', tools: [declared('all', { require_approval: 'never' })], ...more });

    test('create() gives the call and its result', async () => {
        g.up.next(callStream(sum(2, 3)), textStream('Five.'));
        const response = await made.client.responses.create(body());
        assert.deepEqual([response.output[0].type, response.output[0].output, response.output_text], ['mcp_call', SUM, 'Five.']);
    });

    test('stream() puts the events together to the same response', async () => {
        g.up.next(callStream(sum(2, 3)), textStream('Five.'));
        const stream = made.client.responses.stream(body());
        const seen = [];
        for await (const event of stream)
            seen.push(event.type);
        const response = await stream.finalResponse();
        assert.deepEqual([response.output[0].arguments, response.output[0].output, response.output_text], ['{"a":2,"b":3}', SUM, 'Five.']);
        assert.deepEqual(['in_progress', 'completed'].map((type) => seen.filter((one) => one === `response.mcp_call.${type}`).length), [1, 1]);
    });

    test('stream() goes on behind a call that failed', async () => {
        g.up.next(callStream([shown('all', 'echo'), {}, 'c1']), textStream('It failed.'));
        const response = await made.client.responses.stream(body()).finalResponse();
        assert.deepEqual([response.output[0].status, response.output_text], ['failed', 'It failed.']);
    });

    test('a remote server: its list, then the call', async () => {
        const tools = [declared('far', { server_url: g.options.servers.far.url, require_approval: 'never' })];
        g.up.next(callStream([shown('far', 'echo'), { message: 'hi' }, 'c1']), textStream('Done.'));
        const response = await made.client.responses.stream(body({ tools })).finalResponse();
        assert.deepEqual(response.output.map(({ type }) => type), ['mcp_list_tools', 'mcp_call', 'message']);
    });

    test('an approval, asked for and given', async () => {
        const tools = [declared('all', { require_approval: 'always' })];
        g.up.next(callStream(sum(2, 3)), textStream('Five.'));
        const first = await made.client.responses.create(body({ tools }));
        const [{ type, id }] = first.output;
        assert.equal(type, 'mcp_approval_request');
        const second = await made.client.responses.create(body({
            tools, previous_response_id: first.id, input: [{ type: 'mcp_approval_response', approval_request_id: id, approve: true }],
        }));
        assert.deepEqual([second.output[0].output, second.output_text], [SUM, 'Five.']);
    });
});

describe('@openai/agents', { concurrency: false }, () => {
    const { g } = setup();
    const agentWith = (...tools) => new Agent({ name: 'Guide', instructions: 'Be brief.', model: 'm', tools });
    const hosted = (more) => hostedMcpTool({ serverLabel: 'all', ...more });

    test('a hosted tool without approval', async () => {
        g.up.next(callStream(sum(2, 3)), textStream('Five.'));
        const result = await run(agentWith(hosted({ requireApproval: 'never' })), 'How much?');
        assert.equal(result.finalOutput, 'Five.');
        assert.equal(g.messages.findLast(({ role }) => role === 'tool').content, SUM);
    });

    test('streamed', async () => {
        g.up.next(callStream(sum(2, 3)), textStream('Five.'));
        const result = await run(agentWith(hosted({ requireApproval: 'never' })), 'How much?', { stream: true });
        for await (const _ of result);
        await result.completed;
        assert.equal(result.finalOutput, 'Five.');
    });

    test('a second turn sends the call back without its output, and the model is told all the same', async () => {
        g.up.next(callStream(sum(2, 3)), textStream('Five.'), textStream('Sure.'));
        const agent = agentWith(hosted({ requireApproval: 'never' }));
        const first = await run(agent, 'How much?');
        const before = g.messages;
        const second = await run(agent, [...first.history, { role: 'user', content: 'Sure?' }]);
        assert.equal(second.finalOutput, 'Sure.');
        assert.deepEqual(g.messages.slice(0, before.length), before);
    });

    for (const [what, optionsFor] of [
        ['with its history', async () => ({})],
        ['by previousResponseId', async () => ({ previousResponseId: (await g.respond()).id })],
    ]) {
        for (const approve of [true, false]) {
            test(`an approval that is ${approve ? 'given' : 'refused'} by a callback, ${what}`, async () => {
                const options = await optionsFor();
                g.up.next(callStream(sum(2, 3)), textStream('Well.'));
                const asked = [];
                const onApproval = async (_, { rawItem }) => {
                    asked.push(rawItem.name);
                    return { approve, reason: approve ? undefined : 'Too dear.' };
                };
                const result = await run(agentWith(hosted({ requireApproval: 'always', onApproval })), 'How much?', options);
                assert.deepEqual([result.finalOutput, asked], ['Well.', ['get-sum']]);
                const { content } = g.messages.findLast(({ role }) => role === 'tool');
                assert.match(content, approve ? /is 5/ : /not approved/);
            });
        }
    }

    test('an approval by hand: the run stops, and goes on from its state', async () => {
        g.up.next(callStream(sum(2, 3)), textStream('Five.'));
        const agent = agentWith(hosted({ requireApproval: { always: { toolNames: ['get-sum'] }, never: { toolNames: ['echo'] } } }));
        const stopped = await run(agent, 'How much?');
        assert.equal(stopped.interruptions.length, 1);
        stopped.state.approve(stopped.interruptions[0]);
        const result = await run(agent, stopped.state);
        assert.equal(result.finalOutput, 'Five.');
    });

    test('a remote server with authorization and headers', async () => {
        const { far } = g.options.servers;
        g.up.next(callStream([shown('far', 'echo'), { message: 'hi' }, 'c1']), textStream('Done.'));
        const tool = hostedMcpTool({ serverLabel: 'far', serverUrl: far.url, authorization: 'tok', headers: { 'X-Own': 'mine' }, requireApproval: 'never' });
        const result = await run(agentWith(tool), 'Say hi');
        assert.equal(result.finalOutput, 'Done.');
        assert.deepEqual([far.calls[0].headers.authorization, far.calls[0].headers['x-own']], ['Bearer tok', 'mine']);
    });
});

spy.judge(test);
