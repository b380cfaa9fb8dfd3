/* mcp_list.test.mjs -- which servers of a request are listed in the answer, and which are waited for
 * before the model is asked (MCP 11.3, 11.6; CONTRACT 1.5). */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import test, { describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { ask, open } from '../lib/client.mjs';
import { declared, flowOf, gateway, shown, withoutIds } from '../lib/mcp.mjs';
import { TOOLS, startMcp } from '../lib/mcp_server.mjs';
import { fn } from '../lib/state.mjs';
import { callStream, failure, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const said = (words) => ({ [words]: () => words });
const kinds = (response) => response.output.map(({ type }) => type);
const namesOf = (request) => (request.body.tools ?? []).map(({ function: { name } }) => name);

async function started(t, servers, ...args) {
    const made = {};
    for (const [label, tools] of Object.entries(servers))
        made[label] = await startMcp({ tools });
    return gateway(t, { servers: made, args, lists: 'declared', captures });
}

/* A gateway without servers of its own, and one that requests bring. */
async function withRemote(t, ...args) {
    const far = await startMcp();
    t.after(() => far.close());
    const g = await gateway(t, { args: ['--mcp-remote', 'any', ...args], lists: 'declared', captures });
    return { g, far, tools: [declared('far', { server_url: far.url, require_approval: 'never' })] };
}

describe('a configured server that is declared', () => {
    test('is listed first, with the events of a listing, and then used', async (t) => {
        const g = await started(t, { fake: TOOLS });
        g.up.next(callStream([shown('fake', 'echo'), { message: 'hi' }, 'c1']), textStream('Done.'));
        const { events, items } = await g.stream({ tools: [declared('fake')] });
        assert.deepEqual(flowOf(events).slice(0, 8), ['created', 'in_progress',
            'output_item.added mcp_list_tools', 'mcp_list_tools.in_progress', 'mcp_list_tools.completed', 'output_item.done mcp_list_tools',
            'output_item.added mcp_call', 'mcp_call.in_progress']);
        const [list, call, message] = items;
        assert.deepEqual([list.server_label, list.tools.map(({ name }) => name), 'error' in list], ['fake', Object.keys(TOOLS), false]);
        assert.deepEqual([call.output, message.content[0].text], ['Echo: hi', 'Done.']);
        assert.deepEqual(events.find(({ type }) => type === 'response.output_item.added').item, { ...list, tools: [] });
    });

    test('is in the object as it is in the stream', async (t) => {
        const g = await started(t, { fake: TOOLS });
        const { items } = await g.stream({ tools: [declared('fake')] });
        const whole = await g.respond({ tools: [declared('fake')], store: false });
        assert.deepEqual(withoutIds(whole.output), withoutIds(items));
    });

    test('each of several, in the order of the file', async (t) => {
        const g = await started(t, { one: said('a'), two: said('b') });
        const { output } = await g.respond({ tools: [declared('two'), declared('one')] });
        assert.deepEqual(output.map(({ server_label }) => server_label), ['one', 'two', undefined]);
    });

    test('is not listed again in a chain, nor when the request brings the item; another one is', async (t) => {
        const g = await started(t, { one: TOOLS, two: said('b') });
        const first = await g.respond({ tools: [declared('one')] });
        const second = await g.respond({ tools: [declared('one')], previous_response_id: first.id });
        const third = await g.respond({ tools: [declared('one'), declared('two')], store: false, input: [...first.output, { role: 'user', content: 'More' }] });
        assert.deepEqual([first, second, third].map(kinds), [['mcp_list_tools', 'message'], ['message'], ['mcp_list_tools', 'message']]);
        assert.equal(third.output[0].server_label, 'two');
        assert.deepEqual(g.messages.map(({ role }) => role), ['assistant', 'user'], 'the item adds no text');
    });

    test('with a listing of any size, before a large request is repeated in the first events', async (t) => {
        const g = await started(t, { big: Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`tool_${i}`, { description: 'x'.repeat(2000), call: () => 'x' }])) });
        const { items } = await g.stream({ tools: [declared('big')], instructions: 'y'.repeat(400_000) });
        assert.equal(items[0].tools.length, 200);
    });

    test('begins no stream by that: a refusal of the upstream is still one of HTTP', async (t) => {
        const g = await started(t, { fake: TOOLS });
        g.up.next(failure(429, 'Slow down'));
        await g.refused('POST', 'responses', { model: 'm', input: 'Hi', tools: [declared('fake')], stream: true }, [429]);
    });

    test('comes before a call that was approved, when the context has no listing', async (t) => {
        const g = await started(t, { fake: TOOLS });
        const tools = [declared('fake', { require_approval: 'always' })];
        g.up.next(callStream([shown('fake', 'echo'), { message: 'hi' }, 'c1']));
        const { output: [, asked] } = await g.respond({ tools });
        assert.equal(asked.type, 'mcp_approval_request');
        const { events, items } = await g.stream({ tools, store: false, input: [asked, { type: 'mcp_approval_response', approval_request_id: asked.id, approve: true }] });
        assert.deepEqual(items.map(({ type }) => type), ['mcp_list_tools', 'mcp_call', 'message']);
        assert.equal(events[0].type, 'response.created');
    });

    test('but not when its tools only join every request', async (t) => {
        const g = await started(t, { fake: TOOLS }, '--mcp-inject', 'always');
        assert.deepEqual(kinds(await g.respond({})), ['message']);
    });
});

describe('allowed_tools', () => {
    for (const none of [[], { tool_names: [] }])
        test(`${JSON.stringify(none)} means no tools, and is no error`, async (t) => {
            const g = await started(t, { fake: TOOLS });
            const response = await g.respond({ tools: [declared('fake', { allowed_tools: none }), fn('mine')] });
            assert.deepEqual(response.output[0].tools, []);
            assert.deepEqual(namesOf(g.up.requests[0]), ['mine']);
            await g.respond({ tools: [declared('fake', { allowed_tools: none })] });
            assert.deepEqual(namesOf(g.up.requests[1]), []);
        });

    test('narrows the listing; names that the server does not have are still refused', async (t) => {
        const g = await started(t, { fake: TOOLS });
        const response = await g.respond({ tools: [declared('fake', { allowed_tools: ['echo', 'other'] })] });
        assert.deepEqual(response.output[0].tools.map(({ name }) => name), ['echo']);
        await g.turnedAway({ tools: [declared('fake', { allowed_tools: ['other'] })] }, [400]);
    });
});

describe('mcp_list_items', () => {
    test('remote: servers that have a URL, and no others', async (t) => {
        const { g, tools } = await withRemote(t, '--mcp-list-items', 'remote');
        assert.deepEqual(kinds(await g.respond({ tools })), ['mcp_list_tools', 'message']);
        const here = await started(t, { fake: TOOLS }, '--mcp-list-items', 'remote');
        assert.deepEqual(kinds(await here.respond({ tools: [declared('fake')] })), ['message']);
        assert.deepEqual(namesOf(here.up.requests[0]).length, Object.keys(TOOLS).length);
    });

    test('never: the tools are there, the item is not', async (t) => {
        const { g, tools } = await withRemote(t, '--mcp-list-items', 'never');
        g.up.next(callStream([shown('far', 'echo'), { message: 'hi' }, 'c1']), textStream('Done.'));
        const { items } = await g.stream({ tools });
        assert.deepEqual(items.map(({ type }) => type), ['mcp_call', 'message']);
    });

    test('never: a server that cannot be listed is an error of HTTP, also of a stream', async (t) => {
        const { g, far, tools } = await withRemote(t, '--mcp-list-items', 'never');
        await far.close();
        for (const stream of [false, true])
            await g.turnedAway({ tools, stream }, [424, 'mcp_list_tools_failed']);
    });
});

describe('servers that join every request, while they start', () => {
    /* A gateway whose one server has been asked for its tools, and answers when it is let. */
    async function starting(t, ...args) {
        const slow = await startMcp({ tools: said('one') });
        let answer;
        const answered = new Promise((done) => (answer = done));
        slow.on('tools/list', () => answered.then(() => undefined));
        t.after(answer);
        const g = await gateway(t, { servers: { slow }, wait: false, args: ['--mcp-inject', 'always', ...args], lists: 'declared', captures });
        return { g, slow, answer };
    }

    const FRONTS = {
        responses: { model: 'm', input: 'Hi', stream: true },
        'chat/completions': { model: 'm', messages: [{ role: 'user', content: 'Hi' }], stream: true },
    };

    for (const [path, body] of Object.entries(FRONTS)) {
        test(`${path}: the first request waits for them`, async (t) => {
            const { g, slow, answer } = await starting(t);
            const asked = open(g.daemon, body, { path: `/v1/${path}` });
            await slow.until(() => slow.of('tools/list').length > 0);
            assert.equal(g.up.requests.length, 0);
            answer();
            const { status, text } = await asked.done;
            assert.equal(status, 200, text);
            assert.deepEqual(namesOf(g.up.requests[0]), [shown('slow', 'one')]);
        });

        test(`${path}: no longer than mcp_inject_wait`, async (t) => {
            for (const limit of ['0', '1ms']) {
                const { g } = await starting(t, '--mcp-inject-wait', limit);
                const { status, text } = await ask(g.daemon, body, { path: `/v1/${path}` });
                assert.equal(status, 200, text);
                assert.deepEqual(namesOf(g.up.requests[0]), []);
            }
        });

        test(`${path}: not for one that has failed`, async (t) => {
            const g = await gateway(t, { servers: { away: { url: 'http://127.0.0.1:1/mcp' } }, wait: false, args: ['--mcp-inject', 'always', '--mcp-inject-wait', '1h'], captures });
            const { status, text } = await ask(g.daemon, body, { path: `/v1/${path}` });
            assert.equal(status, 200, text);
        });
    }

    test('a client that leaves meanwhile leaves nothing behind', async (t) => {
        for (const [path, body] of Object.entries(FRONTS)) {
            const { g, answer } = await starting(t);
            const asked = open(g.daemon, body, { path: `/v1/${path}` });
            await once(asked.request, 'finish');
            asked.destroy();
            await g.daemon.logged(/client_gone/);
            answer();
            assert.equal(g.up.requests.length, 0);
        }
    });
});

captures.judge(test);
