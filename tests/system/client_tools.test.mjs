/* client_tools.test.mjs -- shell, apply_patch and tool_search, which the client runs: they reach the
 * model as functions and come back as their items; what the client answers is read by the model. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkError, checkStream } from '../lib/check.mjs';
import { ask } from '../lib/client.mjs';
import { shared, startDaemon } from '../lib/daemon.mjs';
import { callStream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const user = (content) => ({ role: 'user', content });
const fn = (name, more = {}) => ({ type: 'function', name, description: `Does ${name}.`, parameters: { type: 'object', properties: {} }, ...more });
const namesOf = ({ body }) => (body.tools ?? []).map((tool) => tool.function.name);
const schemaOf = ({ body }, name) => body.tools.find((tool) => tool.function.name === name).function;

/* [tool, what the model writes, members of the item, the client's answer, what the model reads] */
const TOOLS = [
    [{ type: 'shell', environment: { type: 'local' } }, { commands: ['ls', 'pwd'], timeout_ms: 1000 },
        { type: 'shell_call', action: { commands: ['ls', 'pwd'], timeout_ms: 1000, max_output_length: null }, environment: { type: 'local' } },
        { type: 'shell_call_output', max_output_length: null, output: [{ stdout: 'a.c', stderr: '', outcome: { type: 'exit', exit_code: 0 } }] },
        '[{"stdout":"a.c","stderr":"","outcome":{"type":"exit","exit_code":0}}]'],
    [{ type: 'apply_patch' }, { type: 'update_file', path: 'a.c', diff: '@@\n-a\n+b\n' },
        { type: 'apply_patch_call', operation: { type: 'update_file', path: 'a.c', diff: '@@\n-a\n+b\n' } },
        { type: 'apply_patch_call_output', status: 'failed', output: 'no such place' },
        '{"status":"failed","output":"no such place"}'],
    [{ type: 'tool_search', execution: 'client', description: 'Finds tools.', parameters: { type: 'object', properties: { query: { type: 'string' } } } },
        { query: 'dates' }, { type: 'tool_search_call', execution: 'client', arguments: { query: 'dates' } },
        { type: 'tool_search_output', execution: 'client', status: 'completed', tools: [] }, 'No tools found.'],
];

describe('tools that the client runs', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });

    for (const [tool, args, members, output, read] of TOOLS) {
        const first = { input: [user('Go')], tools: [tool, fn('other')] };

        test(`${tool.type}: its call is an item of its own`, async () => {
            both.up.always(callStream([tool.type, args, 'up_1']));
            const streamed = await ask(both.daemon, { ...first, stream: true });
            const { items: [item], types } = checkStream(streamed.text);
            const { id, status, call_id, ...rest } = item;
            assert.deepEqual(rest, members);
            assert.deepEqual([status, call_id], ['completed', 'up_1']);
            assert.match(id, { shell_call: /^sh_/, apply_patch_call: /^apc_/, tool_search_call: /^tsc_/ }[item.type]);
            assert.deepEqual(types.filter((type) => type.startsWith('response.output_item')), ['response.output_item.added', 'response.output_item.done']);
            const plain = await ask(both.daemon, first);
            assert.deepEqual({ ...plain.json.output[0], id }, item);
            assert.deepEqual(namesOf(await both.up.request()), [tool.type, 'other']);
            if (item.type !== 'tool_search_call') {
                captures.keep(`${tool.type}.sse`, streamed.bytes);
                captures.keep(`${tool.type}.json`, plain.bytes);
            }
        });

        test(`${tool.type}: what the client answers goes back to the model, sent again or continued`, async () => {
            both.up.next(callStream([tool.type, args, 'up_1']));
            both.up.always(textStream('Done'));
            const { json } = await ask(both.daemon, first);
            const answer = { ...output, call_id: 'up_1' };
            await ask(both.daemon, { ...first, input: [...first.input, ...json.output, answer] });
            await ask(both.daemon, { input: [answer], previous_response_id: json.id });
            for (const i of [1, 2]) {
                const { body } = await both.up.request(i);
                assert.equal(body.messages[1].tool_calls[0].function.name, tool.type);
                assert.deepEqual(JSON.parse(body.messages[1].tool_calls[0].function.arguments), args);
                assert.deepEqual(body.messages[2], { role: 'tool', tool_call_id: 'up_1', content: read });
                assert.deepEqual(body.tools, (await both.up.request(0)).body.tools, 'tools are inherited');
            }
        });

        test(`${tool.type} can be chosen`, async () => {
            both.up.always(callStream([tool.type, args]));
            const got = await ask(both.daemon, { ...first, tool_choice: { type: tool.type } });
            assert.deepEqual(got.json.tool_choice, { type: tool.type });
            assert.equal((await both.up.request()).body.tool_choice.function.name, tool.type);
        });
    }

    test('a search says to the model what its client has written, or something of ours', async () => {
        await ask(both.daemon, { input: 'x', tools: [TOOLS[2][0]] });
        await ask(both.daemon, { input: 'x', tools: [{ type: 'tool_search', execution: 'client' }] });
        assert.equal(schemaOf(await both.up.request(0), 'tool_search').description, 'Finds tools.');
        assert.deepEqual(schemaOf(await both.up.request(1), 'tool_search').parameters.required, ['query']);
    });

    test('tools that a search has found can be called, also later in the chain', async () => {
        const found = {
            type: 'tool_search_output', execution: 'client', call_id: 'up_1', status: 'completed',
            tools: [{ type: 'namespace', name: 'cal', description: 'A calendar.', tools: [fn('add', { defer_loading: true })] }],
        };
        both.up.next(callStream(['tool_search', { query: 'dates' }, 'up_1']), callStream(['cal__add', {}, 'up_2']), textStream('Added'));
        const one = await ask(both.daemon, { input: 'Go', tools: [TOOLS[2][0], fn('other')] });
        const two = await ask(both.daemon, { input: [found], previous_response_id: one.json.id });
        const [call] = two.json.output;
        assert.deepEqual([call.type, call.namespace, call.name], ['function_call', 'cal', 'add']);
        assert.deepEqual(namesOf(await both.up.request(1)), ['tool_search', 'other', 'cal__add'], 'behind those that were there');
        assert.equal((await both.up.request(1)).body.messages.at(-1).content, 'Found, and can be called now:\ncal__add: Does add.');
        await ask(both.daemon, { input: [{ type: 'function_call_output', call_id: 'up_2', output: 'ok' }], previous_response_id: two.json.id });
        assert.deepEqual(namesOf(await both.up.request(2)), ['tool_search', 'other', 'cal__add']);
        const listed = await ask(both.daemon, undefined, { method: 'GET', path: `/v1/responses/${two.json.id}/input_items` });
        const [item] = listed.json.data;
        assert.match(item.id, /^tso_/);
        assert.deepEqual(item.tools, found.tools);
    });

    test('a container for a shell is not there, and is echoed all the same', async () => {
        const tools = [{ type: 'shell', environment: { type: 'container_auto' } }];
        const got = await ask(both.daemon, { input: 'x', tools });
        assert.deepEqual(got.json.tools, tools);
        assert.equal((await both.up.request()).body.tools, undefined);
        const error = checkError(await ask(both.daemon, { input: 'x', tools, tool_choice: { type: 'shell' } }), 400, 'invalid_value', 'tool_choice');
        assert.match(error.message, /environment of type 'local'/);
    });

    test('an update of the configuration holds for the rest of the chain', async () => {
        const update = { type: 'configuration_update', reasoning: { effort: 'low' }, text: { format: { type: 'json_object' } } };
        const one = await ask(both.daemon, { input: [user('a'), update] });
        const two = await ask(both.daemon, { input: 'b', previous_response_id: one.json.id });
        const three = await ask(both.daemon, { input: 'c', previous_response_id: two.json.id, reasoning: { effort: 'high' } });
        assert.deepEqual([one, two, three].map(({ json }) => json.reasoning.effort), ['low', 'low', 'high']);
        for (const [i, effort] of ['low', 'low', 'high'].entries()) {
            const { body } = await both.up.request(i);
            assert.equal(body.reasoning_effort, effort);
            assert.deepEqual(body.response_format, { type: 'json_object' });
            assert.ok(!JSON.stringify(body.messages).includes('configuration'));
        }
        captures.keep('configuration.json', two.bytes);
        const bad = { ...update, reasoning: { effort: 'huge' } };
        checkError(await ask(both.daemon, { input: [user('a'), bad] }), 400, 'invalid_value', 'input[1].reasoning.effort');
    });

    test('items that tell the model nothing are counted in the log', async () => {
        await ask(both.daemon, { input: [user('x'), { type: 'program', id: 'p' }, { type: 'file_search_call', id: 'fs_1' }] });
        await both.daemon.logged(/ turn .*ignored_items=2/);
    });
});

test('a gateway that leaves no tool out says why it cannot serve one', async (t) => {
    const daemon = await startDaemon({ upstream: 'http://127.0.0.1:1/v1', args: ['--model', 'm', '--unsupported-tools', 'reject'] });
    t.after(() => daemon.stop());
    const error = checkError(await ask(daemon, { input: 'x', tools: [fn('f', { allowed_callers: ['programmatic'] })] }), 400, 'unsupported_parameter', 'tools[0].type');
    assert.match(error.message, /only programs may call it/);
});

captures.judge(test);
