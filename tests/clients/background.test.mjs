/* background.test.mjs -- libraries give work away, ask how far it is, read its stream again, and end it. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { HumanMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { Agent, run, setDefaultOpenAIClient, setTracingDisabled, tool } from '@openai/agents';
import { streamText } from 'ai';
import OpenAI, { APIError, BadRequestError, NotFoundError, UnprocessableEntityError } from 'openai';
import { pollWithResponse } from 'openai/lib/polling';
import { z } from 'zod';
import { shared } from '../lib/daemon.mjs';
import { Spy } from '../lib/spy.mjs';
import { HANG, callStream, chunk, frames, stream, textStream } from '../lib/upstream.mjs';

setTracingDisabled(true); /* traces would go to OpenAI */

const spy = new Spy();

const RUNNING = ['queued', 'in_progress'];
const TERMINAL = ['completed', 'incomplete', 'failed', 'cancelled'];
const STARTED = stream([...frames(chunk({ reasoning_content: 'Hm' }), chunk({ content: 'one' }), chunk({ content: ' two' })), HANG]);

/* An answer whose second half waits for something. */
function halves() {
    let release;
    const gate = new Promise((done) => (release = done));
    return [stream([...frames(chunk({ reasoning_content: 'Hm' }), chunk({ content: 'one' }), chunk({ content: ' two' })), gate,
        ...frames(chunk({ content: ' three' }), chunk({}, 'stop'), '[DONE]')]), release];
}

const collect = async (events) => {
    const all = [];
    for await (const event of events)
        all.push(event);
    return all;
};

/* A client of the daemon; reads that are given up are of no interest to `plain`. */
const clientOf = (both, options) => new OpenAI({ baseURL: `${both.daemon.origin}/v1`, apiKey: 'sk-test', maxRetries: 0, ...options });

describe('openai', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });
    let client, plain;

    before(() => {
        client = clientOf(both, { fetch: spy.fetch });
        plain = clientOf(both);
    });

    const begin = (more) => client.responses.create({ model: 'm', input: 'Hi', background: true, ...more });

    /* The SDK's own loop, which waits as long as the header says. */
    const poll = (id) => pollWithResponse((headers) => client.responses.retrieve(id, {}, { headers }), RUNNING, TERMINAL);

    /* What a client has of a stream that it leaves when `enough` is true of an event. */
    async function readUntil(events, enough) {
        const seen = [];
        for await (const event of events) {
            seen.push(event);
            if (enough(event))
                break; /* closes the connection */
        }
        return seen;
    }
    const isSecondWord = ({ delta }) => delta === ' two';

    test('create, and poll until it has ended', async () => {
        both.up.next(textStream('Hello world', { reasoning: 'Hm' }));
        const queued = await begin();
        assert.deepEqual([queued.status, queued.output_text, queued.background], ['queued', '', true]);
        const response = await poll(queued.id);
        assert.deepEqual([response.status, response.output_text], ['completed', 'Hello world']);
        assert.deepEqual(await client.responses.retrieve(queued.id), response);
    });

    test('openai-poll-after-ms is there as long as it runs', async () => {
        const [answer, release] = halves();
        both.up.next(answer);
        const { data, response } = await client.responses.create({ model: 'm', input: 'Hi', background: true }).withResponse();
        assert.equal(response.headers.get('openai-poll-after-ms'), '500');
        const running = await client.responses.retrieve(data.id).withResponse();
        assert.ok(RUNNING.includes(running.data.status));
        assert.equal(running.response.headers.get('openai-poll-after-ms'), '500');
        release();
        await poll(data.id);
        assert.equal((await client.responses.retrieve(data.id).withResponse()).response.headers.get('openai-poll-after-ms'), null);
    });

    for (const background of [true, false]) {
        test(`create with stream, and read on behind an event: ${background ? 'background' : 'foreground, after its end'}`, async () => {
            both.up.next(textStream('one two three', { reasoning: 'Hm' }));
            const all = await collect(await begin({ stream: true, background }));
            const { id } = all[0].response;
            assert.deepEqual(all.slice(0, 3).map(({ type }) => type).includes('response.queued'), background);
            for (const starting_after of [0, 5, all.length - 2]) {
                const rest = await collect(await client.responses.retrieve(id, { stream: true, starting_after }));
                assert.deepEqual(rest, all.slice(starting_after + 1));
            }
            assert.deepEqual(await collect(await client.responses.retrieve(id, { stream: true })), all);
            assert.deepEqual(await collect(await client.responses.retrieve(id, { stream: true, starting_after: all.length - 1 })), []);
        });
    }

    test('a stream that breaks off goes on behind the last event that was seen', async () => {
        const [answer, release] = halves();
        both.up.next(answer);
        const seen = await readUntil(await plain.responses.create({ model: 'm', input: 'Hi', background: true, stream: true }), isSecondWord);
        const { id } = seen[0].response;
        const rest = await client.responses.retrieve(id, { stream: true, starting_after: seen.at(-1).sequence_number });
        release();
        seen.push(...await collect(rest));
        assert.deepEqual(seen.map(({ sequence_number }) => sequence_number), seen.map((_, i) => i));
        assert.equal(seen.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta).join(''), 'one two three');
        assert.deepEqual(seen.at(-1).response.output, (await client.responses.retrieve(id)).output);
    });

    test('the streaming helper begins, breaks off, and resumes', async () => {
        const [answer, release] = halves();
        both.up.next(answer);
        const runner = plain.responses.stream({ model: 'm', input: 'Hi', background: true });
        let id, last;
        for await (const event of runner) {
            id ??= event.response?.id;
            last = event.sequence_number;
            if (isSecondWord(event))
                break;
        }
        const again = client.responses.stream({ response_id: id, starting_after: last });
        const events = [];
        again.on('event', (event) => events.push(event));
        await again.emitted('connect');
        release();
        const response = await again.finalResponse();
        assert.equal(response.output_text, 'one two three');
        assert.ok(events.length > 0 && events.every(({ sequence_number }) => sequence_number > last), 'it shows what is new');
        assert.deepEqual([response.status, response.id], ['completed', id]);
    });

    test('the streaming helper with a format, read a second time', async () => {
        both.up.next(textStream('{"n":3}'));
        const { id } = await begin({ text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object', properties: { n: { type: 'number' } } } } } });
        await poll(id);
        assert.equal((await client.responses.stream({ response_id: id }).finalResponse()).output_text, '{"n":3}');
    });

    test('cancel while it runs, and again', async () => {
        both.up.next(STARTED);
        const { id } = await begin();
        const reader = await client.responses.retrieve(id, { stream: true });
        const events = [];
        const failure = (async () => {
            for await (const event of reader) {
                events.push(event);
                if (isSecondWord(event))
                    await client.responses.cancel(id);
            }
        })();
        await assert.rejects(failure, APIError); /* the SDK makes an exception of an error event */
        await both.up.requests[0].closed;
        const cancelled = await client.responses.cancel(id);
        assert.deepEqual([cancelled.status, cancelled.error], ['cancelled', null]);
        const { output_text, ...read } = await client.responses.retrieve(id);
        assert.equal(output_text, 'one two');
        assert.deepEqual(read, cancelled);
        assert.equal(cancelled.output.at(-1).status, 'incomplete');
    });

    test('cancel of what has ended, or is unknown', async () => {
        const { id } = await begin();
        const ended = await poll(id);
        assert.deepEqual({ ...await client.responses.cancel(id), output_text: ended.output_text }, ended); /* which it does not add here */
        await assert.rejects(client.responses.cancel('resp_x'), NotFoundError);
    });

    test('delete while it runs', async () => {
        both.up.next(STARTED);
        const { id } = await begin();
        await both.up.request(0);
        await client.responses.delete(id);
        await both.up.requests[0].closed;
        await assert.rejects(client.responses.retrieve(id), NotFoundError);
        await assert.rejects(client.responses.retrieve(id, { stream: true }), NotFoundError);
    });

    test('what is refused', async () => {
        await assert.rejects(begin({ store: false }), (error) => error instanceof BadRequestError && error.param === 'background' && error.code === 'invalid_value');
        const { id } = await begin();
        await poll(id);
        await assert.rejects(client.responses.retrieve(id, { stream: true, starting_after: -2 }), (error) => error instanceof BadRequestError && error.param === 'starting_after');
    });

    test('a chain of background responses with a tool of the client\'s', async () => {
        both.up.next(callStream(['f', {}, 'a']), textStream('Done.'));
        const tools = [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: false }];
        const first = await poll((await begin({ tools })).id);
        assert.deepEqual([first.status, first.output[0].type], ['completed', 'function_call']);
        const second = await begin({ tools, previous_response_id: first.id, input: [{ type: 'function_call_output', call_id: first.output[0].call_id, output: 'fine' }] });
        assert.equal((await poll(second.id)).output_text, 'Done.');
    });

    test('in a conversation', async () => {
        const { id: conversation } = await client.conversations.create();
        both.up.next(textStream('First.'), textStream('Second.'));
        await poll((await begin({ input: 'One', conversation })).id);
        await poll((await begin({ input: 'Two', conversation })).id);
        assert.deepEqual((await collect(client.conversations.items.list(conversation, { order: 'asc' }))).map(({ content }) => content[0].text), ['One', 'First.', 'Two', 'Second.']);
    });

    for (const streamed of [false, true]) {
        test(`a request that is repeated with its key is answered once${streamed ? ', streamed' : ''}`, async () => {
            const key = { headers: { 'Idempotency-Key': `key-${streamed}` } };
            const ask = async (input) => {
                const { data, response } = await client.responses.create({ model: 'm', input, stream: streamed }, key).withResponse();
                return [streamed ? await collect(data) : data, response.headers.get('idempotent-replayed')];
            };
            const [first, isNew] = await ask('Hi');
            const [second, isReplayed] = await ask('Hi');
            assert.deepEqual(second, first);
            assert.deepEqual([isNew, isReplayed], [null, 'true']);
            assert.equal(both.up.requests.length, 1);
            await assert.rejects(ask('Other'), (error) => error instanceof UnprocessableEntityError && error.code === 'idempotency_key_reused');
        });
    }
});

describe('@openai/agents', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });
    const weather = tool({
        name: 'get_weather', description: 'Weather of a city', parameters: z.object({ city: z.string() }), execute: async ({ city }) => `Sunny in ${city}`,
    });
    const agent = new Agent({ name: 'Guide', model: 'm', tools: [weather], modelSettings: { providerData: { background: true } } });
    let client;

    before(() => {
        client = clientOf(both, { fetch: spy.fetch });
        setDefaultOpenAIClient(client);
    });

    test('a streamed run works in the background, tools and all', async () => {
        both.up.next(callStream(['get_weather', { city: 'Oslo' }, 'a']), textStream('Sunny day.'));
        const result = await run(agent, 'Weather?', { stream: true });
        const events = await collect(result);
        await result.completed;
        assert.equal(result.finalOutput, 'Sunny day.');
        assert.equal(events.filter(({ type, data }) => type === 'raw_model_stream_event' && data.type === 'model' && data.event.type === 'response.queued').length, 2);
        const response = await client.responses.retrieve(result.lastResponseId);
        assert.deepEqual([response.background, response.output_text], [true, 'Sunny day.']);
    });

    test('a run that its process leaves can be read to its end, and continued', async () => {
        const [answer, release] = halves();
        both.up.next(answer, textStream('Second.'));
        const controller = new AbortController();
        const result = await run(agent, 'One', { stream: true, signal: controller.signal });
        let id, last;
        for await (const { type, data } of result) {
            if (type !== 'raw_model_stream_event' || data.type !== 'model')
                continue;
            id ??= data.event.response?.id;
            last = data.event.sequence_number;
            if (data.event.delta === ' two')
                controller.abort();
        }
        await result.completed.catch(() => {});
        const rest = await client.responses.retrieve(id, { stream: true, starting_after: last });
        release();
        assert.equal((await collect(rest)).at(-1).response.output_text ?? (await client.responses.retrieve(id)).output_text, 'one two three');
        const next = await run(agent, 'Two', { previousResponseId: id, stream: true });
        await collect(next);
        await next.completed;
        assert.equal(next.finalOutput, 'Second.');
        assert.deepEqual(both.up.requests.at(-1).body.messages.map(({ content }) => content), ['One', 'one two three', 'Two']);
    });
});

describe('@langchain/openai', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });
    const modelWith = (options = {}) => new ChatOpenAI({
        model: 'm', apiKey: 'sk-test', useResponsesApi: true, maxRetries: 0,
        configuration: { baseURL: `${both.daemon.origin}/v1`, fetch: spy.fetch }, modelKwargs: { background: true }, ...options,
    });

    async function gather(chunks) {
        let whole;
        for await (const piece of await chunks)
            whole = whole === undefined ? piece : whole.concat(piece);
        return whole;
    }

    test('stream reads a background response', async () => {
        both.up.next(textStream('Hello world', { reasoning: 'Hm' }));
        const message = await gather(modelWith().stream([new HumanMessage('Hi')]));
        assert.equal(message.text, 'Hello world');
        assert.equal((await clientOf(both).responses.retrieve(message.response_metadata.id)).background, true);
    });

    test('invoke gives the id of what is queued, which a client then follows', async () => {
        both.up.next(textStream('First.'), textStream('Second.'));
        const message = await modelWith().invoke('One');
        const { id, status } = message.response_metadata;
        assert.deepEqual([status, message.text], ['queued', '']);
        const client = clientOf(both);
        const response = await pollWithResponse((headers) => client.responses.retrieve(id, {}, { headers }), RUNNING, TERMINAL);
        assert.equal(response.output_text, 'First.');
        const next = await gather(modelWith().withConfig({ previous_response_id: id }).stream('Two'));
        assert.equal(next.text, 'Second.');
        assert.deepEqual(both.up.requests.at(-1).body.messages.map(({ content }) => content), ['One', 'First.', 'Two']);
    });
});

/* It has no option for this: its request says so on the way. */
describe('@ai-sdk/openai', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });
    const inBackground = (url, { body, ...init }) => spy.fetch(url, { ...init, body: JSON.stringify({ ...JSON.parse(body), background: true }) });

    test('streamText reads a background response', async () => {
        both.up.next(textStream('Hello world', { reasoning: 'Hm' }));
        const model = createOpenAI({ baseURL: `${both.daemon.origin}/v1`, apiKey: 'sk-test', fetch: inBackground }).responses('m');
        const result = streamText({ model, prompt: 'Hi', maxRetries: 0 });
        assert.equal(await result.text, 'Hello world');
        assert.equal((await clientOf(both).responses.retrieve((await result.response).id)).background, true);
    });
});

spy.judge(test);
