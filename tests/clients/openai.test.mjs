/* openai.test.mjs -- the official SDK sees nothing unusual. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import OpenAI, {
    APIConnectionError, APIUserAbortError, AuthenticationError, BadRequestError, ConflictError, InternalServerError, NotFoundError,
    RateLimitError,
} from 'openai';
import { zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { byCharacter } from '../lib/cutting.mjs';
import { shared } from '../lib/daemon.mjs';
import { Spy } from '../lib/spy.mjs';
import { tokenServer } from '../lib/token_server.mjs';
import { CLOSE, HANG, callStream, chunk, failure, frames, json, rawChat, stream, textStream } from '../lib/upstream.mjs';

const spy = new Spy();
const weather = { type: 'function', name: 'get_weather', description: null, strict: false,
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false } };

const collect = async (events) => {
    const all = [];
    for await (const event of events)
        all.push(event);
    return all;
};

describe('openai', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });
    let client, plain;

    before(() => {
        const options = { baseURL: `${both.daemon.origin}/v1`, apiKey: 'sk-test', maxRetries: 0 };
        client = new OpenAI({ ...options, fetch: spy.fetch });
        plain = new OpenAI(options);
    });

    const ask = (more = {}) => client.responses.create({ model: 'm', input: 'Hi', ...more });

    test('responses.create', async () => {
        both.up.next(textStream('Hello world'));
        const response = await ask({ instructions: 'Be brief.' });
        assert.equal(response.output_text, 'Hello world');
        assert.equal(response.status, 'completed');
        assert.equal(response.usage.total_tokens, 11);
        assert.ok(response._request_id);
    });

    test('responses.create with stream: true', async () => {
        both.up.next(textStream('Hello world'));
        const events = await collect(await ask({ stream: true }));
        assert.equal(events[0].type, 'response.created');
        assert.equal(events.filter((e) => e.type === 'response.output_text.delta').map((e) => e.delta).join(''), 'Hello world');
        assert.equal(events.at(-1).type, 'response.completed');
    });

    test('responses.stream: events and finalResponse', async () => {
        both.up.next(textStream('Hello world', { reasoning: 'Let me see' }));
        const runner = client.responses.stream({ model: 'm', input: 'Hi' });
        let text = '', snapshot;
        runner.on('response.output_text.delta', (event) => {
            text += event.delta;
            snapshot = event.snapshot;
        });
        const response = await runner.finalResponse();
        assert.deepEqual([text, snapshot, response.output_text], Array(3).fill('Hello world'));
        assert.deepEqual(response.output.map((item) => item.type), ['reasoning', 'message']);
    });

    test('responses.stream with parallel and interleaved calls', async () => {
        const piece = (index, args, more = {}) => chunk({ tool_calls: [{ index, ...more, function: { ...(more.id && { name: 'get_weather' }), arguments: args } }] });
        both.up.next(stream(frames(chunk({ content: 'Looking.' }), piece(0, '{"city":', { id: 'a' }), piece(1, '{"city":', { id: 'b' }),
            piece(0, '"Oslo"}'), piece(1, '"Rome"}'), chunk({}, 'tool_calls'), '[DONE]')));
        const response = await client.responses.stream({ model: 'm', input: 'Hi', tools: [weather] }).finalResponse();
        assert.deepEqual(response.output.map((i) => i.arguments), [undefined, '{"city":"Oslo"}', '{"city":"Rome"}']);
    });

    test('responses.parse with a zod format', async () => {
        const Event = z.object({ name: z.string(), people: z.array(z.string()) });
        both.up.next(textStream('{"name":"fair","people":["A","B"]}'));
        const response = await client.responses.parse({ model: 'm', input: 'Hi', text: { format: zodTextFormat(Event, 'event') } });
        assert.deepEqual(response.output_parsed, { name: 'fair', people: ['A', 'B'] });
        const { response_format } = both.up.requests[0].body;
        assert.deepEqual([response_format.type, response_format.json_schema.name, response_format.json_schema.strict], ['json_schema', 'event', true]);
    });

    test('responses.parse with a zod tool', async () => {
        const tool = zodResponsesFunction({ name: 'get_weather', parameters: z.object({ city: z.string() }) });
        both.up.next(callStream(['get_weather', { city: 'Oslo' }]));
        const response = await client.responses.parse({ model: 'm', input: 'Hi', tools: [tool] });
        assert.deepEqual(response.output[0].parsed_arguments, { city: 'Oslo' });
    });

    test('a tool round trip that sends the history back', async () => {
        both.up.next({ ...callStream(['get_weather', { city: 'Oslo' }]) }, textStream('Sunny in Oslo.'));
        const input = [{ role: 'user', content: 'Weather?' }];
        const first = await ask({ input, tools: [weather], store: false });
        const call = first.output.find((item) => item.type === 'function_call');
        input.push(...first.output, { type: 'function_call_output', call_id: call.call_id, output: '{"sky":"sunny"}' });
        const second = await ask({ input, tools: [weather], store: false });
        assert.equal(second.output_text, 'Sunny in Oslo.');
        assert.deepEqual(both.up.requests[1].body.messages.map((m) => [m.role, m.tool_calls?.[0].id ?? m.tool_call_id]),
            [['user', undefined], ['assistant', call.call_id], ['tool', call.call_id]]);
    });

    test('reasoning items, as text and as a summary, and back again', async () => {
        both.up.always(textStream('Yes.', { reasoning: 'Let me see' }));
        const asText = await ask();
        assert.equal(asText.output[0].content[0].text, 'Let me see');
        const asSummary = await ask({ reasoning: { summary: 'auto' } });
        assert.equal(asSummary.output[0].summary[0].text, 'Let me see');
        const again = await ask({ input: [{ role: 'user', content: 'a' }, ...asText.output, { role: 'user', content: 'b' }] });
        assert.equal(again.output_text, 'Yes.');
        const assistant = both.up.requests.at(-1).body.messages.find((m) => m.role === 'assistant');
        assert.deepEqual([assistant.content, assistant.reasoning_content], ['Yes.', 'Let me see']);
    });

    test('reasoning that is sealed for the gateway, with nothing stored', async () => {
        const sealed = { store: false, include: ['reasoning.encrypted_content'], reasoning: { summary: 'auto' } };
        both.up.always(textStream('Yes.', { reasoning: 'Let me see' }));
        const whole = await ask(sealed);
        const streamed = await client.responses.stream({ model: 'm', input: 'Hi', ...sealed }).finalResponse();
        for (const { output } of [whole, streamed]) {
            assert.match(output[0].encrypted_content, /^gw1\./);
            const kept = output.map((item) => (item.type === 'reasoning' ? { ...item, summary: [] } : item));
            await ask({ ...sealed, input: [{ role: 'user', content: 'a' }, ...kept, { role: 'user', content: 'b' }] });
            assert.deepEqual(both.up.requests.at(-1).body.messages[1], { role: 'assistant', content: 'Yes.', reasoning_content: 'Let me see' });
        }
    });

    test('raw Harmony, call by call', async () => {
        const thought = '<|channel|>analysis<|message|>Let me look.<|end|><|start|>assistant';
        both.up.next(rawChat(byCharacter(`${thought}<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city":"Oslo"}<|call|>`)),
            rawChat(byCharacter(`${thought}<|channel|>final<|message|>Sunny.<|return|>`)));
        const first = await client.responses.stream({ model: 'gpt-oss-20b', input: 'Weather?', tools: [weather] }).finalResponse();
        assert.deepEqual(first.output.map(({ type, phase }) => [type, phase]), [['reasoning', undefined], ['message', 'commentary'], ['function_call', undefined]]);
        const call = first.output[2];
        const second = await client.responses.stream({
            model: 'gpt-oss-20b', tools: [weather],
            input: [{ role: 'user', content: 'Weather?' }, ...first.output, { type: 'function_call_output', call_id: call.call_id, output: 'sunny' }],
        }).finalResponse();
        assert.deepEqual([second.output_text, second.output.at(-1).phase], ['Sunny.', 'final_answer']);
        const [, asked, result] = both.up.requests[1].body.messages;
        assert.deepEqual([asked.reasoning, asked.tool_calls[0].id, result.tool_call_id], ['Let me look.', call.call_id, call.call_id]);
    });

    test('refusals', async () => {
        both.up.next(stream(frames(chunk({ refusal: 'I ' }), chunk({ refusal: 'will not.' }), chunk({}, 'stop'), '[DONE]')));
        const response = await client.responses.stream({ model: 'm', input: 'Hi' }).finalResponse();
        assert.deepEqual(response.output[0].content.map((part) => [part.type, part.refusal]), [['refusal', 'I will not.']]);
    });

    test('an abort in the middle reaches the upstream', async () => {
        both.up.next(stream([...frames(chunk({ content: 'one' })), HANG]));
        const events = await plain.responses.create({ model: 'm', input: 'Hi', stream: true });
        for await (const event of events) {
            if (event.type === 'response.output_text.delta')
                break; /* leaving the loop aborts the request */
        }
        await both.up.requests[0].closed;
    });

    test('an abort before the answer is an APIUserAbortError', async () => {
        both.up.next({ before: [HANG] });
        const controller = new AbortController();
        const answer = plain.responses.create({ model: 'm', input: 'Hi' }, { signal: controller.signal });
        await both.up.request(0);
        controller.abort();
        await assert.rejects(answer, APIUserAbortError);
        await both.up.requests[0].closed;
    });

    /* [upstream's answer, what the request adds, error class, status, code] */
    for (const [answer, more, type, status, code] of [
        [textStream(''), { temperature: 9 }, BadRequestError, 400, 'decimal_above_max_value'],
        [textStream(''), { previous_response_id: 'resp_x' }, BadRequestError, 400, 'previous_response_not_found'],
        [failure(400, 'maximum context length exceeded', { code: 'context_length_exceeded' }), {}, BadRequestError, 400, 'context_length_exceeded'],
        [failure(401, 'who are you'), {}, AuthenticationError, 401],
        [failure(404, 'The model `m` does not exist.', { code: 'model_not_found' }), {}, NotFoundError, 404, 'model_not_found'],
        [failure(429, 'slow down', {}, { 'retry-after': '1' }), {}, RateLimitError, 429, 'rate_limit_exceeded'],
        [failure(500, 'oops'), {}, InternalServerError, 502, 'upstream_error'],
        [failure(503, 'busy'), {}, InternalServerError, 503, 'server_is_overloaded'],
    ]) {
        for (const streamed of [false, true]) {
            test(`${type.name} ${status} ${code ?? ''}${streamed ? ', streamed' : ''}`, async () => {
                both.up.always(answer);
                await assert.rejects(ask({ ...more, stream: streamed }), (error) => {
                    assert.ok(error instanceof type, String(error));
                    assert.equal(error.status, status);
                    if (code)
                        assert.equal(error.code, code);
                    return true;
                });
            });
        }
    }

    test('an unknown response is a NotFoundError', async () => {
        await assert.rejects(client.responses.retrieve('resp_x'), NotFoundError);
    });

    test('no gateway is an APIConnectionError', async () => {
        await assert.rejects(new OpenAI({ baseURL: 'http://127.0.0.1:1/v1', apiKey: 'k', maxRetries: 0 }).responses.create({ model: 'm', input: 'x' }), APIConnectionError);
    });

    test('a retry after 429 succeeds by itself', async () => {
        both.up.next(failure(429, 'slow down', {}, { 'retry-after': '0' }));
        const response = await client.responses.create({ model: 'm', input: 'Hi' }, { maxRetries: 1 });
        assert.equal(response.status, 'completed');
        assert.equal(both.up.requests.length, 2);
    });

    test('a stream that breaks raises with the message', async () => {
        both.up.always(stream([...frames(chunk({ content: 'one' }), { error: { message: 'KV cache is full', code: 500 } }), CLOSE]));
        await assert.rejects(async () => collect(await ask({ stream: true })), /KV cache is full/);
        await assert.rejects(client.responses.stream({ model: 'm', input: 'Hi' }).finalResponse(), /KV cache is full/);
    });

    test('an incomplete response says why', async () => {
        both.up.always(textStream('cut', { finish: 'length' }));
        for (const response of [await ask(), await client.responses.stream({ model: 'm', input: 'Hi' }).finalResponse()])
            assert.deepEqual([response.status, response.incomplete_details.reason], ['incomplete', 'max_output_tokens']);
    });

    test('chat.completions.create through the relay, streamed and not', async () => {
        both.up.next(textStream('Hello world'), json(200, { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }] }));
        const request = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
        const chunks = await collect(await client.chat.completions.create({ ...request, stream: true }));
        assert.equal(chunks.map((c) => c.choices[0]?.delta.content ?? '').join(''), 'Hello world');
        assert.equal((await client.chat.completions.create(request)).choices[0].message.content, 'Hello');
    });

    test('models.list and models.retrieve', async () => {
        const model = { id: 'a/b', object: 'model', created: 1, owned_by: 'x' };
        both.up.always(({ path }) => json(200, path.endsWith('/models') ? { object: 'list', data: [model] } : model));
        assert.deepEqual((await collect(client.models.list())).map((m) => m.id), ['a/b']);
        assert.equal((await client.models.retrieve('a/b')).id, 'a/b');
    });
});

describe('openai and what is stored', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });
    let client;

    before(() => (client = new OpenAI({ baseURL: `${both.daemon.origin}/v1`, apiKey: 'sk-test', maxRetries: 0, fetch: spy.fetch })));

    const ask = (more = {}) => client.responses.create({ model: 'm', input: 'Hi', ...more });
    const said = () => both.up.requests.at(-1).body.messages.map((m) => m.content);
    const textsOf = (items) => items.map((item) => item.content[0].text);

    test('responses.retrieve and responses.delete', async () => {
        const made = await ask({ metadata: { k: 'v' } });
        assert.deepEqual(await client.responses.retrieve(made.id), made);
        assert.deepEqual(await client.responses.retrieve(made.id, { include: ['message.output_text.logprobs'] }), made);
        await client.responses.delete(made.id);
        await assert.rejects(client.responses.retrieve(made.id), NotFoundError);
        await assert.rejects(client.responses.delete(made.id), NotFoundError);
    });

    test('responses.cancel of a response that ran in the foreground', async () => {
        const { id } = await ask();
        await assert.rejects(client.responses.cancel(id), BadRequestError);
        await assert.rejects(client.responses.cancel('resp_x'), NotFoundError);
    });

    test('responses.inputItems.list, over pages', async () => {
        const input = ['a', 'b', 'c', 'd', 'e'].map((content) => ({ role: 'user', content }));
        const { id } = await ask({ input });
        for (const [order, want] of [['asc', 'abcde'], ['desc', 'edcba']])
            assert.equal(textsOf(await collect(client.responses.inputItems.list(id, { limit: 2, order }))).join(''), want);
        const page = await client.responses.inputItems.list(id, { include: ['message.input_image.image_url'] });
        assert.deepEqual([page.data.length, page.has_more], [5, false]);
    });

    test('responses.inputTokens.count: as many as the usage says when it is sent', async () => {
        both.up.always(tokenServer(['tokenize', 'completion']));
        const request = { model: 'm', instructions: 'Be brief.', input: 'How long is it?', tools: [weather] };
        const count = await client.responses.inputTokens.count(request);
        assert.equal(count.object, 'response.input_tokens');
        assert.equal((await client.responses.create(request)).usage.input_tokens, count.input_tokens);
        const first = await ask({ input: 'One' });
        const more = await client.responses.inputTokens.count({ model: 'm', previous_response_id: first.id, input: 'Two' });
        assert.ok(more.input_tokens > first.usage.input_tokens);
        await assert.rejects(client.responses.inputTokens.count({ model: 'm', previous_response_id: 'resp_x' }), BadRequestError);
    });

    test('previous_response_id, with tools that the second turn does not name again', async () => {
        both.up.next(callStream(['get_weather', { city: 'Oslo' }]), textStream('Sunny in Oslo.'));
        const first = await ask({ input: 'Weather?', tools: [weather] });
        const second = await ask({ previous_response_id: first.id, input: [{ type: 'function_call_output', call_id: first.output[0].call_id, output: 'sunny' }] });
        assert.deepEqual([second.output_text, second.previous_response_id, second.tools], ['Sunny in Oslo.', first.id, first.tools]);
        assert.deepEqual(both.up.requests[1].body.messages.map((m) => m.role), ['user', 'assistant', 'tool']);
    });

    test('responses.stream and responses.parse with previous_response_id', async () => {
        both.up.next(textStream('First.', { reasoning: 'Hm' }), textStream('Second.'), textStream('{"n":3}'));
        const first = await client.responses.stream({ model: 'm', input: 'One' }).finalResponse();
        const second = await client.responses.stream({ model: 'm', input: 'Two', previous_response_id: first.id }).finalResponse();
        assert.deepEqual([second.output_text, second.previous_response_id], ['Second.', first.id]);
        const third = await client.responses.parse({
            model: 'm', input: 'Three', previous_response_id: second.id, text: { format: zodTextFormat(z.object({ n: z.number() }), 'n') },
        });
        assert.deepEqual(third.output_parsed, { n: 3 });
        assert.deepEqual(said(), ['One', 'First.', 'Two', 'Second.', 'Three']);
        assert.deepEqual((await client.responses.retrieve(second.id)).output, second.output.map(({ parsed: _, ...item }) => item).map((item) =>
            item.content ? { ...item, content: item.content.map(({ parsed: __, ...part }) => part) } : item));
    });

    test('a response that ran in the foreground can be streamed again', async () => {
        const made = await client.responses.stream({ model: 'm', input: 'Hi' }).finalResponse();
        assert.deepEqual(await client.responses.stream({ response_id: made.id }).finalResponse(), made);
    });

    test('store: false', async () => {
        const { id } = await ask({ store: false });
        await assert.rejects(client.responses.retrieve(id), NotFoundError);
        await assert.rejects(ask({ previous_response_id: id }), { status: 400, code: 'previous_response_not_found', param: 'previous_response_id' });
    });

    test('conversations: create, retrieve, update, delete', async () => {
        const made = await client.conversations.create({ metadata: { a: 'b' }, items: [{ role: 'user', content: 'Zero' }] });
        assert.deepEqual(await client.conversations.retrieve(made.id), made);
        assert.deepEqual((await client.conversations.update(made.id, { metadata: { c: 'd' } })).metadata, { c: 'd' });
        assert.deepEqual(await client.conversations.delete(made.id), { id: made.id, object: 'conversation.deleted', deleted: true });
        await assert.rejects(client.conversations.retrieve(made.id), NotFoundError);
        assert.ok((await client.conversations.create()).id);
    });

    test('conversations.items: create, list over pages, retrieve, delete', async () => {
        const { id } = await client.conversations.create();
        const { data } = await client.conversations.items.create(id, { items: ['a', 'b', 'c', 'd', 'e'].map((content) => ({ role: 'user', content })) });
        assert.equal(textsOf(data).join(''), 'abcde');
        assert.equal(textsOf(await collect(client.conversations.items.list(id, { limit: 2, order: 'asc' }))).join(''), 'abcde');
        assert.deepEqual(await client.conversations.items.retrieve(data[1].id, { conversation_id: id }), data[1]);
        assert.equal((await client.conversations.items.delete(data[1].id, { conversation_id: id })).id, id);
        await assert.rejects(client.conversations.items.retrieve(data[1].id, { conversation_id: id }), NotFoundError);
        assert.equal(textsOf(await collect(client.conversations.items.list(id))).join(''), 'edca');
    });

    test('responses in a conversation, one at a time', async () => {
        const { id } = await client.conversations.create({ items: [{ role: 'user', content: 'Zero' }] });
        both.up.next(textStream('First.'), textStream('Second.'));
        assert.deepEqual((await ask({ input: 'One', conversation: id })).conversation, { id });
        await client.responses.stream({ model: 'm', input: 'Two', conversation: { id } }).finalResponse();
        assert.deepEqual(said(), ['Zero', 'One', 'First.', 'Two']);
        assert.deepEqual(textsOf(await collect(client.conversations.items.list(id, { order: 'asc' }))), ['Zero', 'One', 'First.', 'Two', 'Second.']);

        both.up.next(stream([...frames(chunk({ content: 'one' })), HANG]));
        const events = await ask({ conversation: id, stream: true });
        await assert.rejects(ask({ conversation: id }), ConflictError);
        events.controller.abort();
    });
});

spy.judge(test);
