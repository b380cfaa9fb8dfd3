/* own_history.test.mjs -- what came of code and of searches, in what a later request continues or
 * brings: the model sees what it was told, the client no more than its items say. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import test, { describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { successors } from '../lib/daemon.mjs';
import { gateway } from '../lib/mcp.mjs';
import { CODE, noSandbox } from '../lib/sandbox.mjs';
import { Api, assistant, fn, messagesOf, reference, user } from '../lib/state.mjs';
import { callStream, startUpstream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();

/* A SearXNG instance that always finds the same page. */
async function startSearch(t) {
    const results = [{ url: 'https://example.com/a', title: 'A', content: 'About a.' }];
    const server = createServer((request, response) => {
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ query: 'a', results }));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    return ['--search-provider', 'searxng', '--search-url', `http://127.0.0.1:${server.address().port}`];
}

/* [what, reason to skip, flags, tool, call, what the model is told] */
const WAYS = [
    ['code', noSandbox, async () => ['--code-interpreter', 'require'], CODE,
        ['code_interpreter', { code: 'print(6 * 7)' }], /^42\n$/],
    ['a search', false, startSearch, { type: 'web_search' },
        ['web_search', { action: 'search', query: 'a' }], /About a\./],
];

for (const [what, skip, flags, tool, call, told] of WAYS) {
    describe(`what came of ${what}`, { concurrency: false, skip }, () => {
        const TOOLS = { tools: [tool] };

        /* A gateway, a first response with a call, and what the model had seen by its end. */
        async function begin(t, more = {}) {
            const g = await gateway(t, { captures, args: await flags(t) });
            return { g, ...await ask(g, more) };
        }

        async function ask(g, more) {
            g.up.next(callStream([...call, 'c1']), textStream('Done.'), textStream('And so on.'));
            const first = await g.respond({ ...TOOLS, ...more });
            const before = messagesOf(g.up);
            assert.match(before.at(-1).content, told);
            return { first, item: first.output[0], before };
        }

        test('is seen in the next response, and the one after', async (t) => {
            const { g, first, before } = await begin(t);
            const second = await g.respond({ ...TOOLS, previous_response_id: first.id, input: 'B' });
            assert.deepEqual(g.messages, [...before, assistant('Done.'), user('B')]);
            await g.respond({ previous_response_id: second.id, input: 'C' });
            assert.deepEqual(g.messages, [...before, assistant('Done.'), user('B'), assistant('And so on.'), user('C')]);
        });

        test('is seen in a conversation until its item is deleted', async (t) => {
            const g = await gateway(t, { captures, args: await flags(t) });
            const conversation = (await g.make('conversations', {})).id;
            const { first, item, before } = await ask(g, { conversation });
            await g.respond({ ...TOOLS, conversation, input: [item, user('B')] });
            assert.deepEqual(g.messages, [...before, assistant('Done.'), user('B')], 'it is there once');
            const items = await g.list(`conversations/${conversation}/items?order=asc`);
            assert.deepEqual(items.slice(1, 3), first.output);
            assert.equal(items.length, 5);
            for (const method of ['GET', 'DELETE'])
                await g.refused(method, `conversations/${conversation}/items/${item.id}_result`, undefined, [404, 'not_found', null]);
            await g.remove(`conversations/${conversation}/items/${item.id}`);
            await g.respond({ ...TOOLS, conversation, input: 'C' });
            assert.deepEqual(g.messages, [user('Hi'), assistant('Done.'), user('B'), assistant('And so on.'), user('C')]);
        });

        test('is shown by nothing but the item', async (t) => {
            const { g, first, item } = await begin(t);
            assert.deepEqual(first.output.map(({ type }) => type), [item.type, 'message']);
            assert.deepEqual(await g.read(`responses/${first.id}`), first);
            const { id } = await g.respond({ ...TOOLS, input: [user('Hi'), item, user('B')] });
            assert.deepEqual((await g.list(`responses/${id}/input_items?order=asc`)).map(({ type }) => type), ['message', item.type, 'message']);
            await g.turnedAway({ input: [reference(`${item.id}_result`)] }, [404, 'not_found', 'input']);
            const forged = { type: 'hosted_call_result', call_id: item.id, name: call[0], arguments: '{}', output: 'Forged.' };
            await g.turnedAway({ input: [forged] }, [400, 'invalid_value', 'input[0].type']);
        });

        for (const [how, again] of [['comes back', (item) => item], ['is referred to', ({ id }) => reference(id)]]) {
            test(`is known when the item ${how}, and turns later`, async (t) => {
                const { g, first, item, before } = await begin(t);
                const second = await g.respond({ ...TOOLS, input: [user('Hi'), again(item), user('B')] });
                assert.deepEqual(g.messages, [...before, user('B')]);
                assert.deepEqual((await g.list(`responses/${second.id}/input_items?order=asc`))[1], item);
                await g.remove(`responses/${first.id}`);
                const third = await g.respond({ ...TOOLS, previous_response_id: second.id, input: 'C' });
                assert.deepEqual(g.messages.slice(0, before.length + 1), [...before, user('B')]);
                await g.respond({ ...TOOLS, input: [user('Hi'), again(item), user('D')] });
                assert.deepEqual(g.messages, [...before, user('D')], 'found with what refers to it');
                await g.respond({ ...TOOLS, previous_response_id: third.id, input: 'E' });
                assert.deepEqual(g.messages.slice(0, before.length + 1), [...before, user('B')]);
            });

            test(`is known in a conversation to which the item ${how}`, async (t) => {
                const { g, item, before } = await begin(t);
                const conversation = (await g.make('conversations', { items: [user('Hi'), again(item)] })).id;
                assert.deepEqual((await g.list(`conversations/${conversation}/items?order=asc`))[1], item);
                await g.respond({ ...TOOLS, conversation, input: 'B' });
                assert.deepEqual(g.messages, [...before, user('B')]);
                const other = (await g.make('conversations', {})).id;
                assert.deepEqual((await g.make(`conversations/${other}/items`, { items: [again(item)] })).data, [item]);
                await g.respond({ ...TOOLS, conversation: other, input: 'B' });
                assert.deepEqual(g.messages, [...before.slice(1), user('B')]);
            });
        }

        test('is told under the name that the tool has now', async (t) => {
            const { g, first, before } = await begin(t);
            await g.respond({ tools: [fn(call[0]), tool], previous_response_id: first.id, input: 'B' });
            const names = g.up.requests.at(-1).body.tools.map(({ function: { name } }) => name);
            const [named] = g.messages[1].tool_calls;
            assert.notEqual(named.function.name, call[0]);
            assert.ok(names.includes(named.function.name), `${named.function.name} is one of ${names}`);
            assert.deepEqual(g.messages[2], before[2]);
        });

        test('is nobody else\'s', async (t) => {
            const g = await gateway(t, { args: ['--api-key', 'key-of-a,key-of-b', ...await flags(t)], wait: false });
            const [a, b] = ['key-of-a', 'key-of-b'].map((key) => new Api(g, captures, key));
            g.up.next(callStream([...call, 'c1']), textStream('Done.'));
            const { output: [item] } = await a.respond(TOOLS);
            await b.respond({ ...TOOLS, input: [user('Hi'), item, user('B')] });
            assert.ok(!messagesOf(g.up).some(({ role, content }) => role === 'tool' && told.test(content)));
            await a.respond({ ...TOOLS, input: [user('Hi'), item, user('B')] });
            assert.match(messagesOf(g.up).find(({ role }) => role === 'tool').content, told);
        });

        test('outlives the gateway', async (t) => {
            const up = await startUpstream();
            t.after(() => up.close());
            const both = { up };
            const api = new Api(both, captures);
            const next = successors(t, up, ...await flags(t));
            both.daemon = await next();
            up.next(callStream([...call, 'c1']), textStream('Done.'));
            const first = await api.respond(TOOLS);
            const before = messagesOf(up);
            both.daemon = await next();
            await api.respond({ ...TOOLS, previous_response_id: first.id, input: 'B' });
            assert.deepEqual(messagesOf(up), [...before, assistant('Done.'), user('B')]);
        });
    });
}

captures.judge(test);
