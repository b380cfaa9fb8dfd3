/* mcp_approval.test.mjs -- calls that the user has to allow (MCP 15): asked for,
 * given, refused, and neither forgotten nor run twice. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { folder } from '../lib/folder.mjs';
import { declared, flowOf, gateway, sharedGateway, shown } from '../lib/mcp.mjs';
import { TOOLS, startMcp } from '../lib/mcp_server.mjs';
import { assistant, fn, output, strange, user } from '../lib/state.mjs';
import { callStream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const echo = (message, id = 'c1') => [shown('fake', 'echo'), { message }, id];
const asking = (more = {}) => ({ tools: [declared('fake', { require_approval: 'always', ...more })] });
const verdict = (request, approve, more = {}) => ({ type: 'mcp_approval_response', approval_request_id: request.id ?? request, approve, ...more });
const DECLINED = 'The tool call was not approved.';

describe('approval', { concurrency: false }, () => {
    const g = sharedGateway({ before, beforeEach, after }, captures, async () => ({ servers: { fake: await startMcp() } }));
    const server = () => g.options.servers.fake;

    /* A response that asks, and the request in it. */
    async function asked(more = {}, { message = 'hi', ...rest } = {}) {
        g.up.next(callStream(echo(message)));
        const response = await g.respond({ ...asking(), ...more, ...rest });
        const request = response.output.find(({ type }) => type === 'mcp_approval_request');
        return { response, request };
    }

    test('is asked for by an item alone; nothing is called, and the response is complete', async () => {
        g.up.next(callStream(echo('hi')));
        const { events, items, response } = await g.stream(asking());
        assert.deepEqual(flowOf(events), ['created', 'in_progress', 'output_item.added mcp_approval_request', 'output_item.done mcp_approval_request', 'completed']);
        assert.deepEqual(items, [{ id: items[0].id, type: 'mcp_approval_request', server_label: 'fake', name: 'echo', arguments: '{"message":"hi"}' }]);
        assert.match(items[0].id, /^mcpr_/);
        const added = events.find(({ type }) => type === 'response.output_item.added');
        assert.deepEqual(added.item, items[0], 'whole from the start');
        assert.equal(response.status, 'completed');
        assert.deepEqual([server().calls.length, g.up.requests.length], [0, 1]);
    });

    test('given: the call comes first, names its request, and the model goes on', async () => {
        const { response: first, request } = await asked();
        g.up.next(textStream('It said hi.'));
        const { events, items } = await g.stream({ ...asking(), input: [verdict(request, true)], previous_response_id: first.id });
        assert.deepEqual(flowOf(events).slice(0, 6), [
            'created', 'in_progress', 'output_item.added mcp_call', 'mcp_call.in_progress', 'mcp_call.completed', 'output_item.done mcp_call']);
        assert.deepEqual(items[0], {
            id: items[0].id, type: 'mcp_call', status: 'completed', server_label: 'fake', name: 'echo',
            arguments: '{"message":"hi"}', output: 'Echo: hi', error: null, approval_request_id: request.id,
        });
        const added = events.find(({ type }) => type === 'response.output_item.added');
        assert.deepEqual(added.item, { ...items[0], status: 'in_progress', output: null });
        const [, call, result] = g.messages;
        assert.deepEqual([g.messages[0], call.tool_calls[0].function, result.tool_call_id, result.content],
            [user('Hi'), { name: shown('fake', 'echo'), arguments: '{"message":"hi"}' }, call.tool_calls[0].id, 'Echo: hi']);
        assert.equal(server().calls.length, 1);
    });

    test('given for a call that fails: the item says so, and the model is told', async () => {
        g.up.next(callStream([shown('fake', 'fail'), {}, 'c1']));
        const first = await g.respond(asking());
        g.up.next(textStream('It failed.'));
        const { events, items } = await g.stream({ ...asking(), input: [verdict(first.output[0], true)], previous_response_id: first.id });
        assert.deepEqual(flowOf(events).slice(3, 6), ['mcp_call.in_progress', 'mcp_call.failed', 'output_item.done mcp_call']);
        assert.deepEqual([items[0].status, items[0].error, items[0].approval_request_id], ['failed', 'It did not work.', first.output[0].id]);
        assert.equal(g.messages[2].content, 'Error: It did not work.');
    });

    for (const [what, reason, told] of [['', undefined, DECLINED], [' with a reason', 'Too dear.', new RegExp(`^${DECLINED}.*Too dear\\.`, 's')]]) {
        test(`refused${what}: no item, nothing is sent to the server, and the model is told`, async () => {
            const { response: first, request } = await asked();
            const before = server().received.length;
            g.up.next(textStream('Then not.'));
            const { items } = await g.stream({ ...asking(), input: [verdict(request, false, { reason })], previous_response_id: first.id });
            assert.deepEqual(items.map(({ type }) => type), ['message']);
            assert.equal(server().received.length, before);
            const [, call, { content, tool_call_id }] = g.messages;
            assert.deepEqual([call.tool_calls[0].function.name, call.tool_calls[0].id], [shown('fake', 'echo'), tool_call_id]);
            assert.ok(told instanceof RegExp ? told.test(content) : told === content, content);
        });
    }

    test('a chain remembers what was allowed and what was not', async () => {
        for (const approve of [true, false]) {
            const { response: first, request } = await asked();
            g.up.next(textStream('Well.'), textStream('Bye.'));
            const second = await g.respond({ ...asking(), input: [verdict(request, approve)], previous_response_id: first.id });
            const before = g.messages;
            await g.respond({ ...asking(), input: 'Thanks', previous_response_id: second.id });
            assert.deepEqual(g.messages, [...before, assistant('Well.'), user('Thanks')]);
        }
        assert.equal(server().calls.length, 1);
    });

    test('works without the store, when the request brings its items', async () => {
        const { response: first, request } = await asked({ store: false });
        g.up.next(textStream('It said hi.'), textStream('Bye.'));
        const input = [user('Hi'), ...first.output, verdict(request, true)];
        const second = await g.respond({ ...asking(), store: false, input });
        assert.equal(second.output[0].approval_request_id, request.id);
        const before = g.messages;
        await g.respond({ ...asking(), store: false, input: [...input, ...second.output, user('Thanks')] });
        assert.deepEqual(g.messages, [...before, assistant('It said hi.'), user('Thanks')]);
        assert.equal(server().calls.length, 1, 'an answered request is not run again');
    });

    test('is not asked again for an answer that is in the chain already', async () => {
        const { response: first, request } = await asked();
        g.up.next(textStream('Well.'));
        const second = await g.respond({ ...asking(), input: [verdict(request, true)], previous_response_id: first.id });
        const again = { ...asking(), input: [verdict(request, true)], previous_response_id: second.id };
        const got = await g.post('responses', { model: 'm', ...again });
        assert.ok([200, 400].includes(got.status), got.text);
        assert.equal(server().calls.length, 1, 'never called twice');
    });

    test('other calls of the round are run before the response ends', async () => {
        g.up.next(callStream(echo('hi', 'c1'), [shown('fake', 'add'), { a: 1, b: 2 }, 'c2']));
        const tools = [declared('fake', { require_approval: { always: { tool_names: ['echo'] }, never: { tool_names: ['add'] } } })];
        const first = await g.respond({ tools });
        assert.deepEqual(first.output.map(({ type, name }) => [type, name]), [['mcp_approval_request', 'echo'], ['mcp_call', 'add']]);
        assert.equal(g.up.requests.length, 1);
        g.up.next(textStream('Done.'));
        await g.respond({ tools, input: [verdict(first.output[0], true)], previous_response_id: first.id });
        const results = g.messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
        assert.deepEqual(results.sort(), ['3', 'Echo: hi']);
        const ids = g.messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id));
        assert.deepEqual([...new Set(ids)].length, 2, 'each call is shown once');
    });

    test('a call of the client\'s in the same round stays the client\'s', async () => {
        g.up.next(callStream(echo('hi', 'c1'), ['weather', {}, 'w1']));
        const tools = [...asking().tools, fn('weather')];
        const first = await g.respond({ tools });
        assert.deepEqual(first.output.map(({ type }) => type), ['mcp_approval_request', 'function_call']);
        g.up.next(textStream('Done.'));
        await g.respond({ tools, input: [verdict(first.output[0], true), output('w1', 'cold')], previous_response_id: first.id });
        assert.deepEqual(g.messages.filter(({ role }) => role === 'tool').map(({ content }) => content).sort(), ['Echo: hi', 'cold']);
    });

    test('two requests, one allowed and one refused', async () => {
        g.up.next(callStream(echo('a', 'c1'), echo('b', 'c2')));
        const first = await g.respond(asking());
        const [one, two] = first.output;
        g.up.next(textStream('Done.'));
        const second = await g.respond({ ...asking(), input: [verdict(one, true), verdict(two, false)], previous_response_id: first.id });
        assert.deepEqual(second.output.map(({ type }) => type), ['mcp_call', 'message']);
        const calls = g.messages.flatMap(({ tool_calls }) => tool_calls ?? []);
        const told = g.messages.filter(({ role }) => role === 'tool')
            .map(({ tool_call_id, content }) => [calls.find(({ id }) => id === tool_call_id).function.arguments, content]);
        assert.deepEqual(told.sort(), [['{"message":"a"}', 'Echo: a'], ['{"message":"b"}', DECLINED]]);
    });

    /* [what, the tool's require_approval, is it asked] for echo, which only reads, and add */
    for (const [what, require_approval, echoAsked, addAsked] of [
        ['absent', undefined, false, false],
        ['never', 'never', false, false],
        ['always', 'always', true, true],
        ['never for a name', { never: { tool_names: ['add'] } }, true, false],
        ['always for a name', { always: { tool_names: ['add'] } }, true, true],
        ['both for one name', { always: { tool_names: ['add'] }, never: { tool_names: ['add'] } }, true, true],
        ['never for what only reads', { never: { read_only: true } }, false, true],
    ]) {
        test(`require_approval ${what}`, async () => {
            g.up.next(callStream(echo('hi', 'c1'), [shown('fake', 'add'), { a: 1, b: 2 }, 'c2']));
            const { output: items } = await g.respond({ tools: [declared('fake', { require_approval })] });
            const types = items.filter(({ name }) => name).map(({ type }) => type === 'mcp_approval_request');
            assert.deepEqual(types, [echoAsked, addAsked]);
        });
    }

    /* [what, input made of the request, param of the error] */
    for (const [what, inputFor] of [
        ['for an unknown request', ({ id }) => [verdict(strange(id), true)]],
        ['twice in one request', (request) => [verdict(request, true), verdict(request, true)]],
        ['twice, and they differ', (request) => [verdict(request, true), verdict(request, false)]],
        ['beside the item again, which the chain has', (request) => [request, verdict(request, true)]],
        ['beside the item with other arguments', (request) => [{ ...request, arguments: '{"message":"rm"}' }, verdict(request, true)]],
    ]) {
        test(`an answer ${what} is turned away`, async () => {
            const { response: first, request } = await asked();
            const got = await g.refused('POST', 'responses', { model: 'm', ...asking(), input: inputFor(request), previous_response_id: first.id }, [400]);
            assert.match(got.param ?? '', /^input/, JSON.stringify(got));
            assert.equal(server().calls.length, 0);
        });
    }

    test('an answer whose server is no longer declared is turned away', async () => {
        const { response: first, request } = await asked();
        await g.refused('POST', 'responses', { model: 'm', tools: [fn('weather')], input: [verdict(request, true)], previous_response_id: first.id }, [400]);
        assert.equal(server().calls.length, 0);
    });

    test('an answer whose tool is no longer allowed is turned away or told as such, never run', async () => {
        const { response: first, request } = await asked();
        await g.post('responses', { model: 'm', ...asking({ allowed_tools: ['add'] }), input: [verdict(request, true)], previous_response_id: first.id });
        assert.equal(server().calls.length, 0);
    });

    test('items that no gateway made are asked for as they say', async () => {
        const request = { type: 'mcp_approval_request', id: 'mcpr_00000000000000000000000000000009', server_label: 'fake', name: 'echo', arguments: '{"message":"mine"}' };
        g.up.next(textStream('Done.'));
        const second = await g.respond({ ...asking(), store: false, input: [user('Hi'), request, verdict(request, true)] });
        assert.deepEqual([second.output[0].output, second.output[0].approval_request_id], ['Echo: mine', request.id]);
    });
});

test('a floor in the configuration cannot be lowered by a request', async (t) => {
    const fake = await startMcp();
    fake.entry.requireApproval = 'always';
    const g = await gateway(t, { servers: { fake }, captures });
    for (const require_approval of ['never', undefined, { never: { tool_names: ['echo'] } }]) {
        g.up.next(callStream(echo('hi')));
        const { output: [item] } = await g.respond({ tools: [declared('fake', { require_approval })] });
        assert.equal(item.type, 'mcp_approval_request');
    }
    assert.equal(fake.calls.length, 0);
});

test('a floor by names: the request decides about the others', async (t) => {
    const fake = await startMcp();
    fake.entry.requireApproval = { never: { tool_names: ['add'] } };
    const g = await gateway(t, { servers: { fake }, captures });
    for (const [require_approval, types] of [
        ['never', ['mcp_approval_request', 'mcp_call']],
        ['always', ['mcp_approval_request', 'mcp_approval_request']],
    ]) {
        g.up.next(callStream(echo('hi', 'c1'), [shown('fake', 'add'), { a: 1, b: 2 }, 'c2']));
        const { output: items } = await g.respond({ tools: [declared('fake', { require_approval })] });
        assert.deepEqual(items.filter(({ name }) => name).map(({ type }) => type), types);
    }
});

test('an approval outlives the gateway: the call runs exactly once', async (t) => {
    const fake = await startMcp({ tools: TOOLS });
    const store = `sqlite:${folder(t, 'store.db')}`;
    const before = await gateway(t, { servers: { fake }, args: ['--store', store], captures });
    before.up.next(callStream(echo('hi')));
    const first = await before.respond(asking());
    await before.close();

    const g = await gateway(t, { servers: { fake }, up: before.up, args: ['--store', store], captures });
    g.up.next(textStream('It said hi.'));
    const second = await g.respond({ ...asking(), input: [verdict(first.output[0], true)], previous_response_id: first.id });
    assert.deepEqual([second.output[0].output, second.output[0].approval_request_id], ['Echo: hi', first.output[0].id]);
    assert.equal(fake.calls.length, 1);
    assert.deepEqual(g.messages.map(({ role }) => role), ['user', 'assistant', 'tool']);
});

captures.judge(test);
