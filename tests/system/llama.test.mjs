/* llama.test.mjs -- forced tools, single calls and formats of an answer where the server is llama.cpp
 * (CONTRACT 1.1, 1.4): what it does not do by itself, the gateway does. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkStream } from '../lib/check.mjs';
import { ask } from '../lib/client.mjs';
import { llamaServer } from '../lib/llama_server.mjs';
import { declared, sharedGateway, shown } from '../lib/mcp.mjs';
import { TOOLS, startMcp } from '../lib/mcp_server.mjs';
import { fn } from '../lib/state.mjs';
import { HANG, chunk, frames, stream, textStream, usageChunk } from '../lib/upstream.mjs';

const captures = new Captures();
const LLAMA = ['--tool-choice-support', 'strings', '--schema-with-tools', 'after'];
const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };
const FORMAT = { format: { type: 'json_schema', name: 'place', schema: SCHEMA, strict: true } };

const ECHO = shown('one', 'echo');
const kinds = ({ output }) => output.map(({ type }) => type);
const message = ({ output }) => output.filter(({ type }) => type === 'message').map(({ content: [{ text }] }) => text);

describe('llama.cpp', { concurrency: false }, () => {
    const g = sharedGateway({ before, beforeEach, after }, captures,
        async () => ({ servers: { one: await startMcp(), two: await startMcp({ tools: { look: () => 'seen' } }) }, args: LLAMA }));
    const bodies = () => g.up.requests.map(({ body }) => body);
    const namesOf = ({ tools }) => tools.map((t) => t.function.name);
    const kept = [(r) => g.respond(r), async (r) => (await g.stream(r)).response];
    /* A choice of a custom tool is of no specification but ours. */
    const unkept = [async (r) => (await ask(g.daemon, { input: 'Hi', ...r })).json, async (r) => checkStream((await ask(g.daemon, { input: 'Hi', ...r, stream: true })).text).response];
    const both = async (request, check, ways = kept) => {
        for (const way of ways) {
            g.up.requests = [];
            g.options.servers.one.calls.length = 0;
            await check(await way(request));
        }
    };

    /* ---- one named tool */

    const code = { type: 'custom', name: 'patch', format: { type: 'text' } };
    const tools = [fn('weather'), fn('delete_all'), code, declared('one'), declared('two')];

    /* A model that would delete everything, whatever it is asked. */
    const bad = ({ messages, tools: [first], mustCall }) => messages.at(-1).role === 'tool' ? { text: 'Done.' }
        : { calls: [[mustCall ? first.function.name : 'delete_all', mustCall && first.function.name === ECHO ? { message: 'hi' } : {}, 'c1']] };

    for (const [what, tool_choice, name, type] of [
        ['function', { type: 'function', name: 'weather' }, 'weather', 'function_call'],
        ['custom tool', { type: 'custom', name: 'patch' }, 'patch', 'custom_tool_call'],
        ['tool of an MCP server', { type: 'mcp', server_label: 'one', name: 'echo' }, ECHO, 'mcp_call'],
        ['allowed tool', { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'weather' }] }, 'weather', 'function_call'],
    ])
        test(`a forced ${what} is the one that is called`, async () => {
            g.up.always(llamaServer(bad));
            await both({ tools, tool_choice }, (response) => {
                const [first, second] = bodies();
                assert.deepEqual([first.tool_choice, namesOf(first)], ['required', [name]]);
                assert.equal(kinds(response)[0], type);
                if (type === 'mcp_call')
                    assert.deepEqual([second.tool_choice, second.tools.length], ['auto', 4 + Object.keys(TOOLS).length]);
            }, tool_choice.type === 'custom' ? unkept : kept);
        });

    /* ---- whatever the server makes of the choice */

    const call = (name, args, id, index = 0) => chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: JSON.stringify(args) } }] });
    const calls = (...list) => stream(frames(...list.map(([name, args, id], i) => call(name, args, id, i)), chunk({}, 'tool_calls'), usageChunk(9, 9), '[DONE]'));

    for (const [what, tool_choice] of [
        ['function', { type: 'function', name: 'weather' }],
        ['tool of an MCP server', { type: 'mcp', server_label: 'two', name: 'look' }],
        ['server', { type: 'mcp', server_label: 'two' }],
    ])
        test(`a call to another tool than the forced ${what} is neither shown nor run`, async () => {
            g.up.always(calls([ECHO, { message: 'hi' }, 'c1'], ['delete_all', {}, 'c2'], ['made_up', {}, 'c3']));
            await both({ tools, tool_choice }, (response) => {
                assert.deepEqual([response.status, kinds(response), message(response)], ['completed', ['message'], ['']]);
                assert.equal(g.options.servers.one.calls.length, 0);
                assert.equal(g.up.requests.length, 1);
            });
        });

    test('beside the forced call others are left out, and later rounds are free', async () => {
        await both({ tools, tool_choice: { type: 'mcp', server_label: 'one', name: 'echo' } }, () => {});
        g.up.requests = [];
        g.up.next(calls(['delete_all', {}, 'c1'], [ECHO, { message: 'hi' }, 'c2']), calls(['delete_all', {}, 'c3']));
        const response = await g.respond({ tools, tool_choice: { type: 'mcp', server_label: 'one', name: 'echo' } });
        assert.deepEqual(response.output.map(({ type, name }) => [type, name]), [['mcp_call', 'echo'], ['function_call', 'delete_all']]);
        assert.deepEqual(g.messages.at(-2).tool_calls.map((one) => one.function.name), [ECHO]);
        await g.daemon.logged(/ rounds=2 dropped_calls=1 /);
    });

    /* ---- parallel_tool_calls: false */

    test('of several calls the first counts, and the server is not listened to any further', async () => {
        for (const way of unkept) {
            g.up.requests = [];
            g.up.next(stream([...frames(call('weather', { city: 'Oslo' }, 'c1', 0), call('weather', {}, 'c2', 1), call(ECHO, {}, 'c3', 2)), HANG]));
            const response = await way({ tools, parallel_tool_calls: false });
            assert.deepEqual(response.output.map(({ call_id, arguments: text }) => [call_id, text]), [['c1', '{"city":"Oslo"}']]);
            await g.up.requests[0].closed;
        }
    });

    test('a hosted call ends its round too, and the next one may call again', async () => {
        g.up.always(llamaServer(({ messages }) => ({ calls: messages.filter((m) => m.role === 'tool').length < 2 ? [[ECHO, { message: 'hi' }], [ECHO, { message: 'ho' }, 'x']] : [], text: 'Done.' })));
        await both({ tools: [declared('one')], parallel_tool_calls: false }, (response) => {
            assert.deepEqual(kinds(response).filter((type) => type === 'mcp_call').length, 2);
            assert.deepEqual(g.options.servers.one.calls.map(({ arguments: { message: text } }) => text), ['hi', 'hi']);
        });
    });

    test('calls whose pieces are mixed', async () => {
        const piece = (index, text, id) => chunk({ tool_calls: [{ index, ...(id && { id, type: 'function' }), function: { ...(id && { name: 'weather' }), arguments: text } }] });
        g.up.always(stream(frames(piece(0, '', 'c1'), piece(1, '', 'c2'), piece(0, '{"city"'), piece(1, '{"x":1}'), piece(0, ':1}'), chunk({}, 'tool_calls'), usageChunk(9, 9), '[DONE]')));
        await both({ tools, parallel_tool_calls: false }, (response) =>
            assert.deepEqual(response.output.map(({ call_id, arguments: text }) => [call_id, text]), [['c1', '{"city":1}']]));
    });

    /* ---- the form of the answer beside tools */

    /* Looks once, thinks aloud, and answers in prose, as models do that no grammar binds. */
    const agent = ({ messages }) => messages.some(({ role }) => role === 'tool')
        ? { reasoning: 'Now I know.', text: 'It is Oslo.' } : { text: 'Let me look.', calls: [[ECHO, { message: 'Oslo' }, 'c1']] };

    test('hosted tools are called first, then the answer has the form', async () => {
        g.up.always(llamaServer(agent));
        await both({ tools: [declared('one')], text: FORMAT }, (response) => {
            assert.equal(response.status, 'completed');
            assert.deepEqual(kinds(response).filter((type) => type !== 'mcp_list_tools'), ['mcp_call', 'reasoning', 'reasoning', 'message']);
            assert.deepEqual(message(response).map(JSON.parse), [{ city: 'It is Oslo.' }]);
            const [one, two, three] = bodies();
            assert.deepEqual([one, two, three].map((b) => [b.response_format?.type, b.tool_choice ?? 'auto']), [[undefined, 'auto'], [undefined, 'auto'], ['json_schema', 'none']]);
            assert.deepEqual([two.messages, two.tools], [three.messages, three.tools]);
            assert.equal(two.messages.at(-2).content, 'Let me look.');
            assert.equal(g.up.requests.length, 3);
        });
    });

    test('what was withheld is not told to the next response, what the tools said is', async () => {
        g.up.always(llamaServer(agent));
        const first = await g.respond({ tools: [declared('one')], text: FORMAT });
        const [, , before] = bodies();
        await g.respond({ previous_response_id: first.id, input: 'And?' });
        assert.deepEqual(g.messages.slice(0, before.messages.length), before.messages);
        assert.deepEqual(g.messages.slice(before.messages.length).map(({ role, content }) => [role, content]), [['assistant', '{"city":"It is Oslo."}'], ['user', 'And?']]);
    });

    test('the client\'s own tools end the response as always', async () => {
        g.up.always(llamaServer(({ messages }) => messages.at(-1).role === 'tool' ? { text: 'Sunny.' } : { text: 'I look.', calls: [['weather', {}, 'c1']] }));
        await both({ tools: [fn('weather')], text: FORMAT }, async (response) => {
            assert.deepEqual(kinds(response), ['function_call']);
            const output = { type: 'function_call_output', call_id: 'c1', output: '20' };
            const next = await g.respond({ tools: [fn('weather')], text: FORMAT, previous_response_id: response.id, input: [output] });
            assert.deepEqual(message(next), ['{"city":"Sunny."}']);
            assert.deepEqual(bodies().map((b) => b.response_format?.type), [undefined, undefined, 'json_schema']);
        });
    });

    test('json_object, with a schema so that it binds', async () => {
        g.up.always(llamaServer(() => ({ text: 'Hm.' })));
        await both({ tools: [fn('weather')], text: { format: { type: 'json_object' } } }, (response) => {
            assert.deepEqual(kinds(response), ['message']);
            assert.equal(g.up.requests.length, 2);
        });
    });

    for (const [what, request, formats] of [
        ['tool_choice none', { tools: [fn('weather')], tool_choice: 'none' }, ['json_schema']],
        ['no tools', {}, ['json_schema']],
        ['tool_choice required', { tools: [declared('one')], tool_choice: 'required' }, [undefined, undefined, 'json_schema']],
        ['a forced tool', { tools: [declared('one')], tool_choice: { type: 'mcp', server_label: 'one', name: 'echo' } }, [undefined, undefined, 'json_schema']],
        ['used up calls', { tools: [declared('one')], max_tool_calls: 1 }, [undefined, 'json_schema']],
    ])
        test(`the form with ${what}`, async () => {
            g.up.always(llamaServer(agent));
            await both({ ...request, text: FORMAT }, (response) => {
                assert.deepEqual(bodies().map((b) => b.response_format?.type), formats);
                assert.deepEqual(Object.keys(JSON.parse(message(response).at(-1))), ['city']);
            });
        });

    test('an answer that was cut off is all there is', async () => {
        for (const [finish, reason] of [['length', 'max_output_tokens'], ['content_filter', 'content_filter']]) {
            g.up.always(textStream('It is Os', { finish, reasoning: 'Hm' }));
            await both({ tools: [fn('weather')], text: FORMAT }, (response) => {
                assert.deepEqual([response.status, response.incomplete_details.reason], ['incomplete', reason]);
                assert.deepEqual(message(response), ['It is Os']);
                assert.equal(g.up.requests.length, 1);
            });
        }
    });

    test('no tokens are left for the form', async () => {
        g.up.always(textStream('It is Oslo.'));
        await both({ tools: [fn('weather')], text: FORMAT, max_output_tokens: 3 }, (response) => {
            assert.deepEqual([response.status, message(response)], ['incomplete', ['It is Oslo.']]);
            assert.equal(g.up.requests.length, 1);
        });
    });

    test('tokens of both answers are counted and limited together', async () => {
        g.up.always(llamaServer(() => ({ text: 'It is Oslo.' })));
        await both({ tools: [fn('weather')], text: FORMAT, max_output_tokens: 10 }, (response) => {
            assert.deepEqual(bodies().map((b) => b.max_tokens), [10, 7]);
            assert.equal(response.usage.output_tokens, 3 + 3);
        });
        await g.daemon.logged(/ rounds=2 answer_rounds=1 /);
    });

    test('a refusal is an answer', async () => {
        g.up.always(stream(frames(chunk({ refusal: 'No.' }), chunk({}, 'stop'), usageChunk(9, 1), '[DONE]')));
        await both({ tools: [fn('weather')], text: FORMAT }, (response) => {
            assert.deepEqual([response.output[0].content[0].type, g.up.requests.length], ['refusal', 1]);
        });
    });

    test('a call in the round for the form is dropped', async () => {
        g.up.next(textStream('Hm.'), calls(['weather', {}, 'c1']));
        const response = await g.respond({ tools: [fn('weather')], text: FORMAT });
        assert.deepEqual([response.status, kinds(response), message(response)], ['completed', ['message'], ['']]);
    });

    test('the round for the form fails', async () => {
        g.up.next(textStream('Hm.'), stream(frames(chunk({ content: '{"ci' }), { error: { code: 500, message: 'gone', type: 'server_error' } })));
        const { response } = await g.stream({ tools: [fn('weather')], text: FORMAT });
        assert.deepEqual([response.status, message(response)], ['failed', ['{"ci']]);
    });
});

captures.judge(test);
