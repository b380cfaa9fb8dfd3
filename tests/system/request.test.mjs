/* request.test.mjs -- what the upstream is asked (CONTRACT 1 and 2). */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { checkError } from '../lib/check.mjs';
import { ask } from '../lib/client.mjs';
import { shared, startDaemon } from '../lib/daemon.mjs';
import { optionalJson } from '../lib/data.mjs';
import { startUpstream, textStream } from '../lib/upstream.mjs';

const CASES = optionalJson('tests/data/conversion/cases.json', '../shared/contract/conversion/cases.json');
const fn = (name, more = {}) => ({ type: 'function', name, parameters: { type: 'object', properties: {} }, ...more });
const chatFn = (name) => ({ type: 'function', function: { name } });

describe('the request to the upstream', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--upstream-key', 'upstream-secret');
    const chatOf = async (request) => {
        const got = await ask(both.daemon, { model: 'm', input: 'Hi', ...request });
        assert.equal(got.status, 200, got.text);
        return both.up.requests.at(-1).body;
    };

    test('is a stream with usage, one path, one key, and only what was given', async () => {
        const body = await chatOf({});
        const { method, path, headers } = await both.up.request(0);
        assert.deepEqual([method, path], ['POST', '/v1/chat/completions']);
        assert.equal(headers.authorization, 'Bearer upstream-secret');
        assert.match(headers['content-type'], /^application\/json/);
        assert.equal(headers.expect, undefined);
        assert.deepEqual(body, {
            model: 'm',
            messages: [{ role: 'user', content: 'Hi' }],
            stream: true,
            stream_options: { include_usage: true },
        });
    });

    test('never carries the client\'s key or cookies when there is an own key', async () => {
        await ask(both.daemon, { model: 'm', input: 'Hi' }, { headers: { authorization: 'Bearer client-secret', cookie: 'a=b' } });
        const { headers } = await both.up.request(0);
        assert.ok(!JSON.stringify(headers).includes('client-secret'));
        assert.equal(headers.cookie, undefined);
    });

    /* [request, members of the chat request] */
    for (const [request, want] of [
        [{ temperature: 0, top_p: 1, presence_penalty: 0, frequency_penalty: -2 }, { temperature: 0, top_p: 1, presence_penalty: 0, frequency_penalty: -2 }],
        [{ max_output_tokens: 7 }, { max_tokens: 7 }],
        [{ top_logprobs: 3 }, { logprobs: true, top_logprobs: 3 }],
        [{ include: ['message.output_text.logprobs'] }, { logprobs: true }],
        [{ reasoning: { effort: 'low' } }, { reasoning_effort: 'low', reasoning: undefined }],
        [{ user: 'u' }, { user: 'u' }],
        [{ text: { format: { type: 'json_object' } } }, { response_format: { type: 'json_object' } }],
        [{ text: { format: { type: 'text' } } }, { response_format: undefined }],
        [{ text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true } } },
            { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' }, strict: true } } }],
        [{ top_k: 4, min_p: 0.1, seed: 7, stop: ['x'], chat_template_kwargs: { a: 1 } }, { top_k: 4, min_p: 0.1, seed: 7, stop: ['x'], chat_template_kwargs: { a: 1 } }],
        [{ tools: [fn('a', { description: 'd', strict: true })] },
            { tools: [{ type: 'function', function: { name: 'a', description: 'd', parameters: { type: 'object', properties: {} }, strict: true } }] }],
        [{ tools: [fn('a')], tool_choice: 'required', parallel_tool_calls: false }, { tool_choice: 'required', parallel_tool_calls: false }],
        [{ tools: [fn('a'), fn('b')], tool_choice: { type: 'function', name: 'b' } }, { tool_choice: chatFn('b') }],
        [{ tools: [], parallel_tool_calls: true, tool_choice: 'auto' }, { tools: undefined, tool_choice: undefined, parallel_tool_calls: undefined }],
        [{ tools: [{ type: 'file_search', vector_store_ids: [] }] }, { tools: undefined, tool_choice: undefined }],
        [{ store: false, metadata: { a: 'b' }, truncation: 'auto', prompt_cache_key: 'k', service_tier: 'auto' },
            { store: undefined, metadata: undefined, truncation: undefined, prompt_cache_key: undefined, service_tier: undefined }],
        [{ client_metadata: { a: 1 } }, { client_metadata: undefined }],
        [{ instructions: 'Be kind.' }, { messages: [{ role: 'system', content: 'Be kind.' }, { role: 'user', content: 'Hi' }] }],
    ]) {
        test(`${JSON.stringify(request).slice(0, 90)} becomes ${JSON.stringify(want).slice(0, 70)}`, async () => {
            const body = await chatOf(request);
            for (const [name, value] of Object.entries(want))
                assert.deepEqual(body[name], value, name);
        });
    }

    test('the response echoes the request, whatever the upstream was sent', async () => {
        const tools = [fn('a', { description: null, strict: null }), { type: 'file_search', vector_store_ids: ['v'] }];
        const request = { instructions: 'I', temperature: 0.5, max_output_tokens: 9, metadata: { a: 'b' }, tools, store: false, truncation: 'auto', user: 'u' };
        const { json } = await ask(both.daemon, { model: 'm', input: 'Hi', ...request });
        for (const [name, value] of Object.entries(request))
            assert.deepEqual(json[name], value, name);
        assert.equal(json.model, 'm', 'the requested name, not the upstream\'s');
        assert.deepEqual(json.reasoning, { effort: null, summary: null });
        assert.deepEqual(json.usage.total_tokens, json.usage.input_tokens + json.usage.output_tokens);
    });
});

const emptyConversation = async (daemon) => (await ask(daemon, {}, { path: '/v1/conversations' })).json.id;

describe('conversion cases', { concurrency: false, skip: CASES === undefined && 'conversion cases not found' }, () => {
    const both = shared({ before, beforeEach, after });

    for (const { name, request, stateful, error, messages, chat = {}, absent = [] } of CASES ?? []) {
        test(name, async () => {
            const history = stateful ? { conversation: await emptyConversation(both.daemon) } : {};
            const got = await ask(both.daemon, { model: 'm', ...request, ...history });
            if (error)
                return void checkError(got, error.status, error.code, error.param);
            assert.equal(got.status, 200, got.text);
            const { body } = both.up.requests.at(-1);
            if (messages)
                assert.deepEqual(body.messages, messages);
            for (const [key, value] of Object.entries(chat))
                assert.deepEqual(body[key], value, key);
            for (const key of absent)
                assert.equal(body[key], undefined, key);
        });
    }
});

test('upstream addresses with and without /v1 reach one path', async (t) => {
    const up = await startUpstream();
    t.after(() => up.close());
    for (const suffix of ['', '/', '/v1', '/v1/', '/api/v3']) {
        up.reset();
        up.always(textStream('Hello'));
        const daemon = await startDaemon({ upstream: up.origin + suffix });
        await ask(daemon, { model: 'm', input: 'Hi' });
        await ask(daemon, { model: 'm', messages: [] }, { path: '/v1/chat/completions' });
        await daemon.stop();
        const path = `${suffix.replace(/\/$/, '') || '/v1'}/chat/completions`;
        assert.deepEqual(up.requests.map((r) => r.path), [path, path]);
    }
});
