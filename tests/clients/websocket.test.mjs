/* websocket.test.mjs -- libraries that speak to /v1/responses over WebSocket. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Agent, OpenAIResponsesWSModel, run, setTracingDisabled, tool } from '@openai/agents';
import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { z } from 'zod';
import { shared, startDaemon } from '../lib/daemon.mjs';
import { callStream, failure, startUpstream, textStream } from '../lib/upstream.mjs';

setTracingDisabled(true); /* traces would go to OpenAI */

const ENDS = new Set(['response.completed', 'response.failed', 'response.incomplete', 'error']);

/* A connection of the SDK's, whose events can be waited for. */
class Talk {
    events = [];
    #waiting = new Set();

    constructor(t, client) {
        this.ws = new ResponsesWS(client);
        this.ws.on('event', (event) => {
            this.events.push(event);
            this.#waiting.forEach((look) => look());
        });
        this.ws.on('error', () => {}); /* what an error frame says is an event as well */
        t.after(() => this.ws.close());
    }

    until(fits) {
        return new Promise((done) => {
            const look = () => {
                const found = this.events.find(fits);
                if (found !== undefined) {
                    this.#waiting.delete(look);
                    done(found);
                }
            };
            this.#waiting.add(look);
            look();
        });
    }

    /* The end of the next response, or its error frame. */
    async create(body) {
        const from = this.events.length;
        this.ws.send({ type: 'response.create', model: 'local-model', store: false, ...body });
        return this.until((event) => this.events.indexOf(event) >= from && ENDS.has(event.type) && event.stream_id === body.stream_id);
    }
}

describe('over WebSocket', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });
    let client;

    before(() => {
        client = new OpenAI({ baseURL: `${both.daemon.origin}/v1`, apiKey: 'sk-test', maxRetries: 0 });
    });

    test('the OpenAI SDK warms up, continues, and is told of what is unknown', async (t) => {
        const talk = new Talk(t, client);
        const warm = await talk.create({ input: 'hello', generate: false });
        assert.deepEqual([warm.response.status, warm.response.output, both.up.requests.length], ['completed', [], 0]);
        both.up.next(textStream('Hi.'), textStream('Again.'));
        const first = await talk.create({ input: [{ role: 'user', content: 'hi' }], previous_response_id: warm.response.id });
        const second = await talk.create({ input: 'more', previous_response_id: first.response.id });
        assert.match(JSON.stringify(both.up.requests.at(-1).body.messages), /hello.*hi.*Hi\..*more/);
        assert.equal(second.response.output[0].content[0].text, 'Again.');
        const lost = await talk.create({ input: 'x', previous_response_id: 'resp_missing' });
        assert.deepEqual([lost.type, lost.error.code], ['error', 'previous_response_not_found']);
    });

    test('the OpenAI SDK has two lanes side by side', async (t) => {
        const talk = new Talk(t, client);
        both.up.always(({ body }) => textStream(`You said ${body.messages.at(-1).content}.`));
        const [a, b] = await Promise.all(['a', 'b'].map((stream_id) => talk.create({ input: `lane ${stream_id}`, stream_id })));
        assert.deepEqual([a, b].map(({ response }) => response.output[0].content[0].text), ['You said lane a.', 'You said lane b.']);
        for (const stream_id of ['a', 'b']) {
            const numbers = talk.events.filter((event) => event.stream_id === stream_id).map((event) => event.sequence_number);
            assert.deepEqual(numbers, numbers.map((_, i) => i), `the events of lane ${stream_id} are in order`);
        }
    });

    test('the OpenAI SDK hears of a refusal of the upstream, and goes on', async (t) => {
        const talk = new Talk(t, client);
        both.up.next(failure(429, 'slow down', {}, { 'retry-after': '1' }), textStream('Fine.'));
        const refused = await talk.create({ input: 'x' });
        assert.ok(refused.type === 'error' || refused.response.status === 'failed', JSON.stringify(refused));
        assert.equal((await talk.create({ input: 'x' })).response.status, 'completed');
    });

    test('the Agents SDK runs its tools on one connection', async () => {
        const add = tool({ name: 'add', description: 'Adds', parameters: z.object({ a: z.number(), b: z.number() }), execute: async ({ a, b }) => `${a + b}` });
        const model = new OpenAIResponsesWSModel(client, 'local-model');
        const agent = new Agent({ name: 'Guide', instructions: 'Be brief.', model, tools: [add] });
        try {
            for (const name of ['first', 'second']) {
                both.up.next(callStream(['add', { a: 2, b: 3 }, `call_${name}`]), textStream(`Five, ${name}.`));
                assert.equal((await run(agent, name)).finalOutput, `Five, ${name}.`);
            }
            assert.equal(both.up.requests.at(-1).body.messages.findLast(({ role }) => role === 'tool').content, '5');
            both.up.next(callStream(['add', { a: 4, b: 3 }, 'call_third']), textStream('Seven.'));
            const streamed = await run(agent, 'third', { stream: true });
            const deltas = [];
            for await (const event of streamed)
                if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta')
                    deltas.push(event.data.delta);
            assert.deepEqual([deltas.join(''), streamed.finalOutput], ['Seven.', 'Seven.']);
        } finally {
            await model.close();
        }
    });

    test('the gateway ends with an idle connection open', async (t) => {
        const up = await startUpstream();
        t.after(() => up.close());
        const first = await startDaemon({ upstream: up.url, args: ['--model', 'test-model'] });
        const talk = new Talk(t, new OpenAI({ baseURL: `${first.origin}/v1`, apiKey: 'sk-test' }));
        assert.equal((await talk.create({ input: 'x' })).response.status, 'completed');
        await first.stop();
    });
});
