/* langchain.test.mjs -- LangChain's ChatOpenAI, told to use this API. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { HumanMessage, SystemMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';
import { shared } from '../lib/daemon.mjs';
import { Spy } from '../lib/spy.mjs';
import { CLOSE, HANG, callStream, chunk, failure, frames, stream, textStream } from '../lib/upstream.mjs';

const spy = new Spy();
const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';
const Fair = z.object({ name: z.string(), guests: z.number() });
const weather = tool(async ({ city }) => `Sunny in ${city}`, {
    name: 'get_weather',
    description: 'Weather of a city',
    schema: z.object({ city: z.string() }),
});

/* All chunks of a stream as the one message they make. */
async function gather(chunks) {
    let whole;
    for await (const piece of await chunks)
        whole = whole === undefined ? piece : whole.concat(piece);
    return whole;
}

describe('@langchain/openai', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });
    const modelWith = (options = {}) => new ChatOpenAI({
        model: 'm',
        apiKey: 'sk-test',
        useResponsesApi: true,
        maxRetries: 0,
        configuration: { baseURL: `${both.daemon.origin}/v1`, fetch: spy.fetch },
        ...options,
    });

    /* [how the model is asked, which fetches the whole message] */
    const ways = [['invoke', (model, input) => model.invoke(input)], ['stream', (model, input) => gather(model.stream(input))]];

    for (const [way, ask] of ways) {
        test(`${way}: text and usage`, async () => {
            both.up.next(textStream('Hello world', { reasoning: 'Hm' }));
            const message = await ask(modelWith(), [new SystemMessage('Be brief.'), new HumanMessage('Hi')]);
            assert.equal(message.text, 'Hello world');
            const { input_tokens, output_tokens, total_tokens } = message.usage_metadata;
            assert.deepEqual([input_tokens, output_tokens, total_tokens], [9, 2, 11]);
            assert.deepEqual(both.up.requests[0].body.messages, [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'Hi' }]);
        });

        test(`${way}: a loop with two tools at once`, async () => {
            const model = modelWith().bindTools([weather]);
            both.up.next(callStream(['get_weather', { city: 'Oslo' }, 'a'], ['get_weather', { city: 'Rome' }, 'b']), textStream('Sunny.'));
            const said = [new HumanMessage('Weather?')];
            said.push(await ask(model, said));
            assert.deepEqual(said[1].tool_calls.map((call) => [call.id, call.args.city]), [['a', 'Oslo'], ['b', 'Rome']]);
            for (const call of said[1].tool_calls)
                said.push(await weather.invoke(call));
            assert.equal((await ask(model, said)).text, 'Sunny.');
            const { messages } = both.up.requests[1].body;
            assert.deepEqual(messages.map((m) => m.tool_calls?.map((call) => call.id) ?? m.tool_call_id ?? m.role), ['user', ['a', 'b'], 'a', 'b']);
            assert.deepEqual(messages.slice(2).map((m) => m.content), ['Sunny in Oslo', 'Sunny in Rome']);
        });

        test(`${way}: a second turn`, async () => {
            both.up.next(textStream('First.', { reasoning: 'Hm' }), textStream('Second.'));
            const first = await ask(modelWith(), 'One');
            const second = await ask(modelWith(), [new HumanMessage('One'), first, new HumanMessage('Two')]);
            assert.equal(second.text, 'Second.');
            assert.deepEqual(both.up.requests[1].body.messages.map((m) => m.content), ['One', 'First.', 'Two']);
        });

        test(`${way}: a second turn by previous_response_id`, async () => {
            both.up.next(textStream('First.', { reasoning: 'Hm' }), textStream('Second.'));
            const first = await ask(modelWith(), 'One');
            assert.match(first.response_metadata.id, /^resp_/);
            const second = await ask(modelWith().withConfig({ previous_response_id: first.response_metadata.id }), 'Two');
            assert.equal(second.text, 'Second.');
            const { messages } = both.up.requests[1].body;
            assert.deepEqual(messages.map((m) => m.content), ['One', 'First.', 'Two']);
            assert.equal(messages[1].reasoning_content, 'Hm');
        });

        test(`${way}: a tool's result by previous_response_id`, async () => {
            both.up.next(callStream(['get_weather', { city: 'Oslo' }, 'a']), textStream('Sunny.'));
            const first = await ask(modelWith().bindTools([weather]), 'Weather?');
            const result = await weather.invoke(first.tool_calls[0]);
            const second = await ask(modelWith().bindTools([weather]).withConfig({ previous_response_id: first.response_metadata.id }), [result]);
            assert.equal(second.text, 'Sunny.');
            assert.deepEqual(both.up.requests[1].body.messages.map((m) => m.tool_calls?.[0].id ?? m.content), ['Weather?', 'a', 'Sunny in Oslo']);
        });

        test(`${way}: a reasoning summary`, async () => {
            both.up.next(textStream('Yes.', { reasoning: 'Let me see' }));
            const message = await ask(modelWith({ model: 'o3', reasoning: { summary: 'auto' } }), 'Hi');
            assert.equal(message.text, 'Yes.');
            assert.deepEqual(message.additional_kwargs.reasoning.summary.map((part) => part.text), ['Let me see']);
        });

        test(`${way}: a cut answer says so`, async () => {
            both.up.next(textStream('cut', { finish: 'length' }));
            const message = await ask(modelWith({ maxTokens: 16 }), 'Hi');
            assert.deepEqual([message.text, message.response_metadata.incomplete_details.reason], ['cut', 'max_output_tokens']);
            assert.equal(both.up.requests[0].body.max_tokens, 16);
        });

        /* [upstream's answer, status, LangChain's own name for it] */
        for (const [answer, status, code] of [
            [failure(400, 'bad thing'), 400],
            [failure(404, 'The model `m` does not exist.', { code: 'model_not_found' }), 404, 'MODEL_NOT_FOUND'],
            [failure(429, 'slow down'), 429, 'MODEL_RATE_LIMIT'],
            [failure(503, 'busy'), 503],
        ]) {
            test(`${way} fails with ${status}`, async () => {
                both.up.next(answer);
                await assert.rejects(ask(modelWith(), 'Hi'), (error) => {
                    assert.deepEqual([error.status, error.lc_error_code], [status, code], String(error));
                    return true;
                });
            });
        }
    }

    for (const method of ['jsonSchema', 'functionCalling']) {
        test(`withStructuredOutput by ${method}`, async () => {
            both.up.next(method === 'jsonSchema' ? textStream('{"name":"fair","guests":2}') : callStream(['Fair', { name: 'fair', guests: 2 }]));
            const model = modelWith().withStructuredOutput(Fair, { name: 'Fair', method });
            assert.deepEqual(await model.invoke('Read.'), { name: 'fair', guests: 2 });
            const { response_format, tool_choice } = both.up.requests[0].body;
            assert.equal(response_format?.json_schema.name ?? tool_choice.function.name, 'Fair');
        });
    }

    test('a picture', async () => {
        both.up.next(textStream('A pixel.'));
        const message = await modelWith().invoke([new HumanMessage({ content: [{ type: 'text', text: 'What is it?' }, { type: 'image_url', image_url: { url: PIXEL } }] })]);
        assert.equal(message.text, 'A pixel.');
        assert.deepEqual(both.up.requests[0].body.messages[0].content[1], { type: 'image_url', image_url: { url: PIXEL } });
    });

    test('a context that overflows is known as such', async () => {
        both.up.next(failure(400, 'maximum context length exceeded', { code: 'context_length_exceeded' }));
        await assert.rejects(modelWith().invoke('Hi'), { name: 'ContextOverflowError' });
    });

    test('a retry after 503 succeeds by itself', async () => {
        both.up.next(failure(503, 'busy', {}, { 'retry-after': '0' }), textStream('Hello'));
        assert.equal((await modelWith({ maxRetries: 1 }).invoke('Hi')).text, 'Hello');
    });

    test('a stream that breaks off raises with the message', async () => {
        both.up.next(stream([...frames(chunk({ content: 'one' }), { error: { message: 'KV cache is full', code: 500 } }), CLOSE]));
        await assert.rejects(gather(modelWith().stream('Hi')), /KV cache is full/);
    });

    test('an abort ends the upstream call', async () => {
        both.up.next(stream([...frames(chunk({ content: 'one' })), HANG]));
        const controller = new AbortController();
        await assert.rejects(async () => {
            for await (const _ of await modelWith().stream('Hi', { signal: controller.signal }))
                controller.abort();
        });
        await both.up.requests[0].closed;
    });
});

spy.judge(test);
