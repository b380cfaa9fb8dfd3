/* text_calls.test.mjs -- tool calls that a server leaves in the text are calls for the client
 * (HARMONY 5): tests/data/harmony/text_formats.json, family by family. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkStream, readingOf } from '../lib/check.mjs';
import { ask } from '../lib/client.mjs';
import { atRandom, byCharacter, everyFew } from '../lib/cutting.mjs';
import { pair, shared } from '../lib/daemon.mjs';
import { jsonOf } from '../lib/data.mjs';
import { dice } from '../lib/dice.mjs';
import { declared, gateway, shown } from '../lib/mcp.mjs';
import { startMcp } from '../lib/mcp_server.mjs';
import { Api, calling, fn, messagesOf, output, toolResult, user } from '../lib/state.mjs';
import { chunk, frames, rawChat, stream, textStream } from '../lib/upstream.mjs';

const VECTORS = jsonOf('harmony', 'text_formats.json').tool_calls;
const captures = new Captures();

/* Formats of the vectors, by the words of the setting. */
const FAMILIES = {
    hermes: 'hermes', qwen3_coder: 'qwen-coder', glm45: 'glm', llama3_json: 'llama3', mistral_json: 'mistral',
    mistral_args: 'mistral', deepseek_v3: 'deepseek', deepseek_v31: 'deepseek', kimi_k2: 'kimi', pythonic: 'pythonic',
};

/* One daemon for all families: the model's name is the setting. */
const SETTINGS = [...new Set(Object.values(FAMILIES))].flatMap((word) => ['--model-settings', `${word} text_calls=${word} call_ids=keep`]);

const tool = (name, parameters = {}) => ({
    ...fn(name), parameters: { type: 'object', properties: Object.fromEntries(Object.entries(parameters).map(([key, type]) => [key, { type }])) },
});
const toolsOf = ({ calls, parameters }) => ['get_weather', 'get_time', ...calls.map(({ name }) => name)]
    .filter((name, i, all) => all.indexOf(name) === i).map((name) => tool(name, parameters));

const requestOf = (vector, model) => ({ model, input: 'Hi', tools: toolsOf(vector) });

const seen = (response) => {
    const { text, tool_calls } = readingOf(response);
    return { content: text, calls: tool_calls.map(({ name, arguments: args }) => ({ name, arguments: args })), items: response.output.map(({ type }) => type) };
};

const wanted = ({ content, calls }) => ({
    content, calls: calls.map(({ name, arguments: args }) => ({ name, arguments: args })),
    items: [...(content === '' ? [] : ['message']), ...calls.map(() => 'function_call')],
});

describe('vectors', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, ...SETTINGS);
    const api = new Api(both, captures);
    const streamed = async (vector, model, pieces) => {
        both.up.next(rawChat(pieces));
        return checkStream((await ask(both.daemon, { ...requestOf(vector, model), stream: true })).text).response;
    };

    for (const vector of VECTORS) {
        const { id, title, format, input, calls } = vector;
        const model = FAMILIES[format];

        test(`${id} ${format}: ${title}, in every cutting`, async () => {
            for (const pieces of [byCharacter(input), [input], everyFew(input, 5), atRandom(input, dice())])
                assert.deepEqual(seen(await streamed(vector, model, pieces)), wanted(vector), JSON.stringify(pieces));
            both.up.next(rawChat(byCharacter(input)));
            await api.stream(requestOf(vector, model));
            both.up.next(rawChat(byCharacter(input)));
            assert.deepEqual(seen(await api.respond(requestOf(vector, model))), wanted(vector));
        });

        test(`${id} ${format}: ${title}, is text for a model without a setting`, async () => {
            assert.deepEqual(seen(await streamed(vector, 'm', byCharacter(input))), { content: input, calls: [], items: ['message'] });
        });

        if (calls.length === 0)
            continue;
        test(`${id} ${format}: ${title}, and its outputs go back to the model`, async () => {
            both.up.next(rawChat(byCharacter(input)), textStream('Done.'), textStream('Done.'));
            const request = requestOf(vector, model);
            const first = await api.respond(request);
            const made = first.output.filter(({ type }) => type === 'function_call');
            calls.forEach(({ id: own }, i) => assert.ok(own === undefined ? made[i].call_id.length > 0 : made[i].call_id === own, 'an id of the model stays'));
            assert.equal(new Set(made.map(({ call_id }) => call_id)).size, calls.length, 'ids differ');
            const results = made.map(({ call_id }, i) => output(call_id, `result ${i}`));
            const asked = { ...calling(), content: vector.content || null, tool_calls: made.map(({ call_id, name, arguments: args }) => ({ id: call_id, type: 'function', function: { name, arguments: args } })) };
            const want = [user('Hi'), asked, ...results.map(({ call_id, output: text }) => toolResult(call_id, text))];
            await api.respond({ ...request, input: [user('Hi'), ...first.output, ...results] });
            assert.deepEqual(messagesOf(both.up), want);
            await api.respond({ ...request, input: results, previous_response_id: first.id });
            assert.deepEqual(messagesOf(both.up), want);
        });
    }
});

describe('settings', { concurrency: false }, () => {
    const HERMES = '<tool_call>{"name":"f","arguments":{}}</tool_call>';
    const KIMI = '<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>';

    for (const [flags, model, text, isCall] of [
        [[], 'qwen3:8b', HERMES, false],
        [['--text-calls', 'off'], 'qwen3:8b', HERMES, false],
        [['--text-calls', 'auto'], 'qwen3:8b', HERMES, true],
        [['--text-calls', 'auto'], 'moonshotai/Kimi-K2-Instruct', KIMI, true],
        [['--text-calls', 'auto'], 'unheard-of', HERMES, false],
        [['--text-calls', 'hermes'], 'unheard-of', HERMES, true],
        [['--text-calls', 'hermes', '--model-settings', 'kimi* text_calls=kimi'], 'kimi-k2', KIMI, true],
        [['--text-calls', 'hermes', '--model-settings', 'kimi* text_calls=off'], 'kimi-k2', HERMES, false],
    ])
        test(`${flags.join(' ') || 'none'}: ${model} ${isCall ? 'calls' : 'only writes'}`, async (t) => {
            const { up, daemon } = await pair(t, ...flags);
            up.always(rawChat(text));
            const { json } = await ask(daemon, { model, input: 'Hi', tools: [tool('f')] });
            assert.deepEqual(seen(json), wanted(isCall ? { content: '', calls: [{ name: 'f', arguments: '{}' }] } : { content: text, calls: [] }));
        });
});

describe('with other things', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--text-calls', 'hermes', '--think-tags', 'on');
    const api = new Api(both, captures);
    const tools = [tool('get_weather'), tool('get_time')];
    const WEATHER = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>';

    test('reasoning in tags, text and a call become three items, and the reasoning returns with the call', async () => {
        both.up.next(rawChat(byCharacter(`<think>\nhm ${WEATHER}\n</think>\n\nLet me look.\n${WEATHER}`)));
        const { response } = await api.stream({ tools });
        assert.deepEqual(response.output.map(({ type, content, arguments: args }) => [type, args ?? content[0].text]),
            [['reasoning', `hm ${WEATHER}`], ['message', 'Let me look.'], ['function_call', '{"city": "Paris"}']]);
        const { call_id } = response.output[2];
        await api.respond({ tools, input: [user('Hi'), ...response.output, output(call_id, 'Rain.')] });
        const [, asked, result] = messagesOf(both.up);
        assert.deepEqual([asked.reasoning_content, asked.content, asked.tool_calls[0].id, result.content], [`hm ${WEATHER}`, 'Let me look.', call_id, 'Rain.']);
    });

    test('calls of the server and of its text do not mix', async () => {
        both.up.next(stream(frames(chunk({ content: WEATHER }), chunk({ tool_calls: [{ index: 0, id: 'own', type: 'function', function: { name: 'get_time', arguments: '{}' } }] }), chunk({}, 'tool_calls'), '[DONE]')));
        const { response } = await api.stream({ tools });
        const made = readingOf(response).tool_calls;
        assert.deepEqual(made.map(({ name, arguments: args }) => [name, args]), [['get_weather', '{"city": "Paris"}'], ['get_time', '{}']]);
        assert.deepEqual([made[1].id, made[0].id === 'own'], ['own', false]);
    });

    test('a call that the token limit cut is not lost', async () => {
        const cut = WEATHER.slice(0, 40);
        both.up.next(rawChat(byCharacter(cut), 'length'));
        const { response } = await api.stream({ tools });
        assert.deepEqual([response.status, seen(response)], ['incomplete', { content: cut, calls: [], items: ['message'] }]);
    });

    test('tools of MCP servers are run, and the model goes on', async (t) => {
        const fake = await startMcp();
        const g = await gateway(t, { servers: { fake }, captures, args: ['--text-calls', 'hermes'] });
        g.up.next(rawChat(byCharacter(`<tool_call>{"name":"${shown('fake', 'echo')}","arguments":{"message":"hi"}}</tool_call>`)), textStream('Done.'));
        const { items } = await g.stream({ tools: [declared('fake')] });
        assert.deepEqual(items.map(({ type, output: said }) => [type, said]), [['mcp_call', 'Echo: hi'], ['message', undefined]]);
        assert.equal(fake.calls.length, 1);
    });
});

captures.judge(test);
