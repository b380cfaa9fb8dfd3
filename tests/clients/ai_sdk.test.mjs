/* ai_sdk.test.mjs -- Vercel's AI SDK with both of its providers for this API. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { createOpenResponses } from '@ai-sdk/open-responses';
import { createOpenAI } from '@ai-sdk/openai';
import { APICallError, Output, generateText, isStepCount, streamText, tool } from 'ai';
import { z } from 'zod';
import { shared } from '../lib/daemon.mjs';
import { Spy } from '../lib/spy.mjs';
import { CLOSE, HANG, callStream, chunk, failure, frames, stream, textStream, usageChunk } from '../lib/upstream.mjs';

globalThis.AI_SDK_LOG_WARNINGS = false;

const spy = new Spy();
const PIXEL = 'iVBORw0KGgo=';
const Fair = z.object({ name: z.string(), people: z.array(z.string()) });

/* How a model is made: by name, in front of this gateway. */
const openai = (origin) => createOpenAI({ baseURL: `${origin}/v1`, apiKey: 'sk-test', fetch: spy.fetch }).responses;
const openResponses = (origin) => createOpenResponses({ name: 'antiphon', url: `${origin}/v1/responses`, fetch: spy.fetch });

/* The openai provider asks for summaries only from models it takes for thinkers. */
const THINKS = { openai: { forceReasoning: true, reasoningSummary: 'auto' } };

const weatherTool = (asked) => tool({
    description: 'Weather of a city',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => {
        asked.push(city);
        return { sky: 'sunny' };
    },
});

/* As servers answer that know no stream_options. */
const withoutUsage = (answer) => ({ ...answer, pieces: answer.pieces.filter((piece) => !piece.includes('"usage"')) });

/* Thinks, then calls a tool. */
const thoughtfulCall = stream(frames(chunk({ reasoning_content: 'Let me look.' }),
    chunk({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } }] }),
    chunk({}, 'tool_calls'), usageChunk(20, 5), '[DONE]'));

async function partsOf(result) {
    const parts = [];
    for await (const part of result.stream)
        parts.push(part);
    return parts;
}
const typesOf = (parts) => parts.map((part) => part.type);
const errorsOf = (parts) => parts.filter((part) => part.type === 'error').map((part) => part.error);
const textOf = (parts, type) => parts.filter((part) => part.type === type).map((part) => part.text).join('');

/* A stream's failure, which the SDK hands out as a part, as an exception. */
async function streamedText(options) {
    const [error] = errorsOf(await partsOf(streamText({ ...options, onError: () => {} })));
    if (error)
        throw error;
}

/* One daemon and one model, and what a request to it has by default. */
function provider(modelsAt) {
    const both = shared({ before, beforeEach, after });
    const asking = (more) => ({ model: modelsAt(both.daemon.origin)('m'), maxRetries: 0, ...(more.messages ? {} : { prompt: 'Hi' }), ...more });
    return { both, asking };
}

for (const [name, modelsAt] of [['@ai-sdk/openai', openai], ['@ai-sdk/open-responses', openResponses]]) {
    describe(name, { concurrency: false }, () => {
        const { both, asking } = provider(modelsAt);

        test('generateText', async () => {
            both.up.next(textStream('Hello world'));
            const { text, finishReason, usage } = await generateText(asking({ instructions: 'Be brief.' }));
            assert.deepEqual([text, finishReason], ['Hello world', 'stop']);
            assert.deepEqual([usage.inputTokens, usage.outputTokens, usage.totalTokens], [9, 2, 11]);
            assert.deepEqual(both.up.requests[0].body.messages, [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'Hi' }]);
        });

        test('streamText', async () => {
            both.up.next(textStream('Hello world'));
            const result = streamText(asking({}));
            const parts = await partsOf(result);
            assert.deepEqual(typesOf(parts), ['start', 'start-step', 'text-start', 'text-delta', 'text-delta', 'text-end', 'finish-step', 'finish']);
            assert.equal(textOf(parts, 'text-delta'), 'Hello world');
            assert.equal((await result.usage).totalTokens, 11);
        });

        test('a conversation with pictures', async () => {
            both.up.next(textStream('Two pictures.'));
            const { text } = await generateText(asking({ messages: [
                { role: 'user', content: 'Hi' },
                { role: 'assistant', content: 'Hello' },
                { role: 'user', content: [
                    { type: 'text', text: 'What is this?' },
                    { type: 'file', mediaType: 'image/png', data: Buffer.from(PIXEL, 'base64') },
                    { type: 'file', mediaType: 'image/png', data: new URL('https://example.org/a.png') },
                ] },
            ] }));
            assert.equal(text, 'Two pictures.');
            const picture = (url) => ({ type: 'image_url', image_url: { url } });
            assert.deepEqual(both.up.requests[0].body.messages, [
                { role: 'user', content: 'Hi' },
                { role: 'assistant', content: 'Hello' },
                { role: 'user', content: [{ type: 'text', text: 'What is this?' }, picture(`data:image/png;base64,${PIXEL}`), picture('https://example.org/a.png')] },
            ]);
        });

        test('tools over three rounds, two of them at once', async () => {
            const asked = [];
            both.up.next(callStream(['weather', { city: 'Oslo' }, 'a'], ['weather', { city: 'Rome' }, 'b']), callStream(['weather', { city: 'Bern' }, 'c']), textStream('Sunny.'));
            const { text, steps, usage } = await generateText(asking({ tools: { weather: weatherTool(asked) }, stopWhen: isStepCount(5) }));
            assert.deepEqual([text, steps.length, asked], ['Sunny.', 3, ['Oslo', 'Rome', 'Bern']]);
            assert.equal(usage.totalTokens, 25 + 25 + 10);
            assert.deepEqual(both.up.requests[2].body.messages.map((m) => m.tool_calls?.map((call) => call.id) ?? m.tool_call_id ?? m.role),
                ['user', ['a', 'b'], 'a', 'b', ['c'], 'c']);
            assert.equal(both.up.requests[2].body.messages.at(-1).content, '{"sky":"sunny"}');
        });

        test('a tool in a stream', async () => {
            const asked = [];
            both.up.next(callStream(['weather', { city: 'Oslo' }, 'a']), textStream('Sunny.'));
            const parts = await partsOf(streamText(asking({ tools: { weather: weatherTool(asked) }, stopWhen: isStepCount(5) })));
            assert.deepEqual(asked, ['Oslo']);
            assert.deepEqual(typesOf(parts).filter((type) => ['tool-call', 'tool-result', 'text-delta', 'finish'].includes(type)), ['tool-call', 'tool-result', 'text-delta', 'finish']);
        });

        /* Agents go on until a step ends with 'stop': opencode repeated a turn 111 times whose usage was null. */
        test('an agent ends in time when the upstream counts no tokens', async () => {
            const asked = [];
            both.up.next(...[callStream(['weather', { city: 'Oslo' }, 'a']), textStream('Sunny.')].map(withoutUsage));
            both.up.always(withoutUsage(textStream('Again.')));
            const result = streamText(asking({
                tools: { weather: weatherTool(asked) },
                stopWhen: [isStepCount(6), ({ steps }) => steps.at(-1).finishReason === 'stop'],
            }));
            const parts = await partsOf(result);
            assert.deepEqual(errorsOf(parts), []);
            assert.deepEqual((await result.steps).map((step) => step.finishReason), ['tool-calls', 'stop']);
            assert.deepEqual([await result.finishReason, await result.text, asked, both.up.requests.length], ['stop', 'Sunny.', ['Oslo'], 2]);
            assert.deepEqual([(await result.totalUsage).inputTokens, (await result.totalUsage).totalTokens], [0, 0]);
        });

        test('toolChoice names a tool', async () => {
            both.up.next(callStream(['weather', { city: 'Oslo' }, 'a']));
            const { toolCalls } = await generateText(asking({ tools: { weather: weatherTool([]) }, toolChoice: { type: 'tool', toolName: 'weather' } }));
            assert.deepEqual(toolCalls.map((call) => [call.toolName, call.input]), [['weather', { city: 'Oslo' }]]);
            assert.deepEqual(both.up.requests[0].body.tool_choice, { type: 'function', function: { name: 'weather' } });
        });

        test('output with a schema', async () => {
            both.up.next(textStream('{"name":"fair","people":["A","B"]}'));
            const { output } = await generateText(asking({ output: Output.object({ schema: Fair }) }));
            assert.deepEqual(output, { name: 'fair', people: ['A', 'B'] });
            const { type, json_schema } = both.up.requests[0].body.response_format;
            assert.deepEqual([type, json_schema.schema.required], ['json_schema', ['name', 'people']]);
        });

        test('partial objects of a stream', async () => {
            both.up.next(textStream('{"name":"fair", "people":["A", "B"]}'));
            const result = streamText(asking({ output: Output.object({ schema: Fair }) }));
            const partial = [];
            for await (const object of result.partialOutputStream)
                partial.push(object);
            assert.deepEqual([partial[0], partial.at(-1)], [{ name: 'fair' }, { name: 'fair', people: ['A', 'B'] }]);
        });

        test('abortSignal ends the upstream call', async () => {
            both.up.next(stream([...frames(chunk({ content: 'one' })), HANG]));
            const controller = new AbortController();
            for await (const part of streamText(asking({ abortSignal: controller.signal })).stream) {
                if (part.type === 'text-delta')
                    controller.abort();
            }
            await both.up.requests[0].closed;
        });

        /* [upstream's answer, status, code, may be tried again] */
        for (const [answer, status, code, again] of [
            [failure(400, 'bad thing'), 400, 'upstream_rejected', false],
            [failure(400, 'too long', { code: 'context_length_exceeded' }), 400, 'context_length_exceeded', false],
            [failure(429, 'slow down', {}, { 'retry-after': '3' }), 429, 'rate_limit_exceeded', true],
            [failure(500, 'oops'), 502, 'upstream_error', true],
            [failure(503, 'busy'), 503, 'server_is_overloaded', true],
        ]) {
            for (const [way, call] of [['generateText', generateText], ['streamText', streamedText]]) {
                test(`${way} fails with ${status} ${code}`, async () => {
                    both.up.next(answer);
                    await assert.rejects(call(asking({})), (error) => {
                        assert.ok(APICallError.isInstance(error), String(error));
                        assert.deepEqual([error.statusCode, error.isRetryable, JSON.parse(error.responseBody).error.code], [status, again, code]);
                        return true;
                    });
                    assert.equal(both.up.requests.length, 1);
                });
            }
        }

        for (const [what, more] of [['no param', {}], ['a param', { param: 'temperature' }]]) {
            for (const [way, call] of [['generateText', generateText], ['streamText', streamedText]]) {
                test(`${way} shows why the upstream refuses, also with ${what}`, async () => {
                    both.up.next(failure(400, 'temperature is too hot', more));
                    await assert.rejects(call(asking({})), (error) => {
                        assert.ok(APICallError.isInstance(error), String(error));
                        assert.equal(error.message, 'temperature is too hot');
                        assert.equal(error.data.error.param, more.param ?? '');
                        return true;
                    });
                });
            }
        }

        test('a retry after 503 succeeds by itself', async () => {
            both.up.next(failure(503, 'busy', {}, { 'retry-after': '0' }), textStream('Hello'));
            assert.equal((await generateText(asking({ maxRetries: 1 }))).text, 'Hello');
            assert.equal(both.up.requests.length, 2);
        });

        test('a stream that breaks off is an error with the message', async () => {
            both.up.next(stream([...frames(chunk({ content: 'one' }), { error: { message: 'KV cache is full', code: 500 } }), CLOSE]));
            const parts = await partsOf(streamText(asking({ onError: () => {} })));
            assert.equal(textOf(parts, 'text-delta'), 'one');
            assert.match(JSON.stringify(errorsOf(parts)), /KV cache is full/);
        });

        test('an answer that was cut has finishReason length', async () => {
            both.up.next(textStream('cut', { finish: 'length' }));
            const { text, finishReason } = await generateText(asking({ maxOutputTokens: 16 }));
            assert.deepEqual([text, finishReason], ['cut', 'length']);
            assert.equal(both.up.requests[0].body.max_tokens, 16);
        });
    });
}

describe('@ai-sdk/openai and reasoning', { concurrency: false }, () => {
    const { both, asking } = provider(openai);

    test('a summary is streamed when it is asked for', async () => {
        both.up.next(textStream('Yes.', { reasoning: 'Let me see' }));
        const result = streamText(asking({ providerOptions: THINKS }));
        assert.equal(textOf(await partsOf(result), 'reasoning-delta'), 'Let me see');
        assert.deepEqual([await result.reasoningText, await result.text], ['Let me see', 'Yes.']);
    });

    /* Tools that the API has types for, and that the SDK runs: [calls, what was done]. */
    const patch = { type: 'update_file', path: 'a.c', diff: '@@\n-a\n+b' };
    const ownTools = (done) => {
        const { tools } = createOpenAI({ apiKey: 'sk-test' });
        return {
            shell: tools.shell({ execute: async ({ action }) => (done.push(action.commands), { output: [{ stdout: 'fine', stderr: '', outcome: { type: 'exit', exitCode: 0 } }] }) }),
            apply_patch: tools.applyPatch({ execute: async ({ operation }) => (done.push(operation), { status: 'completed', output: 'applied' }) }),
            tool_search: tools.toolSearch({
                execution: 'client', description: 'Finds tools.', parameters: { type: 'object', properties: { query: { type: 'string' } } },
                execute: async (input) => (done.push(input.arguments), { tools: [{ type: 'function', name: 'weather', description: 'Weather', parameters: { type: 'object', properties: {} } }] }),
            }),
        };
    };
    for (const [way, answer] of [['generateText', (options) => generateText(options)], ['streamText', async (options) => {
        const result = streamText(options);
        await result.consumeStream();
        return { text: await result.text };
    }]]) {
        test(`shell, apply_patch and tool_search, run by the SDK: ${way}`, async () => {
            const done = [];
            both.up.next(callStream(['shell', { commands: ['ls'] }, 'a']), callStream(['apply_patch', patch, 'b']), callStream(['tool_search', { query: 'sun' }, 'c']), textStream('Done.'));
            const { text } = await answer(asking({ tools: ownTools(done), stopWhen: isStepCount(6), providerOptions: { openai: { store: false } } }));
            assert.equal(text, 'Done.');
            assert.deepEqual(done, [['ls'], patch, { query: 'sun' }]);
            const { messages, tools } = both.up.requests[3].body;
            assert.deepEqual(messages.map((m) => m.tool_calls?.[0].function.name ?? m.tool_call_id ?? m.role), ['user', 'shell', 'a', 'apply_patch', 'b', 'tool_search', 'c']);
            assert.deepEqual(tools.map((t) => t.function.name), ['shell', 'apply_patch', 'tool_search', 'weather']);
        });
    }

    test('reasoning that was not asked for does no harm', async () => {
        both.up.next(textStream('Yes.', { reasoning: 'Let me see' }));
        const parts = await partsOf(streamText(asking({})));
        assert.deepEqual([textOf(parts, 'text-delta'), errorsOf(parts)], ['Yes.', []]);
    });

    /* It asks for sealed reasoning then, and sends that back. */
    test('tools after reasoning, with nothing stored', async () => {
        const asked = [];
        both.up.next(thoughtfulCall, textStream('Sunny.'));
        const { text, steps } = await generateText(asking({ providerOptions: { openai: { ...THINKS.openai, store: false } }, tools: { weather: weatherTool(asked) }, stopWhen: isStepCount(3) }));
        assert.deepEqual([text, asked, steps[0].reasoningText], ['Sunny.', ['Oslo'], 'Let me look.']);
        const [, call] = both.up.requests[1].body.messages;
        assert.deepEqual([call.reasoning_content, call.tool_calls[0].id], ['Let me look.', 'call_1']);
    });

    test('an answer\'s reasoning in a second turn, with nothing stored', async () => {
        const providerOptions = { openai: { ...THINKS.openai, store: false } };
        both.up.next(textStream('First.', { reasoning: 'Hm' }), textStream('Second.'));
        const first = await generateText(asking({ providerOptions }));
        await generateText(asking({ providerOptions, messages: [{ role: 'user', content: 'One' }, ...first.response.messages, { role: 'user', content: 'Two' }] }));
        assert.equal(both.up.requests[1].body.messages[1].reasoning_content, 'Hm');
    });

    /* Where store is not false, this provider names earlier items by their ids. */
    test('tools after reasoning, by references to stored items', async () => {
        const asked = [];
        both.up.next(thoughtfulCall, textStream('Sunny.'));
        const { text } = await generateText(asking({ providerOptions: THINKS, tools: { weather: weatherTool(asked) }, stopWhen: isStepCount(3) }));
        assert.deepEqual([text, asked], ['Sunny.', ['Oslo']]);
        const [, call, result] = both.up.requests[1].body.messages;
        assert.deepEqual([call.reasoning_content, call.tool_calls[0].id, result.tool_call_id], ['Let me look.', 'call_1', 'call_1']);
    });

    test('a second turn, by references to stored items', async () => {
        both.up.next(textStream('First.'), textStream('Second.'));
        const first = await generateText(asking({}));
        const second = await generateText(asking({ messages: [{ role: 'user', content: 'Hi' }, ...first.responseMessages, { role: 'user', content: 'Go on' }] }));
        assert.equal(second.text, 'Second.');
        assert.deepEqual(both.up.requests[1].body.messages.map((m) => m.content), ['Hi', 'First.', 'Go on']);
    });
});

describe('@ai-sdk/openai and what is stored', { concurrency: false }, () => {
    const { both, asking } = provider(openai);
    const ways = [
        ['generateText', generateText],
        ['streamText', async (options) => {
            const result = streamText(options);
            assert.deepEqual(errorsOf(await partsOf(result)), []);
            return { text: await result.text, providerMetadata: await result.providerMetadata };
        }],
    ];

    for (const [way, call] of ways) {
        test(`${way} with previousResponseId`, async () => {
            both.up.next(textStream('First.', { reasoning: 'Hm' }), textStream('Second.'));
            const first = await call(asking({ prompt: 'One' }));
            const { responseId } = first.providerMetadata.openai;
            const second = await call(asking({ prompt: 'Two', providerOptions: { openai: { previousResponseId: responseId } } }));
            assert.equal(second.text, 'Second.');
            const { messages } = both.up.requests[1].body;
            assert.deepEqual(messages.map((m) => m.content), ['One', 'First.', 'Two']);
            assert.equal(messages[1].reasoning_content, 'Hm');
        });

        test(`${way} with a conversation`, async () => {
            const made = await fetch(`${both.daemon.origin}/v1/conversations`, { method: 'POST', headers: { 'content-type': 'application/json', authorization: 'Bearer sk-test' }, body: '{}' });
            const { id } = await made.json();
            both.up.next(textStream('First.'), textStream('Second.'));
            for (const prompt of ['One', 'Two'])
                await call(asking({ prompt, providerOptions: { openai: { conversation: id } } }));
            assert.deepEqual(both.up.requests[1].body.messages.map((m) => m.content), ['One', 'First.', 'Two']);
        });

        test(`${way} after a response that is unknown`, async () => {
            const run = way === 'streamText' ? streamedText : call;
            await assert.rejects(run(asking({ providerOptions: { openai: { previousResponseId: 'resp_x' } } })), (error) => {
                assert.deepEqual([error.statusCode, error.isRetryable, JSON.parse(error.responseBody).error.code], [400, false, 'previous_response_not_found']);
                return true;
            });
        });
    }
});

describe('@ai-sdk/open-responses and reasoning', { concurrency: false }, () => {
    const { both, asking } = provider(openResponses);

    for (const [kind, providerOptions] of [['raw reasoning', {}], ['a summary', { antiphon: { reasoningSummary: 'auto' } }]]) {
        test(`${kind} arrives once`, async () => {
            both.up.always(textStream('Yes.', { reasoning: 'Let me see' }));
            const result = streamText(asking({ providerOptions }));
            const parts = await partsOf(result);
            assert.equal(textOf(parts, 'reasoning-delta'), 'Let me see');
            assert.equal(typesOf(parts).filter((type) => type === 'reasoning-start').length, 1);
            assert.equal((await generateText(asking({ providerOptions }))).reasoningText, 'Let me see');
        });
    }

    test('raw reasoning goes back to the upstream with the call', async () => {
        both.up.next(thoughtfulCall, textStream('Sunny.'));
        const { text } = await generateText(asking({ tools: { weather: weatherTool([]) }, stopWhen: isStepCount(3) }));
        assert.equal(text, 'Sunny.');
        const [, call] = both.up.requests[1].body.messages;
        assert.deepEqual([call.reasoning_content, call.tool_calls[0].id], ['Let me look.', 'call_1']);
    });
});

spy.judge(test);
