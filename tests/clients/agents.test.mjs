/* agents.test.mjs -- the OpenAI Agents SDK runs its agents to their end. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Agent, ModelBehaviorError, OpenAIConversationsSession, OpenAIResponsesModel, applyPatchTool, run, setDefaultOpenAIClient, setTracingDisabled, shellTool, tool } from '@openai/agents';
import OpenAI, { APIError, BadRequestError, RateLimitError } from 'openai';
import { z } from 'zod';
import { shared } from '../lib/daemon.mjs';
import { Spy } from '../lib/spy.mjs';
import { CLOSE, HANG, callStream, chunk, failure, frames, stream, textStream } from '../lib/upstream.mjs';

setTracingDisabled(true); /* traces would go to OpenAI */

const spy = new Spy();
const weather = tool({
    name: 'get_weather',
    description: 'Weather of a city',
    parameters: z.object({ city: z.string() }),
    execute: async ({ city }) => `Sunny in ${city}`,
});

/* Thinks, then calls the tool. */
const thoughtfulCall = (reasoning_content, id, city) => stream(frames(chunk({ reasoning_content }),
    chunk({ tool_calls: [{ index: 0, id, type: 'function', function: { name: 'get_weather', arguments: JSON.stringify({ city }) } }] }),
    chunk({}, 'tool_calls'), '[DONE]'));

const isTextDelta = (event) => event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta';

describe('@openai/agents', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });
    const agent = new Agent({ name: 'Guide', instructions: 'Be brief.', model: 'm', tools: [weather] });
    let client;

    before(() => {
        client = new OpenAI({ baseURL: `${both.daemon.origin}/v1`, apiKey: 'sk-test', maxRetries: 0, fetch: spy.fetch });
        setDefaultOpenAIClient(client);
    });

    const streamed = async (input, options) => {
        const result = await run(agent, input, { stream: true, ...options });
        const events = [];
        for await (const event of result)
            events.push(event);
        await result.completed;
        return { events, result };
    };

    test('runs two tools at once and then a third', async () => {
        both.up.next(callStream(['get_weather', { city: 'Oslo' }, 'a'], ['get_weather', { city: 'Rome' }, 'b']), callStream(['get_weather', { city: 'Bern' }, 'c']), textStream('Sunny.'));
        const result = await run(agent, 'Weather?');
        assert.equal(result.finalOutput, 'Sunny.');
        const { body } = both.up.requests[2];
        assert.deepEqual(body.messages.map((m) => m.tool_calls?.map((call) => call.id) ?? m.tool_call_id ?? m.role), ['system', 'user', ['a', 'b'], 'a', 'b', ['c'], 'c']);
        assert.deepEqual(body.messages.filter((m) => m.role === 'tool').map((m) => m.content), ['Sunny in Oslo', 'Sunny in Rome', 'Sunny in Bern']);
        assert.equal(result.rawResponses.reduce((sum, { usage }) => sum + usage.totalTokens, 0), 25 + 25 + 10);
    });

    test('streams a run with a tool', async () => {
        both.up.next(callStream(['get_weather', { city: 'Oslo' }, 'a']), textStream('Sunny day.'));
        const { events, result } = await streamed('Weather?');
        assert.equal(events.filter(isTextDelta).map((event) => event.data.delta).join(''), 'Sunny day.');
        assert.deepEqual(events.filter((event) => event.type === 'run_item_stream_event').map((event) => event.name), ['tool_called', 'tool_output', 'message_output_created']);
        assert.equal(result.finalOutput, 'Sunny day.');
    });

    test('hands over to another agent', async () => {
        const expert = new Agent({ name: 'Expert', instructions: 'You know it.', model: 'm2' });
        const desk = Agent.create({ name: 'Desk', instructions: 'Ask the expert.', model: 'm', handoffs: [expert] });
        both.up.next(callStream(['transfer_to_Expert', {}, 'a']), textStream('I know.'));
        const result = await run(desk, 'Who knows?');
        assert.deepEqual([result.finalOutput, result.lastAgent.name], ['I know.', 'Expert']);
        assert.deepEqual(both.up.requests.map(({ body }) => [body.model, body.messages[0].content]), [['m', 'Ask the expert.'], ['m2', 'You know it.']]);
    });

    test('runs commands and patches on its own side', async () => {
        const done = [];
        const shell = { run: async (action) => (done.push(action.commands), { output: action.commands.map((command) => ({ stdout: `${command}: fine`, stderr: '', outcome: { type: 'exit', exitCode: 0 } })) }) };
        const edit = (operation) => (done.push([operation.type, operation.path, operation.diff]), { status: 'completed', output: 'applied' });
        const editor = { createFile: edit, updateFile: edit, deleteFile: edit };
        const coder = new Agent({ name: 'Coder', model: 'm', tools: [shellTool({ shell }), applyPatchTool({ editor })] });
        both.up.next(callStream(['shell', { commands: ['ls', 'pwd'] }, 'a'], ['apply_patch', { type: 'update_file', path: 'a.c', diff: '@@\n-a\n+b' }, 'b']),
            callStream(['apply_patch', { type: 'delete_file', path: 'c.c' }, 'c']), textStream('All done.'));
        const result = await run(coder, 'Go');
        assert.equal(result.finalOutput, 'All done.');
        assert.deepEqual(done.map(String).sort(), [['ls', 'pwd'], ['update_file', 'a.c', '@@\n-a\n+b'], ['delete_file', 'c.c', undefined]].map(String).sort());
        const { messages } = both.up.requests[2].body;
        assert.deepEqual(messages.map((m) => m.tool_calls?.map((call) => call.function.name) ?? m.tool_call_id ?? m.role), ['user', ['shell', 'apply_patch'], 'a', 'b', ['apply_patch'], 'c']);
        const read = messages.filter((m) => m.role === 'tool').map((m) => JSON.parse(m.content));
        assert.deepEqual(read[0].map(({ stdout }) => stdout), ['ls: fine', 'pwd: fine']);
        assert.deepEqual([read[1].status, read[1].output], ['completed', 'applied']);
    });

    test('structured output', async () => {
        const Fair = z.object({ name: z.string(), guests: z.number() });
        both.up.next(textStream('{"name":"fair","guests":2}'));
        const result = await run(new Agent({ name: 'Reader', model: 'm', outputType: Fair }), 'Read.');
        assert.deepEqual(result.finalOutput, { name: 'fair', guests: 2 });
        assert.deepEqual(both.up.requests[0].body.response_format.json_schema.schema.required, ['name', 'guests']);
    });

    test('a second turn sends reasoning and answer back', async () => {
        both.up.next(textStream('First.', { reasoning: 'Hm' }), textStream('Second.'));
        const first = await run(agent, 'One');
        const second = await run(agent, [...first.history, { role: 'user', content: 'Two' }]);
        assert.equal(second.finalOutput, 'Second.');
        const { messages } = both.up.requests[1].body;
        assert.deepEqual(messages.map((m) => m.content), ['Be brief.', 'One', 'First.', 'Two']);
        assert.equal(messages[2].reasoning_content, 'Hm');
    });

    /* What an agent asks for decides in which form it carries its reasoning; the model gets it in any. */
    for (const [what, modelSettings] of [
        ['text', {}],
        ['a summary', { reasoning: { summary: 'auto' } }],
        ['sealed', { store: false, reasoning: { summary: 'auto' }, providerData: { include: ['reasoning.encrypted_content'] } }],
    ])
        test(`reasoning between calls goes back to the model: ${what}`, async () => {
            both.up.next(thoughtfulCall('One.', 'a', 'Oslo'), thoughtfulCall('Two.', 'b', 'Rome'), textStream('Sunny.'));
            const thinker = new Agent({ name: 'Thinker', model: 'm', tools: [weather], modelSettings });
            assert.equal((await run(thinker, 'Weather?')).finalOutput, 'Sunny.');
            const { messages, include } = both.up.requests[2].body;
            assert.deepEqual(messages.filter(({ role }) => role === 'assistant').map((message) => message.reasoning_content), ['One.', 'Two.']);
            assert.equal(include, undefined);
        });

    test('an OpenAIResponsesModel with a client of its own', async () => {
        both.up.next(textStream('Hello'));
        const result = await run(new Agent({ name: 'Other', model: new OpenAIResponsesModel(client, 'other') }), 'Hi');
        assert.equal(result.finalOutput, 'Hello');
        assert.equal(both.up.requests[0].body.model, 'other');
    });

    test('an abort ends the upstream call', async () => {
        both.up.next(stream([...frames(chunk({ content: 'one' })), HANG]));
        const controller = new AbortController();
        const result = await run(agent, 'Hi', { stream: true, signal: controller.signal });
        for await (const event of result) {
            if (isTextDelta(event))
                controller.abort();
        }
        await both.up.requests[0].closed;
    });

    /* [what carries the turns, options of each run after a first one or none] */
    for (const [what, optionsFor] of [
        ['previousResponseId', async (last) => ({ previousResponseId: last?.lastResponseId })],
        ['a conversation', async (last) => ({ conversationId: last?.conversation ?? (await client.conversations.create({})).id })],
        ['a session of stored items', async (last) => ({ session: last?.session ?? new OpenAIConversationsSession({ client }) })],
    ]) {
        for (const [way, start] of [['run', (input, options) => run(agent, input, options)], ['streamed run', async (...args) => (await streamed(...args)).result]]) {
            test(`turns of a ${way} with tools, by ${what}`, async () => {
                both.up.next(callStream(['get_weather', { city: 'Oslo' }, 'a']), textStream('Sunny.', { reasoning: 'Hm' }), textStream('Bye.'));
                const options = await optionsFor();
                const first = await start('Weather?', options);
                assert.equal(first.finalOutput, 'Sunny.');
                const second = await start('Thanks', await optionsFor({ lastResponseId: first.lastResponseId, conversation: options.conversationId, session: options.session }));
                assert.equal(second.finalOutput, 'Bye.');
                const { messages } = both.up.requests[2].body;
                assert.deepEqual(messages.map((m) => m.tool_calls?.[0].id ?? m.content), ['Be brief.', 'Weather?', 'a', 'Sunny in Oslo', 'Sunny.', 'Thanks']);
                assert.equal(messages[4].reasoning_content, 'Hm');
            });
        }
    }

    test('a session gives its items, takes back the last one, and is cleared', async () => {
        const session = new OpenAIConversationsSession({ client });
        await run(agent, 'One', { session });
        await run(agent, 'Two', { session });
        const textOf = (item) => item.content[0].text;
        assert.deepEqual((await session.getItems()).map(textOf), ['One', 'Hello', 'Two', 'Hello']);
        assert.deepEqual((await session.getItems(3)).map(textOf), ['Hello', 'Two', 'Hello']);
        assert.equal(textOf(await session.popItem()), 'Hello');
        assert.deepEqual((await session.getItems()).map(textOf), ['One', 'Hello', 'Two']);
        const id = await session.getSessionId();
        await session.clearSession();
        await assert.rejects(client.conversations.retrieve(id), { status: 404 });
    });

    /* [what happens, the upstream's answer, class of the error, its text] */
    for (const [what, answer, type, message] of [
        ['status 400', failure(400, 'bad thing'), BadRequestError, /bad thing/],
        ['status 429', failure(429, 'slow down'), RateLimitError, /slow down/],
        ['a stream that breaks off', stream([...frames(chunk({ content: 'one' }), { error: { message: 'KV cache is full', code: 500 } }), CLOSE]), APIError, /KV cache is full/],
        ['an incomplete answer', textStream('cut', { finish: 'length' }), ModelBehaviorError, /incomplete/],
    ]) {
        for (const [way, start] of [['run', (input) => run(agent, input)], ['streamed run', streamed]]) {
            test(`${what} ends the ${way}`, async () => {
                both.up.always(answer);
                await assert.rejects(start('Hi'), (error) => {
                    assert.ok(error instanceof type, `${error.constructor.name}: ${error}`);
                    assert.match(error.message, message);
                    return true;
                });
                assert.equal(both.up.requests.length, 1);
            });
        }
    }
});

spy.judge(test);
