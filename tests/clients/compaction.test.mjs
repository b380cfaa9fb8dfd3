/* compaction.test.mjs -- libraries that have long conversations compacted, each by its own door.
 *
 * What is planted before has to be in what the model gets afterwards: as the user's own words where the
 * door keeps them, and else in the summary, which the scripted model writes when it is asked to.
 */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { Agent, OpenAIResponsesCompactionSession, MemorySession, run, setDefaultOpenAIClient, setTracingDisabled, tool } from '@openai/agents';
import { generateText, streamText } from 'ai';
import OpenAI from 'openai';
import { z } from 'zod';
import { shared } from '../lib/daemon.mjs';
import { Spy } from '../lib/spy.mjs';
import { callStream, failure, textStream } from '../lib/upstream.mjs';

setTracingDisabled(true); /* traces would go to OpenAI */

const spy = new Spy();
const FACT = 'The password is cobalt-42.';
const READING = 'Much to read. '.repeat(400).trim();
const SUMMARY = 'Goal: keep the password cobalt-42. Done: added 2 and 3.';
const asksForSummary = ({ messages }) => /about to be replaced by a summary/.test(JSON.stringify(messages.at(-1)));
const textOf = (body) => JSON.stringify(body.messages);

/* Sums up when it is asked to, and else says what is next. It cannot count. */
function play(up, ...answers) {
    up.always(({ body, path }) => path !== '/v1/chat/completions' ? failure(404, 'Not Found')
        : asksForSummary(body) ? textStream(SUMMARY) : answers.shift() ?? textStream('Good.'));
}

describe('compaction', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });
    let client, provider;

    before(() => {
        const baseURL = `${both.daemon.origin}/v1`;
        client = new OpenAI({ baseURL, apiKey: 'sk-test', maxRetries: 0, fetch: spy.fetch });
        provider = createOpenAI({ baseURL, apiKey: 'sk-test', fetch: spy.fetch });
        setDefaultOpenAIClient(client);
    });

    describe('@openai/agents, a compaction session', () => {
        const add = tool({ name: 'add', description: 'Adds', parameters: z.object({ a: z.number(), b: z.number() }), execute: async ({ a, b }) => `${a + b}` });
        const agent = new Agent({ name: 'Guide', instructions: 'Be brief.', model: 'gpt-local', tools: [add] });

        for (const compactionMode of ['auto', 'input']) {
            test(`mode ${compactionMode}`, async () => {
                const session = new OpenAIResponsesCompactionSession({ client, model: 'gpt-local', compactionMode, underlyingSession: new MemorySession(), shouldTriggerCompaction: () => true });
                play(both.up, callStream(['add', { a: 2, b: 3 }, 'call_1']), textStream('Five.'), textStream('Cobalt.'));
                assert.equal((await run(agent, FACT, { session })).finalOutput, 'Five.');
                const items = await session.getItems();
                assert.deepEqual(items.map((item) => item.type ?? item.role), ['message', 'compaction'], 'the user is kept, all else is in the item');
                assert.equal((await run(agent, 'Which password?', { session })).finalOutput, 'Cobalt.');
                const { body } = both.up.requests.findLast((r) => !asksForSummary(r.body));
                assert.deepEqual(body.messages.map(({ role }) => role), ['system', 'user', 'user', 'user'], textOf(body));
                assert.ok(textOf(body).includes(FACT) && textOf(body).includes(SUMMARY), textOf(body));
            });
        }
    });

    test('the AI SDK manages its context', async () => {
        play(both.up, textStream(READING), textStream('Second.'), textStream('Cobalt.'));
        const model = provider.responses('local-model');
        const options = { providerOptions: { openai: { store: false, contextManagement: [{ type: 'compaction', compactThreshold: 1_000 }] } } };
        const messages = [{ role: 'user', content: FACT }];
        const partsOf = ({ response }) => response.messages.flatMap(({ content }) => content);
        const ask = async (content) => {
            if (content !== undefined)
                messages.push({ role: 'user', content });
            const got = await generateText({ model, messages, ...options });
            messages.push(...got.response.messages);
            return got;
        };
        assert.equal((await ask()).text, READING);
        const second = await ask('Go on.');
        assert.deepEqual(partsOf(second).map(({ type, kind }) => kind ?? type), ['openai.compaction', 'text']);
        assert.equal((await ask('Which password?')).text, 'Cobalt.');
        const text = textOf(both.up.requests.at(-1).body);
        assert.ok(text.includes(FACT) && text.includes(SUMMARY) && text.includes('Go on.'), text);
        assert.ok(!text.includes('Much to read'), 'what was summed up is gone');
    });

    test('the AI SDK asks for a compaction', async () => {
        play(both.up);
        const got = await generateText({ model: provider.responses('local-model'), messages: [{ role: 'user', content: FACT }],
            providerOptions: { openai: { store: false, compactionTrigger: true } } });
        const [part] = got.response.messages.flatMap(({ content }) => content);
        assert.deepEqual([part.type, part.kind], ['custom', 'openai.compaction']);
        assert.equal(both.up.requests.length, 1);
    });

    test('the AI SDK reads a stream with a compaction', async () => {
        play(both.up, textStream('Done.'));
        const result = streamText({ model: provider.responses('local-model'), messages: [{ role: 'user', content: FACT }, { role: 'assistant', content: READING }, { role: 'user', content: 'Go on.' }],
            providerOptions: { openai: { store: false, contextManagement: [{ type: 'compaction', compactThreshold: 1_000 }] } } });
        const parts = [];
        for await (const part of result.fullStream)
            parts.push(part);
        assert.deepEqual(parts.filter(({ type }) => type === 'error'), []);
        assert.equal(await result.text, 'Done.');
        assert.equal((await result.response).messages.flatMap(({ content }) => content)[0].kind, 'openai.compaction');
    });

    test('the OpenAI SDK compacts, and goes on with what it got', async () => {
        play(both.up, textStream('Cobalt.'));
        const compacted = await client.responses.compact({ model: 'local-model', input: [{ role: 'user', content: FACT }, { role: 'assistant', content: 'Noted.' }] });
        assert.deepEqual([compacted.object, compacted.output.map(({ type }) => type)], ['response.compaction', ['message', 'compaction']]);
        const response = await client.responses.create({ model: 'local-model', input: [...compacted.output, { role: 'user', content: 'Which password?' }] });
        assert.equal(response.output_text, 'Cobalt.');
        assert.match(textOf(both.up.requests.at(-1).body), new RegExp(SUMMARY));
    });

    test('the OpenAI SDK reads the stream of a trigger', async () => {
        play(both.up);
        const events = [];
        const helper = client.responses.stream({ model: 'local-model', input: [{ role: 'user', content: FACT }, { type: 'compaction_trigger' }] });
        for await (const event of helper)
            events.push(event.type);
        const { output, status } = await helper.finalResponse();
        assert.deepEqual([status, output.map(({ type }) => type)], ['completed', ['compaction']]);
        assert.deepEqual(events, ['response.created', 'response.in_progress', 'response.output_item.added', 'response.compaction.compacting', 'response.output_item.done', 'response.completed']);
    });
});
