/* mcp_history.test.mjs -- calls of MCP tools in what a later request continues,
 * and how many of them one response may have. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { gateway, declared, rawCall, sharedGateway, shown, withoutIds } from '../lib/mcp.mjs';
import { startMcp } from '../lib/mcp_server.mjs';
import { assistant, fn, output, reference, textOf, toolResult, user } from '../lib/state.mjs';
import { callStream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const FAKE = { tools: [declared('fake')] };
const echo = (message, id = 'c1') => [shown('fake', 'echo'), { message }, id];

const setup = (...args) => sharedGateway({ before, beforeEach, after }, captures,
    async () => ({ servers: { fake: await startMcp() }, args }));

const callsIn = (items) => items.filter(({ type }) => type === 'mcp_call');

describe('what a chain remembers of calls', { concurrency: false }, () => {
    const g = setup();
    const server = () => g.options.servers.fake;

    test('calls and results, as the model was shown them first', async () => {
        g.up.next(callStream(echo('a', 'c1'), echo('b', 'c2')), textStream('Done.'), textStream('Still there.'));
        const first = await g.respond(FAKE);
        const before = g.messages;
        const listings = server().of('tools/list').length;
        await g.respond({ ...FAKE, input: 'And now?', previous_response_id: first.id });
        assert.deepEqual(g.messages, [...before, assistant('Done.'), user('And now?')]);
        assert.deepEqual(before.map(({ role, content, tool_calls }) => tool_calls?.length ?? [role, content]),
            [['user', 'Hi'], 2, ['tool', 'Echo: a'], ['tool', 'Echo: b']]);
        assert.equal(server().of('tools/list').length, listings, 'the tools are not listed again');
        assert.equal(server().calls.length, 2, 'nothing is called again');
    });

    test('the same when the request brings the items itself', async () => {
        g.up.next(callStream(echo('a')), textStream('Done.'), textStream('Still there.'));
        const first = await g.respond({ ...FAKE, store: false });
        const before = g.messages;
        await g.respond({ ...FAKE, store: false, input: [user('Hi'), ...first.output, user('And now?')] });
        assert.deepEqual(g.messages, [...before, assistant('Done.'), user('And now?')]);
        assert.equal(server().calls.length, 1);
    });

    test('an item that comes back without its output is completed from the store', async () => {
        g.up.next(callStream(echo('a')), textStream('Done.'), textStream('Still there.'));
        const first = await g.respond(FAKE);
        const before = g.messages;
        const [{ output: _output, error: _error, ...bare }, message] = first.output;
        await g.respond({ ...FAKE, input: [user('Hi'), bare, message, user('And now?')] });
        assert.deepEqual(g.messages, [...before, assistant('Done.'), user('And now?')]);
    });

    test('an item that came back without its output is stored with it', async () => {
        g.up.next(callStream(echo('a')), textStream('Done.'));
        const { output: [call] } = await g.respond(FAKE);
        const { output: _output, error: _error, ...bare } = call;
        const conversation = (await g.make('conversations', {})).id;
        const input = [user('Hi'), bare, user('And now?')];
        for (const more of [{}, { conversation }]) {
            const { id } = await g.respond({ ...FAKE, ...more, input });
            const said = g.messages;
            assert.deepEqual((await g.list(`responses/${id}/input_items`))[1], call);
            await g.respond({ ...FAKE, previous_response_id: id, input: 'Bye' });
            assert.deepEqual(g.messages, [...said, assistant('Hello'), user('Bye')]);
        }
        assert.deepEqual((await g.list(`conversations/${conversation}/items`)).filter(({ type }) => type === 'mcp_call'), [call]);
        const made = await g.make('conversations', { items: [bare] });
        assert.deepEqual(await g.list(`conversations/${made.id}/items`), [call]);
        const { data } = await g.make(`conversations/${(await g.make('conversations', {})).id}/items`, { items: [bare] });
        assert.deepEqual(data, [call]);
    });

    test('an item without output that nobody knows is kept as it came', async () => {
        const bare = { type: 'mcp_call', id: 'mcp_of_another_service', server_label: 'fake', name: 'echo', arguments: '{}' };
        const { id } = await g.respond({ ...FAKE, input: [user('Hi'), bare, user('And now?')] });
        assert.deepEqual(g.messages[2], toolResult(bare.id, '[no output]'));
        const [, kept] = await g.list(`responses/${id}/input_items`);
        assert.deepEqual([kept.id, kept.output], [bare.id, null]);
    });

    test('an item_reference means the call and its result', async () => {
        g.up.next(callStream(echo('a')), textStream('Done.'), textStream('Still there.'));
        const first = await g.respond(FAKE);
        const before = g.messages;
        await g.respond({ ...FAKE, input: [user('Hi'), reference(first.output[0].id), user('And now?')] });
        assert.deepEqual(g.messages, [...before, user('And now?')]);
    });

    test('a conversation has them as items', async () => {
        const { id } = await g.make('conversations', {});
        g.up.next(callStream(echo('a')), textStream('Done.'), textStream('Still there.'));
        const first = await g.respond({ ...FAKE, conversation: id });
        const before = g.messages;
        await g.respond({ ...FAKE, conversation: id, input: 'And now?' });
        assert.deepEqual(g.messages, [...before, assistant('Done.'), user('And now?')]);
        const items = await g.list(`conversations/${id}/items?order=asc&limit=50`);
        assert.deepEqual(items.find(({ type }) => type === 'mcp_call'), first.output[0]);
    });

    test('the response can be fetched as it was sent', async () => {
        g.up.next(callStream(echo('a')), textStream('Done.'));
        const first = await g.respond(FAKE);
        assert.deepEqual(await g.read(`responses/${first.id}`), first);
    });

    test('calls that were never closed are left out', async () => {
        const open = { type: 'mcp_call', id: 'mcp_00000000000000000000000000000001', server_label: 'fake', name: 'echo', arguments: '{"mess', status: 'incomplete', output: null, error: null };
        await g.respond({ ...FAKE, input: [user('Hi'), open, user('And now?')] });
        assert.deepEqual(g.messages, [user('Hi'), user('And now?')]);
    });

    test('a failed call without declaration of its server is still told', async () => {
        const call = { type: 'mcp_call', id: 'mcp_00000000000000000000000000000002', server_label: 'gone', name: 'it', arguments: '{}', status: 'failed', output: null, error: 'Broken.' };
        await g.respond({ input: [user('Hi'), call, user('And now?')] });
        const [, asked, result] = g.messages;
        assert.equal(asked.tool_calls[0].function.name, 'it');
        assert.deepEqual(result, toolResult(asked.tool_calls[0].id, 'Error: Broken.'));
    });

    test('an error given as object is told as text', async () => {
        const call = { type: 'mcp_call', id: 'mcp_00000000000000000000000000000003', server_label: 'fake', name: 'echo', arguments: '{}', status: 'failed', output: null, error: { type: 'mcp_protocol_error', code: -32000, message: 'No way' } };
        await g.respond({ ...FAKE, input: [user('Hi'), call, user('And now?')] });
        assert.match(g.messages[2].content, /^Error: No way/);
    });
});

describe('limits', { concurrency: false }, () => {
    const g = setup('--max-tool-rounds', '3');
    const server = () => g.options.servers.fake;
    const lastRound = () => g.up.requests.at(-1).body;

    test('max_tool_calls: no further call, one more round without tools', async () => {
        g.up.next(callStream(echo('a')), textStream('Enough.'));
        const { items, response } = await g.stream({ ...FAKE, max_tool_calls: 1 });
        assert.deepEqual(items.map(({ type }) => type), ['mcp_call', 'message']);
        assert.equal(textOf(items[1]), 'Enough.');
        assert.deepEqual([response.status, response.max_tool_calls], ['completed', 1]);
        assert.equal(server().calls.length, 1);
        assert.equal(lastRound().tool_choice, 'none');
    });

    test('max_tool_calls: calls of one round beyond it are answered and get no item', async () => {
        g.up.next(callStream(echo('a', 'c1'), echo('b', 'c2'), echo('c', 'c3')), textStream('Enough.'));
        const { items } = await g.stream({ ...FAKE, max_tool_calls: 2 });
        assert.deepEqual(callsIn(items).map((call) => call.output), ['Echo: a', 'Echo: b']);
        const results = g.messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
        assert.deepEqual(results, ['Echo: a', 'Echo: b', 'Tool call limit reached.']);
    });

    test('max_tool_calls: a model that says nothing but calls leaves it incomplete', async () => {
        g.up.always(callStream(echo('a')));
        const { items, response } = await g.stream({ ...FAKE, max_tool_calls: 1 });
        assert.deepEqual(items.map(({ type }) => type), ['mcp_call']);
        assert.deepEqual([response.status, response.incomplete_details], ['incomplete', { reason: 'max_tool_calls' }]);
        assert.equal(server().calls.length, 1);
    });

    test('max_tool_calls does not count the calls of the client', async () => {
        g.up.next(callStream(echo('a'), ['weather', {}, 'w1']));
        const { items } = await g.stream({ tools: [...FAKE.tools, fn('weather')], max_tool_calls: 1 });
        assert.deepEqual(items.map(({ type }) => type), ['mcp_call', 'function_call']);
    });

    test('rounds: then one more without tools', async () => {
        g.up.always((request) => (request.body.tool_choice === 'none' ? textStream('Enough.') : callStream(echo('a'))));
        const { items, response } = await g.stream(FAKE);
        assert.deepEqual(items.map(({ type }) => type), ['mcp_call', 'mcp_call', 'mcp_call', 'message']);
        assert.equal(response.status, 'completed');
        assert.equal(g.up.requests.length, 4);
    });

    test('rounds: a model that goes on calling leaves it incomplete', async () => {
        g.up.always(callStream(echo('a')));
        const { response } = await g.stream(FAKE);
        assert.deepEqual([response.status, response.incomplete_details], ['incomplete', { reason: 'max_tool_calls' }]);
        assert.equal(server().calls.length, 3);
    });

    test('max_output_tokens holds for all rounds together', async () => {
        g.up.next(callStream(echo('a')), textStream('one two', { finish: 'length' }));
        const { response } = await g.stream({ ...FAKE, max_output_tokens: 20 });
        const [first, second] = g.up.requests.map(({ body }) => body.max_tokens);
        assert.deepEqual([first, second], [20, 15]);
        assert.deepEqual(response.incomplete_details, { reason: 'max_output_tokens' });
    });

    test('max_output_tokens used up by a call: no further round', async () => {
        g.up.next(callStream(echo('a')));
        const { items, response } = await g.stream({ ...FAKE, max_output_tokens: 5 });
        assert.deepEqual(items.map(({ type, status }) => [type, status]), [['mcp_call', 'completed']]);
        assert.deepEqual([response.status, response.incomplete_details], ['incomplete', { reason: 'max_output_tokens' }]);
        assert.equal(g.up.requests.length, 1);
    });
});

test('an upstream that fails in the second round fails the response, which keeps the call', async (t) => {
    const g = await gateway(t, { servers: { fake: await startMcp() }, captures });
    g.up.next(callStream(echo('a')), { status: 500, headers: { 'content-type': 'application/json' }, pieces: ['{"error":{"message":"broken"}}'] });
    const { items, response } = await g.stream(FAKE);
    assert.deepEqual(items.map(({ type, status }) => [type, status]), [['mcp_call', 'completed']]);
    assert.deepEqual([response.status, response.error.code], ['failed', 'server_error']);
});

test('streamed and whole, a mixed chain gives the same items', async (t) => {
    const g = await gateway(t, { servers: { fake: await startMcp() }, captures });
    const tools = [...FAKE.tools, fn('weather')];
    const outputs = [];
    for (const stream of [true, false]) {
        g.up.next(callStream(echo('a'), ['weather', {}, 'w1']), rawCall([shown('fake', 'add'), '{"a":1,"b":2}'], { text: 'Wait.' }), textStream('Done.'));
        const ask = async (more) => (stream ? (await g.stream({ tools, ...more })).response : g.respond({ tools, ...more }));
        const first = await ask({});
        const second = await ask({ input: [output('w1', 'cold')], previous_response_id: first.id });
        outputs.push(withoutIds([...first.output, ...second.output]));
    }
    assert.deepEqual(outputs[1], outputs[0]);
    assert.deepEqual(outputs[0].map(({ type }) => type), ['mcp_call', 'function_call', 'message', 'mcp_call', 'message']);
});

captures.judge(test);
