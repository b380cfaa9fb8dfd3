/* reasoning_cache.test.mjs -- clients that send a call back without the reasoning
 * that led to it: the upstream gets it all the same, and nobody else's. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { shared } from '../lib/daemon.mjs';
import { Api, assistant, calling, fn, messagesOf, output, user } from '../lib/state.mjs';
import { chunk, frames, stream } from '../lib/upstream.mjs';

const captures = new Captures();
const TOOLS = [fn('weather'), fn('news')];
const OSLO = { city: 'Oslo' };

/* An upstream that thinks and then calls, and what a client sends back of it. */
const thinking = (text, ...calls) => stream(frames(chunk({ reasoning_content: text }),
    ...calls.map(([id, name, args], index) => chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: JSON.stringify(args) } }] })),
    chunk({}, 'tool_calls'), '[DONE]'));
const sentBack = (...calls) => [user('Hi'),
    ...calls.map(([call_id, name, args]) => ({ type: 'function_call', call_id, name, arguments: JSON.stringify(args) })),
    ...calls.map(([call_id]) => output(call_id, 'done'))];

/* One daemon, and the two steps of every case. */
function setup(...args) {
    const both = shared({ before, beforeEach, after }, ...args);
    const as = (key) => new Api(both, captures, key);
    return {
        both,
        as,
        learn: async (text, calls, { api = as(), streamed = false } = {}) => {
            both.up.next(thinking(text, ...calls));
            await (streamed ? api.stream({ tools: TOOLS, store: false }) : api.respond({ tools: TOOLS, store: false }));
        },
        /* The reasoning of the call's message in what the upstream is asked. */
        recall: async (calls, { api = as() } = {}) => {
            await api.respond({ input: sentBack(...calls), tools: TOOLS, store: false });
            const [, { reasoning_content, ...message }] = messagesOf(both.up);
            assert.deepEqual(message, calling(...calls));
            return reasoning_content;
        },
    };
}

describe('the reasoning of a call', { concurrency: false }, () => {
    const { both, as, learn, recall } = setup();

    for (const streamed of [false, true]) {
        test(`comes back with it${streamed ? ', streamed' : ''}`, async () => {
            const call = [`call_${streamed}`, 'weather', OSLO];
            await learn('Let me look.', [call], { streamed });
            for (let i = 0; i < 3; i++)
                assert.equal(await recall([call]), 'Let me look.', 'any number of times');
        });
    }

    test('comes back once for calls that were made together', async () => {
        const calls = [['call_1', 'weather', OSLO], ['call_2', 'news', {}]];
        await learn('Both.', calls);
        assert.equal(await recall(calls), 'Both.');
    });

    test('gives way to what the client sends', async () => {
        const call = ['call_own', 'weather', OSLO];
        await learn('Ours.', [call]);
        const [question, ...rest] = sentBack(call);
        const thought = { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Theirs.' }] };
        await as().respond({ input: [question, thought, ...rest], tools: TOOLS });
        assert.equal(messagesOf(both.up)[1].reasoning_content, 'Theirs.');
    });

    test('is not given to a call with another id, name or arguments', async () => {
        await learn('Mine.', [['call_same', 'weather', OSLO]]);
        for (const other of [['call_other', 'weather', OSLO], ['call_same', 'news', OSLO], ['call_same', 'weather', { city: 'Rome' }], ['call_same', 'weather', {}]])
            assert.equal(await recall([other]), undefined, JSON.stringify(other));
        assert.equal(await recall([['call_same', 'weather', OSLO]]), 'Mine.');
    });

    test('is kept apart in chats whose calls have the same id', async () => {
        const [oslo, rome] = [['call_0', 'weather', OSLO], ['call_0', 'weather', { city: 'Rome' }]];
        await learn('About Oslo.', [oslo]);
        await learn('About Rome.', [rome]);
        assert.deepEqual([await recall([oslo]), await recall([rome])], ['About Oslo.', 'About Rome.']);
    });

    test('belongs to the credentials of its client', async () => {
        const call = ['call_secret', 'weather', OSLO];
        const [anna, ben] = [as('key-of-anna'), as('key-of-ben')];
        await learn('Private.', [call], { api: anna });
        assert.equal(await recall([call], { api: ben }), undefined);
        assert.equal(await recall([call]), undefined, 'nor to one without any');
        assert.equal(await recall([call], { api: anna }), 'Private.');
    });

    test('is not given to text', async () => {
        await as().respond({ input: [user('Hi'), assistant('Hello'), user('Bye')] });
        assert.deepEqual(messagesOf(both.up)[1], assistant('Hello'));
    });
});

for (const [how, args] of [['as summaries', ['--reasoning', 'summary']], ['not at all', ['--reasoning', 'none']]]) {
    describe(`reasoning that clients see ${how}`, { concurrency: false }, () => {
        const { learn, recall } = setup(...args);

        test('comes back with its call', async () => {
            await learn('Hidden.', [['call_1', 'weather', OSLO]]);
            assert.equal(await recall([['call_1', 'weather', OSLO]]), 'Hidden.');
        });
    });
}

describe('clients with keys of the gateway', { concurrency: false }, () => {
    const { as, learn, recall } = setup('--api-key', 'key-of-anna', '--api-key', 'key-of-ben');

    test('have their own reasoning only', async () => {
        const call = ['call_1', 'weather', OSLO];
        await learn('Private.', [call], { api: as('key-of-anna') });
        assert.equal(await recall([call], { api: as('key-of-ben') }), undefined);
        assert.equal(await recall([call], { api: as('key-of-anna') }), 'Private.');
    });
});

describe('a bound on what is remembered', { concurrency: false }, () => {
    const { learn, recall } = setup('--reasoning-cache', '2', '--workers', '1');
    const call = (i) => [`call_${i}`, 'weather', OSLO];

    test('forgets what came first, whether it was used or not', async () => {
        for (const i of [1, 2]) {
            await learn(`Thought ${i}.`, [call(i)]);
            assert.equal(await recall([call(1)]), 'Thought 1.');
        }
        await learn('Thought 3.', [call(3)]);
        assert.deepEqual([await recall([call(1)]), await recall([call(2)]), await recall([call(3)])], [undefined, 'Thought 2.', 'Thought 3.']);
    });
});

describe('no cache at all', { concurrency: false }, () => {
    const { learn, recall } = setup('--reasoning-cache', '0');

    test('remembers nothing', async () => {
        await learn('Gone.', [['call_1', 'weather', OSLO]]);
        assert.equal(await recall([['call_1', 'weather', OSLO]]), undefined);
    });
});

captures.judge(test);
