/* state_life.test.mjs -- how long state lives: across connections, workers and
 * restarts, and until a limit is reached. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { open } from '../lib/client.mjs';
import { startDaemon } from '../lib/daemon.mjs';
import { Api, NOT_FOUND, NO_CONVERSATION, NO_PARENT, assistant, messagesOf, nextSecond, reference, textOf, user } from '../lib/state.mjs';
import { HANG, SILENCE, chunk, frames, startUpstream, stream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();

/* An upstream and a daemon that can be started anew, with the same flags. */
async function place(t, { env = {}, args = [] } = {}) {
    const both = { up: await startUpstream() };
    const start = async () => (both.daemon = await startDaemon({ upstream: both.up.url, env, args }));
    t.after(() => both.up.close());
    t.after(() => both.daemon?.stop());
    await start();
    return { both, api: new Api(both, captures), restart: async () => (await both.daemon.stop(), start()) };
}

function folder(t) {
    const dir = mkdtempSync(join(tmpdir(), 'antiphon-state-'));
    t.after(() => rmSync(dir, { recursive: true }));
    return dir;
}

describe('a restart', { concurrency: false }, () => {
    /* [where state is, flags and environment for a folder, file in it] */
    for (const [where, options] of [
        ['a database that is named', (dir) => ({ args: ['--store', `sqlite:${join(dir, 'antiphon.db')}`] })],
        ['the state directory', (dir) => ({ env: { STATE_DIRECTORY: dir, ANTIPHON_STORE: undefined } })],
    ]) {
        test(`keeps what is in ${where}`, async (t) => {
            const dir = folder(t);
            const { both, api, restart } = await place(t, options(dir));
            both.up.next(textStream('First.', { reasoning: 'Hm' }));
            const first = await api.answer({ input: 'One', metadata: { k: 'v' } });
            const gone = await api.respond();
            await api.remove(`responses/${gone.id}`);
            const conversation = await api.make('conversations', { metadata: { a: 'b' }, items: [user('Zero')] });
            const talk = await api.answer({ input: 'Talk', conversation: conversation.id });
            const paths = [`responses/${first.json.id}/input_items`, `conversations/${conversation.id}`, `conversations/${conversation.id}/items`];
            const seen = await Promise.all(paths.map((path) => api.read(path)));
            assert.ok(existsSync(join(dir, 'antiphon.db')));
            await restart();

            for (const made of [first, talk])
                assert.equal((await api.get(`responses/${made.json.id}`)).text, made.text);
            assert.deepEqual(await Promise.all(paths.map((path) => api.read(path))), seen);
            await api.refused('GET', `responses/${gone.id}`, undefined, NOT_FOUND);
            await api.respond({ input: 'Two', previous_response_id: first.json.id });
            assert.deepEqual(messagesOf(both.up), [user('One'), assistant('First.', { reasoning_content: 'Hm' }), user('Two')]);
            await api.respond({ input: 'More', conversation: conversation.id });
            assert.deepEqual(messagesOf(both.up).map((m) => m.content), ['Zero', 'Talk', 'Hello', 'More']);
            await api.respond({ input: [reference(first.json.output.at(-1).id)] });
            assert.deepEqual(messagesOf(both.up), [assistant('First.')]);
        });
    }

    /* [what the first daemon does when it has to stop, request, answer of the upstream] */
    for (const [what, more, answer] of [
        ['waits for the upstream', {}, SILENCE],
        ['streams', { stream: true }, stream([...frames(chunk({ content: 'Slow' })), HANG])],
        ['streams what is not to be stored', { stream: true, store: false }, stream([...frames(chunk({ content: 'Slow' })), HANG])],
    ]) {
        test(`leaves no conversation locked: ${what}`, async (t) => {
            const store = `sqlite:${join(folder(t), 'antiphon.db')}`;
            const { both, api, restart } = await place(t, { args: ['--store', store, '--drain-timeout', '50ms'] });
            const conversation = await api.make('conversations', {});
            both.up.next(answer);
            const call = open(both.daemon, { model: 'm', input: 'One', conversation: conversation.id, ...more });
            await both.up.request(0);
            await restart();
            assert.match((await call.done).text, /The gateway is shutting down/);
            await api.respond({ input: 'Two', conversation: conversation.id });
        });
    }

    test('forgets what is in memory', async (t) => {
        const { api, restart } = await place(t);
        const { id } = await api.respond();
        const { id: conversation } = await api.make('conversations', {});
        await restart();
        await api.refused('GET', `responses/${id}`, undefined, NOT_FOUND);
        await api.turnedAway({ previous_response_id: id }, NO_PARENT);
        await api.turnedAway({ conversation }, NO_CONVERSATION);
    });
});

for (const store of ['memory', 'sqlite']) {
    test(`every worker sees at once what another has stored, with ${store}`, async (t) => {
        const { both, api } = await place(t, { args: ['--workers', '4', '--store', store === 'memory' ? store : `sqlite:${join(folder(t), 's.db')}`] });
        both.up.always(({ body }) => textStream(`re ${body.messages.at(-1).content}`));
        await Promise.all(Array.from({ length: 16 }, async (_, chain) => {
            let made;
            for (let turn = 0; turn < 5; turn++) { /* each request on a connection of its own */
                made = await api.answer({ input: `${chain}.${turn}`, previous_response_id: made?.json.id });
                for (const got of await Promise.all([1, 2, 3].map(() => api.get(`responses/${made.json.id}`))))
                    assert.equal(got.text, made.text);
            }
            const last = both.up.requests.find((request) => request.body.messages.at(-1).content === `${chain}.4`);
            assert.deepEqual(last.body.messages.filter((m) => m.role === 'user').map((m) => m.content), [0, 1, 2, 3, 4].map((turn) => `${chain}.${turn}`));
        }));
    });
}

/* The store looks after its limits every few seconds: these tests ask until it has. */
describe('limits', { concurrency: true }, () => {
    const goesAway = (api, { id }) => api.until(404, 'GET', `responses/${id}`);
    const stays = async (api, ...responses) => {
        for (const { id } of responses)
            assert.equal((await api.read(`responses/${id}`)).id, id);
    };

    /* Chains A, B and C, where A was continued last. */
    async function chains(api, more = {}) {
        const [a, b, c] = [await api.respond(more), await api.respond(more), await api.respond(more)];
        await nextSecond(c);
        const a2 = await api.respond({ ...more, previous_response_id: a.id });
        await nextSecond(a2);
        return { a, b, c, a2 };
    }

    test('max_responses: the chain that was not used for the longest time goes, whole', async (t) => {
        const { api } = await place(t, { args: ['--store-max-responses', '4'] });
        const { a, b, c, a2 } = await chains(api);
        const d = await api.respond();
        await goesAway(api, b);
        await stays(api, a, c, a2, d);
        await api.turnedAway({ previous_response_id: b.id }, NO_PARENT);
        await nextSecond(d);
        const more = [await api.respond(), await api.respond(), await api.respond()];
        await goesAway(api, a);
        await goesAway(api, a2);
        await goesAway(api, c);
        await stays(api, d, ...more);
    });

    test('max: bytes are bounded', async (t) => {
        const { api } = await place(t, { args: ['--store-max', '256KiB'] });
        const { a, b, c, a2 } = await chains(api, { input: 'x'.repeat(60_000) });
        const d = await api.respond({ input: 'x'.repeat(30_000) });
        await goesAway(api, b);
        await stays(api, a, c, a2, d);
    });

    test('max_age: what was not used for long goes', async (t) => {
        const { api } = await place(t, { args: ['--store-max-age', '2s'] });
        const [old, conversation] = [await api.respond(), await api.make('conversations', { items: [user('x')] })];
        await goesAway(api, old);
        await api.until(404, 'GET', `conversations/${conversation.id}`);
        await stays(api, await api.respond());
    });

    test('max_owner_responses: one client does not push out another', async (t) => {
        const { both } = await place(t, { args: ['--store-max-owner-responses', '2', '--api-key', 'key-a', '--api-key', 'key-b'] });
        const [anna, ben] = ['key-a', 'key-b'].map((key) => new Api(both, captures, key));
        const his = await ben.respond();
        const hers = await anna.respond();
        await nextSecond(hers);
        const newer = [await anna.respond(), await anna.respond()];
        await goesAway(anna, hers);
        await stays(anna, ...newer);
        await stays(ben, his);
    });

    test('no limits: nothing goes', async (t) => {
        const { api } = await place(t, { args: ['--store-max-age', '0'] });
        const all = [];
        for (let i = 0; i < 50; i++)
            all.push(await api.respond({ input: `item ${i}` }));
        await stays(api, ...all);
        const [item] = await api.list(`responses/${all[0].id}/input_items`);
        assert.equal(textOf(item), 'item 0');
    });
});

describe('max_request_memory', { concurrency: false }, () => {
    const start = (t) => place(t, { args: ['--max-request-memory', '1MB'] });

    test('what was read leaves room for what is stored', async (t) => {
        const { api } = await start(t);
        const input = 'x'.repeat(500_000);
        const { id } = await api.respond({ input });
        assert.equal(textOf((await api.list(`responses/${id}/input_items`))[0]), input);
    });

    test('an answer that is too large to be stored is told as that', async (t) => {
        const { both, api } = await start(t);
        both.up.always(stream([...frames(...Array(12).fill(chunk({ content: 'y'.repeat(100_000) })), chunk({}, 'stop'), '[DONE]')]));
        await api.refused('POST', 'responses', { model: 'm', input: 'Hi' }, [413, 'request_too_large']);
        const streamed = await api.stream();
        assert.deepEqual([streamed.response.status, streamed.response.error.code], ['failed', 'invalid_prompt']);
        assert.equal((await api.respond({ store: false })).status, 'completed');
    });
});

captures.judge(test);
