/* two_daemons.test.mjs -- several gateways on one store (CONTRACT 2.6, 6.1).
 *
 * On PostgreSQL they share a history and its locks, and outlive the database's
 * restarts and crashes; while it is away, clients get errors that say so. On one
 * SQLite file they can be started at the same moment.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import test, { after, before, describe } from 'node:test';
import { Captures, checkError, checkStream } from '../lib/check.mjs';
import { ask, get, open } from '../lib/client.mjs';
import { startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { ABOUT_TIME, patience } from '../lib/patience.mjs';
import { NO_POSTGRES, startPostgres } from '../lib/postgres.mjs';
import { untilReady } from '../lib/ready.mjs';
import { Talks } from '../lib/talks.mjs';
import { chunk, frames, startUpstream, stream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();

const CHAINS = 100;
const STARTS = 20;
const CLIENTS = 4; /* at each daemon */
const STORE_TIMEOUT_S = 2;

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/* ---- SQLite */

test(`two gateways, started ${STARTS} times at the same moment on a new SQLite file, make its tables once and share it`,
    { timeout: patience(120_000) }, async (t) => {
        const up = await startUpstream();
        t.after(() => up.close());
        for (let i = 0; i < STARTS; i++) {
            const path = folder(t, 'antiphon.db');
            const start = () => startDaemon({ upstream: up.url, args: ['--workers', '4', '--store', `sqlite:${path}`] });
            const both = await Promise.all([start(), start()]);
            t.after(() => both.forEach(({ child }) => child.kill('SIGKILL')));
            const ids = await Promise.all(both.map(async (daemon) => (await ask(daemon, { model: 'm', input: 'Hi' })).json.id));
            for (const [k, id] of ids.entries())
                assert.equal((await get(both[1 - k], `/v1/responses/${id}`)).status, 200, 'each finds what the other has stored');
            await Promise.all(both.map((daemon) => daemon.stop()));
            assert.equal(execFileSync('sqlite3', [path, 'PRAGMA integrity_check'], { encoding: 'utf8' }).trim(), 'ok');
        }
    });

/* ---- PostgreSQL */

describe('two gateways on one PostgreSQL', { skip: NO_POSTGRES, concurrency: false, timeout: patience(240_000) }, () => {
    let server, up, talks, a, b;

    before(async () => {
        up = await startUpstream();
        server = await startPostgres();
        const args = ['--store', await server.database(), '--conversation-lock', '1s', '--store-timeout', `${STORE_TIMEOUT_S}s`];
        [a, b] = await Promise.all([startDaemon({ upstream: up.url, args }), startDaemon({ upstream: up.url, args })]);
    });
    after(async () => {
        await Promise.all([a?.stop(), b?.stop()]);
    });
    after(() => server?.close());
    after(() => up?.close());

    const afresh = () => (up.reset(), talks = new Talks(up));

    test(`${CHAINS} chains at once go from one to the other and back`, async () => {
        afresh();
        await Promise.all(Array.from({ length: CHAINS }, async (_, i) => {
            let parent;
            for (const daemon of [a, b, a])
                parent = await talks.ask(daemon, { parent, stream: i % 2 === 0 });
        }));
        assert.deepEqual(talks.turns.filter(({ fate }) => fate !== 'stored').map(({ call }) => call.text), []);
        await talks.inspect(b);
    });

    for (const round of [1, 2, 3]) {
        test(`a conversation used through both at once: one answers, the other says that it is locked (${round})`, async () => {
            up.reset();
            const { json: { id: conversation } } = await ask(a, {}, { path: '/v1/conversations' });
            let release;
            const held = new Promise((done) => (release = done));
            up.always(stream([...frames(chunk({ content: 'First' })), held, ...frames(chunk({}, 'stop'), '[DONE]')]));
            const both = [a, b].map((daemon, i) => open(daemon, { model: 'm', input: `from ${i}`, conversation }));
            const loser = await Promise.race(both.map(({ done }) => done));
            captures.keep('locked.json', loser.bytes, '--kind', 'error');
            checkError(loser, 409, 'conversation_locked');
            release();
            const winner = await both.find((call) => call !== loser).done;
            assert.equal(up.requests.length, 1, 'the model was asked once');
            assert.equal(winner.json.status, 'completed');

            up.always(textStream('Second'));
            const again = await ask(both[0] === loser ? a : b, { model: 'm', input: 'again', conversation });
            assert.equal(again.status, 200, again.text);
            assert.deepEqual(up.requests.at(-1).body.messages.map(({ content }) => content), [both[0] === loser ? 'from 1' : 'from 0', 'First', 'again']);
        });
    }

    test('a conversation stays locked for as long as its response takes', { skip: ABOUT_TIME }, async () => {
        up.reset();
        const { json: { id: conversation } } = await ask(a, {}, { path: '/v1/conversations' });
        up.always(stream([...frames(chunk({ content: 'Slow' })), 2500, ...frames(chunk({}, 'stop'), '[DONE]')]));
        const slow = open(a, { model: 'm', input: 'first', conversation, stream: true });
        await slow.until('"delta":"Slow"');
        await pause(2000); /* twice conversation_lock */
        checkError(await ask(b, { model: 'm', input: 'second', conversation }), 409, 'conversation_locked');
        assert.equal(checkStream((await slow.done).text).response.status, 'completed');
    });

    /* What clients are told while the database is away: that this is not their mistake. */
    /* Late, as a stream, or at once. */
    function checkFailed(got) {
        captures.keep(got.status === 200 ? 'outage.sse' : 'outage streamed.json', got.bytes, ...got.status === 200 ? [] : ['--kind', 'error']);
        if (got.status === 200)
            assert.equal(checkStream(got.text).response.status, 'failed');
        else
            checkError(got, 503, 'server_is_overloaded');
    }

    async function checkOutage(parent, conversation) {
        const post = (body, daemon = a) => ask(daemon, { model: 'm', input: 'Anybody there?', ...body });
        const told = {
            'a new chain': post({}),
            'a continued chain': post({ previous_response_id: parent }),
            'a conversation': post({ conversation }, b),
            'a continued chain, streamed': post({ previous_response_id: parent, stream: true }, b),
            'a response': get(a, `/v1/responses/${parent}`),
            'a list': get(b, `/v1/conversations/${conversation}/items`),
            'a new conversation': ask(a, {}, { path: '/v1/conversations' }),
        };
        const streamed = post({ stream: true });
        for (const what in told) {
            const got = await told[what];
            captures.keep(`outage ${what}.json`, got.bytes, '--kind', 'error');
            assert.ok(got.status >= 500, `${what}: ${got.status} ${got.text}`);
            checkError(got, got.status);
        }
        checkFailed(await streamed);
        assert.equal((await post({ store: false })).status, 200, 'what needs no store is served');
        for (const daemon of [a, b])
            assert.equal((await get(daemon, '/health')).status, 200);
    }

    test('a conversation whose response could not be stored is free again when the database is back', async () => {
        afresh();
        const conversation = await talks.converse(a);
        await talks.ask(a, { conversation });
        let release;
        up.next(stream([...frames(chunk({ content: 'In vain' })), new Promise((done) => (release = done)), ...frames(chunk({}, 'stop'), '[DONE]')]));
        const call = open(a, { model: 'm', input: 'Hi', conversation: conversation.id, stream: true });
        await call.until('"delta":"In vain"');
        await server.stop();
        release();
        try {
            assert.equal(checkStream((await call.done).text).response.status, 'failed');
            await pause(5 * STORE_TIMEOUT_S * 1000); /* what else wanted the store has given up, too */
        } finally {
            await server.start();
        }
        await pause(2000); /* twice conversation_lock: if it is still renewed, it is by now */
        await talks.resume(b, conversation);
        await talks.inspect(a);
    });

    for (const [how, leave] of [['stopped', () => server.stop()], ['killed', () => server.kill()]]) {
        test(`the database is ${how} and started again under load: clear errors, then all goes on, nothing acknowledged is lost`, async (t) => {
            afresh();
            const first = await talks.ask(a);
            const quiet = await talks.converse(b);
            let phase = 'before', n = 0;
            const refusals = { before: 0, outage: 0, after: 0 };
            const onRefused = async (turn) => {
                refusals[phase]++;
                assert.ok(turn.status >= 500 || turn.status === 200, `${turn.status} ${turn.call.text}`);
                await pause(20); /* as a client that tries again does */
            };
            const clients = [a, b].flatMap((daemon) => Array.from({ length: CLIENTS }, () =>
                talks.work(daemon, { over: () => phase === 'after' && talks.stored.length >= n, onRefused })));
            const ended = Promise.all(clients).then(() => assert.equal(phase, 'after', 'a client was left without an answer'));
            const worked = async (more) => {
                n = talks.stored.length + more;
                while (talks.stored.length < n)
                    await Promise.race([pause(10), ended]);
            };
            try {
                await worked(50);
                phase = 'outage';
                await leave();
                await checkOutage(first.id, quiet.id).finally(() => server.start());
                await worked(50);
                await Promise.all([a, b].map((daemon) => untilReady(daemon, 200)));
                phase = 'after';
                await worked(100);
            } finally {
                phase = 'after';
                n = 0;
            }
            await ended;
            t.diagnostic(`${talks.stored.length} turns acknowledged, ${refusals.outage} refused while the database was away`);
            assert.equal(refusals.before, 0);
            assert.equal(refusals.after, 0, 'all connections have come back');
            await talks.inspect(b);
            await talks.continueAll(a);
        });
    }

    test('a database that stands still is given up after store_timeout, and used again when it goes on', async () => {
        afresh();
        const first = await talks.ask(a);
        await server.freeze();
        try {
            for (const got of await Promise.all([get(a, `/v1/responses/${first.id}`), ask(b, { model: 'm', input: 'Hi', previous_response_id: first.id })])) {
                captures.keep('frozen.json', got.bytes, '--kind', 'error');
                assert.ok(got.status >= 500, got.text);
                checkError(got, got.status);
            }
        } finally {
            await server.thaw();
        }
        /* A connection that was given up is not made anew before a moment has passed: until then
         * requests may be refused once more. */
        for (const daemon of [a, b]) {
            do {
                await pause(1100); /* the moment */
                await untilReady(daemon, 200);
            } while ((await ask(daemon, { model: 'm', input: 'Hi' })).status === 503);
        }
        await talks.inspect(b);
        await talks.continueAll(a);
    });
});

captures.judge(test);
