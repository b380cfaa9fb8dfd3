/* hosted_memory.test.mjs -- clients that keep their own history and leave out the calls that the
 * gateway has run: the model is told all the same, in the bytes of the rounds in which it was told
 * first, and once (CONTRACT 2.5 rule 8, LOCAL 1.1).
 *
 * pi, opencode, Cline, Mastra, LlamaIndex and the AI SDK send back their own calls and the texts;
 * some leave out reasoning, and pi writes arguments anew from what it has parsed. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { dice } from '../lib/dice.mjs';
import { folder } from '../lib/folder.mjs';
import { declared, gateway, sharedGateway, shown } from '../lib/mcp.mjs';
import { startMcp } from '../lib/mcp_server.mjs';
import { CODE, noSandbox } from '../lib/sandbox.mjs';
import { startSearch } from '../lib/search_server.mjs';
import { Api, fn, output, user } from '../lib/state.mjs';
import { chunk, frames, rawCompletion, stream, textStream, usageChunk } from '../lib/upstream.mjs';

const captures = new Captures();
const FOUND = [{ title: 'Rates', url: 'https://example.com/rates', text: 'The range is 3.50% to 3.75%.' }];

/* One round: what the model thinks and says, and calls as [id, name, argument text]. The ids and
 * the blanks are as llama.cpp and Mistral's models write them. */
const round = ({ thought, text, calls = [] }) => stream(frames(
    ...(thought ? [chunk({ reasoning_content: thought })] : []),
    ...(text ? [chunk({ content: text })] : []),
    ...calls.map(([id, name, args], index) => chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: args } }] })),
    chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'), usageChunk(20, 5), '[DONE]'));

const ECHO = ['eHN4F1xyz', shown('fake', 'echo'), '{ "message": "a" }'];
const ADD = ['eHN4F2xyz', shown('fake', 'add'), '{"a": 1.0,  "b": 2}'];
const AGAIN = ['eHN4F3xyz', shown('fake', 'echo'), '{"message":"b"}'];
const RUN = noSandbox ? ['eHN4F4xyz', shown('fake', 'echo'), '{"message": "c"}'] : ['eHN4F4xyz', 'code_interpreter', '{"code": "print(6 * 7)"}'];
const SEARCH = ['eHN4F5xyz', 'web_search', '{"query": "rates",\n "action":"search"}'];
const READ = ['toolu_r1', 'read_file', '{"path": "a.txt", "n": 1}'];
const LIST = ['toolu_l1', 'list_files', '{}'];

/* Two calls at once, one at once after the other, one after a thought, then the client's. */
const ROUNDS = [
    { thought: 'First I look.', text: 'Looking.', calls: [ECHO, ADD] },
    { calls: [AGAIN] },
    { calls: [RUN] },
    { thought: 'Then the web.', text: 'Searching.', calls: [SEARCH] },
    { thought: 'Now the file.', text: 'Reading.', calls: [READ, LIST] },
];
const HOSTED = [ECHO, ADD, AGAIN, RUN, SEARCH].map(([id]) => id);
const CLIENTS = [READ, LIST].map(([id]) => id);

const TOOLS = [declared('fake'), ...(noSandbox ? [] : [CODE]), { type: 'web_search' }, fn('read_file'), fn('list_files')];
const STATELESS = { tools: TOOLS, store: false };
const OUTPUTS = [output(READ[0], 'contents'), output(LIST[0], 'a.txt')];

async function options(t, ...args) {
    const service = await startSearch(t);
    service.finds(...FOUND);
    return { servers: { fake: await startMcp() }, captures, args: [...service.args('searxng'), ...(noSandbox ? [] : ['--code-interpreter', 'require']), ...args] };
}

/* A gateway whose model has gone through the rounds; what it has answered, and was asked last. */
async function learnt(t, { args = [], more = STATELESS, rounds = ROUNDS, g } = {}) {
    g ??= await gateway(t, await options(t, ...args));
    g.up.next(...rounds.map(round));
    const response = await g.respond(more);
    return { g, response, items: response.output, asked: asked(g) };
}

/* The text of `messages` in the last body, without its end. */
function asked({ up }) {
    const raw = up.requests.at(-1).raw.toString();
    return raw.slice(raw.indexOf('"messages":['), raw.lastIndexOf('],"stream":'));
}

const idsIn = ({ messages }) => messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id));
const answeredIn = ({ messages }) => messages.filter(({ role }) => role === 'tool').map(({ tool_call_id }) => tool_call_id);

/* The model sees what it saw, and all calls, once. */
function continues(g, before, ids = [...HOSTED, ...CLIENTS]) {
    assert.ok(asked(g).startsWith(before), `what was said is the beginning of what is said:\n${before}\n\n${asked(g)}`);
    assert.deepEqual(idsIn(g), ids);
    assert.deepEqual(answeredIn(g), ids);
}

const bare = ({ id: _id, ...item }) => item;
const isHosted = ({ type }) => ['mcp_call', 'code_interpreter_call', 'web_search_call'].includes(type);
const isOurs = ({ type }) => isHosted({ type }) || type === 'mcp_list_tools';
const only = (...types) => (items) => items.filter(({ type }) => types.includes(type));
const rewritten = (items) => items.map((item) => (item.type === 'function_call' ? { ...item, arguments: JSON.stringify(JSON.parse(item.arguments)) } : item));
const merged = (items) => [
    { type: 'message', role: 'assistant', content: items.filter(({ type }) => type === 'message').map(({ content: [{ text }] }) => text).join('') },
    ...items.filter(({ type }) => type === 'function_call'),
];

/* Mastra 1.71: what the gateway ran is a call of its own. */
const disguised = (items) => items.filter(({ type }) => type !== 'mcp_list_tools').flatMap((item) => (isHosted(item) ? [
    { type: 'function_call', call_id: item.id, name: 'unknown_tool', arguments: item.arguments ?? '{}' },
    output(item.id, JSON.stringify({ type: 'call', serverLabel: item.server_label, output: item.output })),
] : [item]));

const WAYS = [
    ['only its calls', only('function_call')],
    ['only its calls, without ids of items', (items) => only('function_call')(items).map(bare)],
    ['its calls with arguments written anew', (items) => rewritten(only('function_call')(items))],
    ['its calls and texts', only('function_call', 'message')],
    ['its calls and texts, without ids of items', (items) => only('function_call', 'message')(items).map(bare)],
    ['its calls and reasoning', only('function_call', 'reasoning')],
    ['its calls, texts and reasoning', only('function_call', 'message', 'reasoning')],
    ['everything', (items) => items],
    ['everything, without ids of items', (items) => items.map(bare)],
    ['everything but reasoning', (items) => items.filter(({ type }) => type !== 'reasoning')],
    ['everything but one hosted call', (items) => items.filter((item) => item !== items.find(isHosted))],
    ['everything, hosted calls as calls of its own', disguised],
    ['everything but the calls of MCP tools', (items) => items.filter(({ type }) => !type.startsWith('mcp_'))],
];

describe('a client that keeps its own history', { concurrency: false }, () => {
    for (const [what, kept] of WAYS)
        test(`sends back ${what}`, async (t) => {
            const { g, items, asked: before } = await learnt(t);
            const history = [user('Hi'), ...kept(items), ...OUTPUTS];
            g.up.next(textStream('Done.', { reasoning: 'So.' }));
            const second = await g.respond({ ...STATELESS, input: history });
            continues(g, before);

            const then = asked(g);
            const more = [...history, ...kept(second.output), user('Thanks')];
            g.up.next(round({ thought: 'Once more.', calls: [['eHN4F9xyz', shown('fake', 'echo'), '{"message" : "z"}']] }),
                round({ calls: [['toolu_r2', 'read_file', '{"path":"b.txt"}']] }));
            const third = await g.respond({ ...STATELESS, input: more });
            if (kept(second.output).some(({ type }) => type === 'message'))
                assert.ok(asked(g).startsWith(then), 'two turns later');
            const last = asked(g);
            await g.respond({ ...STATELESS, input: [...more, ...kept(third.output), output('toolu_r2', 'x')] });
            continues(g, last, [...HOSTED, ...CLIENTS, 'eHN4F9xyz', 'toolu_r2']);
        });

    test('pairs each call with its output', async (t) => {
        const { g, items, asked: before } = await learnt(t);
        const [read, list] = only('function_call')(items);
        await g.respond({ ...STATELESS, input: [user('Hi'), read, OUTPUTS[0], list, OUTPUTS[1]] });
        continues(g, before);
    });

    test('writes all texts of a response as one: none is said twice', async (t) => {
        const { g, items } = await learnt(t);
        await g.respond({ ...STATELESS, input: [user('Hi'), ...merged(items), ...OUTPUTS] });
        assert.deepEqual(idsIn(g), [...HOSTED, ...CLIENTS]);
        assert.deepEqual(g.messages.flatMap(({ role, content }) => (role === 'assistant' && content !== null ? [content] : [])), ['Looking.Searching.Reading.']);
    });

    test('has changed what the user said last, or first', async (t) => {
        for (const [first, last] of [['Hi', 'Go on, but briefly'], ['Hello', 'Go on']]) {
            const input = [user('Hi'), { type: 'message', role: 'assistant', content: 'What?' }, user('Go on')];
            const { g, items } = await learnt(t, { more: { ...STATELESS, input } });
            await g.respond({ ...STATELESS, input: [user(first), input[1], user(last), ...only('function_call')(items), ...OUTPUTS] });
            assert.deepEqual(idsIn(g), [...HOSTED, ...CLIENTS]);
        }
    });

    test('streams', async (t) => {
        const g = await gateway(t, await options(t));
        g.up.next(...ROUNDS.map(round));
        const { items } = await g.stream(STATELESS);
        const before = asked(g);
        await g.stream({ ...STATELESS, input: [user('Hi'), ...only('function_call')(items), ...OUTPUTS] });
        continues(g, before);
        await g.daemon.logged(/put_back=1/);
    });

    test('has calls one at a time, where a model wants that', async (t) => {
        const { g, items, asked: before } = await learnt(t, { args: ['--call-messages', 'single'] });
        await g.respond({ ...STATELESS, input: [user('Hi'), ...only('function_call')(items), ...OUTPUTS] });
        continues(g, before);
    });
});

/* Every chat has the same ids, as at an upstream that counts its calls. */
describe('whatever a client leaves out', { concurrency: false }, () => {
    for (const seed of [1, 2, 3, 4])
        test(`the model has seen it before, seed ${seed}`, async (t) => {
            const g = await gateway(t, await options(t));
            const below = dice(seed);
            const chats = [];
            for (let i = 0; i < 10; i++) {
                const more = { ...STATELESS, input: `Question ${i}` };
                const { items, asked: before } = await learnt(t, { g, more });
                const dropped = items.filter(isHosted)[below(HOSTED.length)];
                const kept = items.filter((item) => item.type === 'function_call' || (item !== dropped && below(2) === 0));
                chats.push({ before, input: [user(more.input), ...(below(2) === 0 ? kept : kept.map(bare)), ...OUTPUTS] });
            }
            for (const { before, input } of [...chats, ...chats.reverse()]) {
                await g.respond({ ...STATELESS, input });
                continues(g, before);
            }
        });
});

/* Reasoning that clients cannot send back, and models whose template drops it after an answer. */
describe('reasoning of the rounds', { concurrency: false }, () => {
    const SEALED = { include: ['reasoning.encrypted_content'] };

    for (const [what, args, more] of [
        ['that clients see as a summary', ['--reasoning', 'summary'], {}],
        ['that clients do not see', ['--reasoning', 'none'], {}],
        ['that clients get sealed', ['--reasoning', 'none'], SEALED],
        ['of a chain of calls alone', ['--reasoning-history', 'open'], {}],
    ])
        for (const [how, kept] of [['only its calls', only('function_call')], ['everything', (items) => items], ['its calls and reasoning, without ids', (items) => only('function_call', 'reasoning')(items).map(bare)]])
            test(`${what} comes back to a client that sends ${how}`, async (t) => {
                const { g, items, asked: before } = await learnt(t, { args, more: { ...STATELESS, ...more } });
                await g.respond({ ...STATELESS, ...more, input: [user('Hi'), ...kept(items), ...OUTPUTS] });
                continues(g, before);
            });
});

describe('a model whose prompt the gateway writes', { concurrency: false }, () => {
    const NEXT = '<|start|>assistant';
    const thinks = (text) => `<|channel|>analysis<|message|>${text}<|end|>`;
    const calls = (name, args) => `<|channel|>commentary to=${name} <|constrain|>json<|message|>${args}<|call|>`;
    const prompt = (g) => g.up.requests.at(-1).body.prompt;

    for (const [how, kept] of [['only its calls', only('function_call')], ['everything', (items) => items], ['everything but reasoning', (items) => items.filter(({ type }) => type !== 'reasoning')]])
        test(`reads on where it stopped, for a client that sends ${how}`, async (t) => {
            const g = await gateway(t, await options(t, '--harmony', 'harmony-completions', '--harmony-date', 'none'));
            const tools = [declared('fake'), { type: 'web_search' }, fn('read_file')];
            g.up.next(...[
                [thinks('First I look.'), calls('fake.echo', '{ "message": "a" }')],
                [calls('fake.add', '{"a": 1.0,  "b": 2}')],
                ['<|channel|>analysis to=browser.search code<|message|>{"query": "rates"}<|call|>'],
                [thinks('Now the file.'), calls('functions.read_file', '{"path": "a.txt"}')],
            ].map((messages) => rawCompletion(messages.join(NEXT))));
            const { output: items } = await g.respond({ model: 'gpt-oss-20b', tools, store: false });
            const before = prompt(g);
            assert.equal(g.up.requests.length, 4);
            const [own] = only('function_call')(items);
            g.up.next(rawCompletion('<|channel|>final<|message|>Done.<|return|>'));
            await g.respond({ model: 'gpt-oss-20b', tools, store: false, input: [user('Hi'), ...kept(items), output(own.call_id, 'contents')] });
            assert.ok(prompt(g).startsWith(before), `${before}\n\n${prompt(g)}`);
            for (const word of ['{ "message": "a" }', '{"a": 1.0,  "b": 2}', 'contents'])
                assert.equal(prompt(g).split(word).length, 2, word);
        });
});

describe('calls of the gateway beside those of the client, in one round', { concurrency: false }, () => {
    const ROUND = { text: 'Both.', calls: [ECHO, READ, ADD, LIST] };

    for (const [what, kept, texts] of [['only its calls', only('function_call'), [null]], ['its calls and texts', only('function_call', 'message'), ['Both.']]])
        test(`are put back in their places when it sends ${what}`, async (t) => {
            const { g, items } = await learnt(t, { rounds: [ROUND] });
            await g.respond({ ...STATELESS, input: [user('Hi'), ...kept(items), ...OUTPUTS] });
            assert.deepEqual(g.messages.filter(({ role }) => role === 'assistant').map(({ content }) => content), texts);
            assert.deepEqual(idsIn(g), ROUND.calls.map(([id]) => id));
            assert.deepEqual(g.messages.filter(({ role }) => role === 'tool').map(({ content }) => content), ['Echo: a', 'contents', '3', 'a.txt']);
        });
});

describe('an approved call', { concurrency: false }, () => {
    test('that the client leaves out is not run again', async (t) => {
        const tools = [declared('fake', { require_approval: { always: { tool_names: ['add'] }, never: { tool_names: ['echo'] } } }), fn('read_file')];
        const more = { tools, store: false };
        const opts = await options(t);
        const { g, items } = await learnt(t, { g: await gateway(t, opts), more, rounds: [{ calls: [ECHO] }, { calls: [ADD] }] });
        const request = items.find(({ type }) => type === 'mcp_approval_request');
        const approval = { type: 'mcp_approval_response', approval_request_id: request.id, approve: true };
        const history = [user('Hi'), request, approval];
        g.up.next(round({ calls: [READ] }));
        const second = await g.respond({ ...more, input: history });
        const before = asked(g);
        assert.deepEqual(idsIn(g).slice(0, 1), [ECHO[0]]);
        await g.respond({ ...more, input: [...history, ...only('function_call')(second.output), OUTPUTS[0]] });
        assert.ok(asked(g).startsWith(before));
        assert.equal(idsIn(g).length, 3);
        assert.deepEqual(g.messages.filter(({ role }) => role === 'tool').map(({ content }) => content), ['Echo: a', '3', 'contents']);
        assert.deepEqual(opts.servers.fake.calls.map(({ name }) => name), ['echo', 'add']);
    });

    test('that the client sends as a call of its own is not run again', async (t) => {
        const more = { tools: [declared('fake', { require_approval: 'always' })], store: false };
        const opts = await options(t);
        const { g, items } = await learnt(t, { g: await gateway(t, opts), more, rounds: [{ calls: [ADD] }] });
        const request = items.find(({ type }) => type === 'mcp_approval_request');
        const history = [user('Hi'), request, { type: 'mcp_approval_response', approval_request_id: request.id, approve: true }];
        g.up.next(textStream('3.'));
        const { output: ran } = await g.respond({ ...more, input: history });
        await g.respond({ ...more, input: [...history, ...disguised(ran), user('Go on')] });
        assert.deepEqual(opts.servers.fake.calls.map(({ name }) => name), ['add']);
        assert.deepEqual(g.messages.filter(({ role }) => role === 'tool').map(({ content }) => content), ['3']);
    });
});

describe('what is remembered', { concurrency: false }, () => {
    const back = (items) => ({ ...STATELESS, input: [user('Hi'), ...only('function_call')(items), ...OUTPUTS] });

    test('belongs to the credentials of its client', async (t) => {
        const both = await gateway(t, await options(t));
        const [anna, ben] = ['key-of-anna', 'key-of-ben'].map((key) => new Api(both, captures, key));
        both.up.next(...ROUNDS.map(round));
        const { output: items } = await anna.respond(STATELESS);
        for (const other of [ben, both]) {
            await other.respond(back(items));
            assert.deepEqual(idsIn(both), CLIENTS);
            await other.respond({ ...STATELESS, input: [user('Hi'), ...items.filter(isOurs), ...only('function_call')(items), ...OUTPUTS] });
            assert.equal(idsIn(both).some((id) => HOSTED.includes(id)), false, 'nor by its ids');
        }
        await anna.respond(back(items));
        assert.deepEqual(idsIn(both), [...HOSTED, ...CLIENTS]);
    });

    test('is kept apart in chats whose calls have the same id', async (t) => {
        const g = await gateway(t, await options(t));
        const call = ['call_0', 'read_file', '{}'];
        const chat = async (question, message, hosted = true) => {
            const rounds = hosted ? [{ calls: [['call_0', shown('fake', 'echo'), JSON.stringify({ message })]] }, { calls: [call] }] : [{ calls: [call] }];
            g.up.next(...rounds.map(round));
            const { output: items } = await g.respond({ ...STATELESS, input: [user(question)] });
            const [own] = only('function_call')(items);
            return async () => {
                await g.respond({ ...STATELESS, input: [user(question), own, output(own.call_id, 'x')] });
                return g.messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
            };
        };
        const [oslo, rome, none] = [await chat('Oslo?', 'oslo'), await chat('Rome?', 'rome'), await chat('Paris?', '', false)];
        assert.deepEqual([await oslo(), await rome(), await none()], [['Echo: oslo', 'x'], ['Echo: rome', 'x'], ['x']]);
        const same = await chat('Oslo?', '', false);
        assert.deepEqual(await same(), ['x'], 'a chat that begins alike and had no such call');
    });

    test('is gone after a restart: the request says what it says', async (t) => {
        const { items } = await learnt(t);
        const other = await gateway(t, await options(t));
        await other.respond(back(items));
        assert.deepEqual(idsIn(other), CLIENTS);
        const input = [user('Hi'), ...items, ...OUTPUTS];
        await other.respond({ ...STATELESS, input });
        const mcp = items.filter(({ type }) => type === 'mcp_call').map(({ id }) => id);
        assert.deepEqual(idsIn(other).filter((id) => id.startsWith('mcp_')), mcp);
    });

    test('is nothing where nothing may be', async (t) => {
        const { g, items } = await learnt(t, { args: ['--call-memory', '0'] });
        await g.respond(back(items));
        assert.deepEqual(idsIn(g), CLIENTS);
    });

    test('is bounded: the oldest makes room, and what is too long pushes nothing out', async (t) => {
        const { g, items } = await learnt(t, { args: ['--call-memory-size', '64KiB'] });
        const long = 'x'.repeat(20_000);
        g.up.next(round({ calls: [['long_1', shown('fake', 'echo'), JSON.stringify({ message: long })]] }), round({ calls: [['toolu_long', 'read_file', '{}']] }));
        const { output: tooLong } = await g.respond({ ...STATELESS, input: 'Long' });
        await g.respond({ ...STATELESS, input: [user('Long'), ...only('function_call')(tooLong), output('toolu_long', 'x')] });
        assert.deepEqual(idsIn(g), ['toolu_long']);
        await g.respond(back(items));
        assert.deepEqual(idsIn(g), [...HOSTED, ...CLIENTS], 'the others are still there');
        for (let i = 0; i < 40; i++) {
            g.up.next(round({ calls: [[`h_${i}`, shown('fake', 'echo'), JSON.stringify({ message: 'y'.repeat(1000) })]] }), round({ calls: [[`c_${i}`, 'read_file', '{}']] }));
            await g.respond({ ...STATELESS, input: `Again ${i}` });
        }
        await g.respond(back(items));
        assert.deepEqual(idsIn(g), CLIENTS);
    });
});

/* What is stored needs no memory: it is as it was also after a restart. */
describe('a history that the gateway keeps', { concurrency: false }, () => {
    for (const restarted of [false, true])
        for (const way of ['previous_response_id', 'conversation', 'item_reference'])
            test(`by ${way}${restarted ? ', after a restart' : ''}`, async (t) => {
                const opts = await options(t, '--store', `sqlite:${folder(t, 'antiphon.db')}`);
                let g = await gateway(t, opts);
                const conversation = way === 'conversation' ? { conversation: (await g.make('conversations', {})).id } : {};
                const { response, asked: before } = await learnt(t, { g, more: { tools: TOOLS, ...conversation } });
                if (restarted) {
                    await g.close();
                    g = await gateway(t, opts);
                }
                const history = {
                    previous_response_id: { previous_response_id: response.id, input: OUTPUTS },
                    conversation: { ...conversation, input: OUTPUTS },
                    item_reference: { input: [user('Hi'), ...response.output.map(({ id }) => ({ type: 'item_reference', id })), ...OUTPUTS] },
                };
                const { id } = await g.respond({ tools: TOOLS, ...history[way] });
                continues(g, before);
                const then = asked(g);
                if (way !== 'conversation')
                    await g.respond({ tools: TOOLS, previous_response_id: id, input: 'Thanks' });
                else
                    await g.respond({ tools: TOOLS, ...conversation, input: 'Thanks' });
                continues(g, then);
                const listed = await g.list(`responses/${id}/input_items?limit=100`);
                assert.equal(listed.some(({ type }) => type === 'hosted_call_result'), false);
            });

    test('after a client has gone on alone for a while', async (t) => {
        const { g, items, asked: before } = await learnt(t, { more: { tools: TOOLS } });
        for (const kept of [only('function_call'), (all) => all]) {
            const { id } = await g.respond({ tools: TOOLS, input: [user('Hi'), ...kept(items), ...OUTPUTS] });
            const then = asked(g);
            await g.respond({ tools: TOOLS, previous_response_id: id, input: 'Thanks' });
            continues(g, before);
            assert.ok(asked(g).startsWith(then));
        }
    });

    test('of which a client sends a call by its reference alone', async (t) => {
        const { g, items, asked: before } = await learnt(t, { more: { tools: TOOLS } });
        const references = only('function_call')(items).map(({ id }) => ({ type: 'item_reference', id }));
        await g.respond({ tools: TOOLS, input: [user('Hi'), ...references, ...OUTPUTS] });
        continues(g, before);
    });

    test('and a client sends again: nothing is put back twice', async (t) => {
        const { g, response } = await learnt(t, { more: { tools: TOOLS } });
        await g.respond({ tools: TOOLS, previous_response_id: response.id, input: [...only('function_call')(response.output), ...OUTPUTS] });
        assert.deepEqual(idsIn(g), [...HOSTED, ...CLIENTS]);
    });

    test('is no longer by its client, who goes on alone', async (t) => {
        const { g, items, asked: before } = await learnt(t, { more: { tools: TOOLS } });
        await g.respond({ ...STATELESS, input: [user('Hi'), ...only('function_call')(items), ...OUTPUTS] });
        continues(g, before);
    });
});

describe('a turn without such calls', { concurrency: false }, () => {
    const g = sharedGateway({ before, beforeEach, after }, captures, async () => ({ servers: { fake: await startMcp() } }));

    test('is asked as ever', async () => {
        g.up.next(round({ calls: [READ] }));
        const { output: items } = await g.respond({ ...STATELESS, tools: [fn('read_file')] });
        await g.respond({ ...STATELESS, tools: [fn('read_file')], input: [user('Hi'), ...items, OUTPUTS[0]] });
        assert.deepEqual(idsIn(g), [READ[0]]);
        assert.doesNotMatch(g.daemon.log, /put_back/);
    });
});

captures.judge(test);
