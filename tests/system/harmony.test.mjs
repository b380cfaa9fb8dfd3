/* harmony.test.mjs -- what gpt-oss models write, through the daemon: as the content of a chat whose
 * server does not parse it, and as the text of /v1/completions.
 *
 * Texts and items are tests/data/harmony/parse.json. Two things differ behind a daemon, and
 * wanted() knows them: built-in tools are not enabled, so that what a model writes to them is
 * reasoning; and a tool of an MCP server that the request does not have fails, whereupon the
 * model is asked again. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkStream } from '../lib/check.mjs';
import { ask, open } from '../lib/client.mjs';
import { atBytes, atRandom, byCharacter } from '../lib/cutting.mjs';
import { pair, shared } from '../lib/daemon.mjs';
import { jsonOf } from '../lib/data.mjs';
import { SEED, dice } from '../lib/dice.mjs';
import { Api, fn } from '../lib/state.mjs';
import { CLOSE, HANG, chunk, completionChunk, failure, frames, json, rawChat, rawCompletion, stream, textStream } from '../lib/upstream.mjs';

/* Without those whose bytes are no UTF-8: no JSON can bring them to the parser. */
const VECTORS = jsonOf('harmony', 'parse.json').vectors.filter(({ input }) => input !== undefined);
const BUILT_IN = /^(python|browser)(\.|$)/;
const OPENS = /^(<\|channel\|>|<\|start\|>| to=)/;
const DONE = '<|channel|>final<|message|>Done.<|return|>';

const captures = new Captures();

/* The two endpoints: a text in pieces, one chunk of it, and a choice that is not streamed. */
const WAYS = [
    {
        mode: 'harmony-chat', path: '/v1/chat/completions', raw: rawChat,
        piece: (content, finish) => chunk(content === '' ? {} : { content }, finish),
        choice: (content) => ({ message: { role: 'assistant', content } }),
    },
    {
        mode: 'harmony-completions', path: '/v1/completions', raw: rawCompletion,
        piece: completionChunk,
        choice: (text) => ({ text }),
    },
];

const vector = (id) => VECTORS.find((one) => one.id === id);

/* ---- what a client gets ---- */

const reasoning = (text, status = 'completed') => ({ type: 'reasoning', text, status });
const message = (text, phase = 'final_answer', status = 'completed') => ({ type: 'message', phase, text, status });

/* Items in the words of the vectors. */
const READ = {
    reasoning: ({ content }) => ({ text: content[0].text }),
    message: ({ content, phase }) => ({ ...(phase && { phase }), text: content[0].text }),
    function_call: ({ name, arguments: args }) => ({ name, arguments: args }),
    mcp_call: ({ server_label, name, arguments: args }) => ({ server_label, name, arguments: args }),
};
const seen = (items) => items.map((item) => ({ type: item.type, ...READ[item.type](item), status: item.status }));

/* Writes to built-in tools: reasoning. The vectors have other items there, or none. */
function withoutBuiltIns({ messages, items, enabled_tools, terminal }) {
    if (enabled_tools.length === 0)
        return items;
    const rest = items.filter(({ type }) => !/^(code_interpreter|web_search)_call$/.test(type));
    return messages.filter(({ role }) => role === 'assistant').map(({ recipient, content, closed_by }) =>
        (BUILT_IN.test(recipient) ? reasoning(content, terminal === 'response.incomplete' && closed_by === 'eos' ? 'incomplete' : 'completed') : rest.shift()));
}

/* The items, and how often the model is asked. A response that is complete shows more than
 * reasoning, if only an empty message. */
function wanted(vector) {
    const items = withoutBuiltIns(vector).map((item) => (item.type === 'mcp_call' ? { ...item, status: 'failed' } : item));
    const rounds = items.some(({ type }) => type === 'mcp_call') ? 2 : 1;
    if (rounds === 2)
        items.push(message('Done.'));
    else if (items.length === 0 || (vector.terminal === 'response.completed' && items.every(({ type }) => type === 'reasoning')))
        items.push({ type: 'message', text: '', status: 'completed' });
    return { items, rounds };
}

/* ---- what a server says ---- */

/* Every cutting of a vector's text: [what, answer]. */
function answersOf({ input, chunkings, finish_reason }, raw) {
    const given = chunkings.filter(({ cuts }) => cuts).map(({ cuts }) => [`cuts ${cuts}`, atBytes(input, cuts)]);
    return [['characters', byCharacter(input)], ['whole', [input]], ...given, [`seed ${SEED}`, atRandom(input, dice())]]
        .map(([what, pieces]) => [what, raw(pieces, finish_reason)]);
}

const requestOf = ({ functions }) => ({ model: 'm', input: 'Hi', ...(functions.length > 0 && { tools: functions.map(fn) }) });

/* ---- the vectors ---- */

for (const { mode, path, raw } of WAYS) {
    describe(`every vector, harmony = ${mode}`, { concurrency: false }, () => {
        const both = shared({ before, beforeEach, after }, '--harmony', mode);
        const api = new Api(both, captures);

        for (const one of VECTORS) {
            test(`${one.id} ${one.title}`, async () => {
                const { items, rounds } = wanted(one);
                for (const [what, answer] of answersOf(one, raw)) {
                    both.up.reset();
                    both.up.next(answer);
                    both.up.always(raw(DONE));
                    const got = await ask(both.daemon, { ...requestOf(one), stream: true });
                    if (what === 'characters')
                        captures.keep(`${mode}-${one.id}.sse`, got.bytes);
                    const found = checkStream(got.text);
                    assert.deepEqual(seen(found.items), items, what);
                    assert.equal(`response.${found.response.status}`, one.terminal, what);
                    assert.deepEqual(both.up.requests.map((request) => request.path), Array(rounds).fill(path), what);
                }
                both.up.next(answersOf(one, raw)[0][1]);
                both.up.always(raw(DONE));
                assert.deepEqual(seen((await api.respond(requestOf(one))).output), items);
            });
        }
    });
}

/* ---- whose answers are parsed ---- */

describe('harmony = auto', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });

    for (const one of VECTORS.filter(({ input }) => input.trim() !== '')) {
        const opens = OPENS.test(one.input);
        test(`${one.id} is ${opens ? 'parsed' : 'text'}: ${one.title}`, async () => {
            const { items } = opens ? wanted(one) : { items: [{ type: 'message', text: one.input, status: 'completed' }] };
            for (const [what, answer] of answersOf(one, rawChat)) {
                both.up.next(answer);
                both.up.always(rawChat(DONE));
                assert.deepEqual(seen(checkStream((await ask(both.daemon, { ...requestOf(one), stream: true })).text).items), items, what);
                both.up.reset();
            }
        });
    }
});

describe('modes', { concurrency: false }, () => {
    const TEXT = '<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>';
    const PARSED = [reasoning('a'), message('b')];
    const AS_IT_IS = [{ type: 'message', text: TEXT, status: 'completed' }];

    test('chat leaves the markers where they are', async (t) => {
        const { up, daemon } = await pair(t, '--harmony', 'chat');
        up.always(rawChat(TEXT));
        assert.deepEqual(seen((await ask(daemon, { model: 'gpt-oss-20b', input: 'Hi' })).json.output), AS_IT_IS);
    });

    test('are chosen for each model by the name that the upstream knows', async (t) => {
        const { up, daemon } = await pair(t, '--harmony', 'chat', '--model-alias', 'oss=gpt-oss-20b',
            '--model-settings', 'gpt-oss-20b harmony=harmony-completions', '--model-settings', 'gpt-oss* harmony=harmony-chat');
        up.always(({ path }) => (path === '/v1/completions' ? rawCompletion : rawChat)(TEXT));
        for (const [model, path, items] of [
            ['gpt-oss-20b', '/v1/completions', PARSED], ['oss', '/v1/completions', PARSED],
            ['gpt-oss-120b', '/v1/chat/completions', PARSED], ['qwen3', '/v1/chat/completions', AS_IT_IS],
        ]) {
            const { json: response } = await ask(daemon, { model, input: 'Hi' });
            assert.deepEqual([model, up.requests.at(-1).path, seen(response.output)], [model, path, items]);
        }
    });

    /* A server that parses gives nothing that could be mistaken for raw text. */
    for (const mode of ['auto', 'chat', 'harmony-chat'])
        test(`a chat server that parses is understood with ${mode}`, async (t) => {
            const { up, daemon } = await pair(t, '--harmony', mode);
            up.always(textStream('Hello world', { reasoning: 'Let me see' }));
            const { output } = (await ask(daemon, { model: 'gpt-oss-20b', input: 'Hi' })).json;
            assert.deepEqual(output.map(({ content }) => content[0].text), ['Let me see', 'Hello world']);
        });
});

/* ---- life and death of an answer ---- */

for (const { mode, path, raw, piece, choice } of WAYS) {
    describe(`an answer with ${mode}`, { concurrency: false }, () => {
        const both = shared({ before, beforeEach, after }, '--harmony', mode);
        const api = new Api(both, captures);
        const request = { input: 'Hi', tools: [fn('get_weather')] };
        const { input: INVENTED } = vector('P037');

        for (const streamed of [false, true]) {
            test(`in which the model invents a tool's result is cut off there, ${streamed ? 'streaming' : 'not streaming'}`, async () => {
                both.up.next(stream([...frames(piece(INVENTED)), HANG]));
                const { output, status } = streamed ? (await api.stream(request)).response : await api.respond(request);
                assert.deepEqual([status, seen(output)], ['completed', vector('P037').items]);
                await both.up.requests[0].closed;
                assert.equal(both.up.requests.length, 1);
            });
        }

        test('is delivered as it arrives', async () => {
            let go;
            const gate = new Promise((done) => (go = done));
            both.up.next(stream([...frames(piece('<|channel|>analysis<|message|>one')), gate,
                ...frames(piece(' two<|end|><|start|>assistant<|channel|>final<|message|>three'), piece('', 'stop'), '[DONE]')]));
            const call = open(both.daemon, { model: 'm', input: 'Hi', stream: true });
            await call.until('"delta":"one"');
            go();
            assert.deepEqual(seen(checkStream((await call.done).text).items), [reasoning('one two'), message('three')]);
        });

        test('has the usage that the upstream counted', async () => {
            both.up.next(raw(DONE));
            const { usage } = await api.respond();
            assert.deepEqual([usage.input_tokens, usage.output_tokens, usage.total_tokens], [20, 5, 25]);
        });

        for (const [what, more] of [['in reasoning', '<|channel|>analysis<|message|>I was'], ['in an answer', '<|channel|>final<|message|>It is']])
            test(`that the token limit cut ${what} is incomplete`, async () => {
                both.up.next(raw(more, 'length'));
                const { response } = await api.stream({ max_output_tokens: 7 });
                assert.deepEqual([response.status, response.incomplete_details, response.output.map(({ status }) => status)],
                    ['incomplete', { reason: 'max_output_tokens' }, ['incomplete']]);
                assert.equal(both.up.requests[0].body.max_tokens, 7);
            });

        test('that calls a custom tool and one of a namespace has items of their kinds', async () => {
            const to = (name, args) => `<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>${args}<|call|>`;
            both.up.always(raw(byCharacter(`${to('write', '{"input":"h\\u00e4 \\"x\\""}')}<|start|>assistant${to('crm__get', '{"a":1}')}<|start|>assistant${to('write', 'no JSON')}`)));
            const tools = [{ type: 'custom', name: 'write' }, { type: 'namespace', name: 'crm', description: 'Customers.', tools: [fn('get')] }];
            for (const { output } of [(await api.stream({ tools })).response, await api.respond({ tools })])
                assert.deepEqual(output.map(({ type, name, namespace, input, arguments: args }) => [type, namespace, name, input ?? args]), [
                    ['custom_tool_call', undefined, 'write', 'hä "x"'], ['function_call', 'crm', 'get', '{"a":1}'], ['custom_tool_call', undefined, 'write', 'no JSON']]);
        });

        /* Where nothing is open, there is nothing to close. */
        for (const [what, more, items] of [
            ['in a preamble', '<|channel|>commentary<|message|>Let', [message('Let', 'commentary', 'incomplete')]],
            ['in a call', '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"a', [{ type: 'function_call', name: 'get_weather', arguments: '{"a', status: 'incomplete' }]],
            ['behind reasoning', '<|channel|>analysis<|message|>Hm<|end|>', [reasoning('Hm')]],
            ['in the next header', '<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>commentary to=functions.get_wea', [reasoning('Hm')]],
            ['in the first header', '<|channel|>commentary to=functions.get_weather', [{ type: 'message', text: '', status: 'incomplete' }]],
            ['before it began', '', [{ type: 'message', text: '', status: 'incomplete' }]],
        ])
            test(`that the token limit cut ${what} has no word that was not written`, async () => {
                both.up.always(raw(more, 'length'));
                for (const response of [(await api.stream(request)).response, await api.respond(request)])
                    assert.deepEqual([response.status, response.incomplete_details, seen(response.output)], ['incomplete', { reason: 'max_output_tokens' }, items]);
            });

        test('that breaks off fails, with what there was', async () => {
            both.up.next(stream([...frames(piece('<|channel|>final<|message|>It')), CLOSE]));
            const { response } = await api.stream();
            assert.deepEqual([response.status, seen(response.output)], ['failed', [message('It', 'final_answer', 'incomplete')]]);
        });

        test('that the upstream refuses is an error', async () => {
            both.up.always(failure(429, 'slow down'));
            await api.refused('POST', 'responses', { model: 'm', input: 'Hi' }, [429, 'rate_limit_exceeded']);
            assert.equal(both.up.requests[0].path, path);
        });

        test('that comes whole, from a server that does not stream, is understood', async () => {
            both.up.next(json(200, {
                id: 'x', created: 1, model: 'm', choices: [{ index: 0, ...choice(vector('P014').input), finish_reason: 'stop' }],
                usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
            }));
            const response = await api.respond(request);
            assert.deepEqual([seen(response.output), response.usage.total_tokens], [vector('P014').items, 7]);
        });
    });
}

/* ---- what the operator hears ---- */

for (const { mode, raw } of WAYS)
    test(`the log tells what was repaired, with ${mode}`, async (t) => {
        const { up, daemon } = await pair(t, '--harmony', mode);
        const STRIPPED = jsonOf('harmony', 'text_formats.json').harmony_without_special_tokens;
        const repairOf = async (text) => {
            up.next(raw(byCharacter(text)));
            const { id, output } = (await ask(daemon, { model: 'm', input: 'Hi' })).json;
            const [line] = await daemon.logged(new RegExp(`turn id=${id} .*`));
            return [output.map(({ content }) => content[0].text).join(), line.match(/ repair="([^"]*)"/)?.[1]];
        };
        for (const [text, said, repair] of [
            [DONE, 'Done.', undefined],
            ['Four.', 'Four.', 'bare text'],
            ['analyse this', 'analyse this', 'bare text'],
            [STRIPPED[0].input, STRIPPED[0].input, 'the server seems to remove special tokens'],
            [STRIPPED[2].input, STRIPPED[2].input, 'the server seems to remove special tokens'],
        ])
            assert.deepEqual(await repairOf(text), [said, repair]);
    });

captures.judge(test);
