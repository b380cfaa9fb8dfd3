/* resume_elsewhere.test.mjs -- streams of background responses, and those of the other gateway that shares
 * the store: read while they are made and when they are over, cancelled and deleted in between
 * (CONTRACT 4.8). */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkError, checkStream } from '../lib/check.mjs';
import { checkTail, headOf, tailOf, writtenFrames } from '../lib/check_resume.mjs';
import { ask, get, open } from '../lib/client.mjs';
import { startDaemon } from '../lib/daemon.mjs';
import { SEED, dice } from '../lib/dice.mjs';
import { declared, shown, writeServers } from '../lib/mcp.mjs';
import { TOOLS, startMcp } from '../lib/mcp_server.mjs';
import { patience } from '../lib/patience.mjs';
import { NO_POSTGRES, startPostgres } from '../lib/postgres.mjs';
import { callStream, chunk, frames, startUpstream, stream, textStream, usageChunk } from '../lib/upstream.mjs';

const captures = new Captures();
const REQUEST = { model: 'm', input: 'Hi', stream: true };
const JUDGED = [0, 2, 7]; /* the validator takes a start for each number */
const BACKGROUND = { ...REQUEST, background: true };

const idOf = (text) => text.match(/"id":"(resp_\w+)"/)[1];
const pathOf = (id, query = '') => `/v1/responses/${id}?stream=true${query}`;
const reread = (daemon, id, query) => get(daemon, pathOf(id, query));

function gate() {
    let unlock;
    const until = new Promise((done) => (unlock = done));
    return { until, unlock };
}

const follow = (t, daemon, id, query = '') => {
    const reader = open(daemon, undefined, { method: 'GET', path: pathOf(id, query) });
    t.after(() => reader.destroy());
    return reader;
};

const checkRest = (got, n, whole) => assert.deepEqual([got.status, writtenFrames(got.text)], [200, tailOf(whole, n)]);

/* The same from every event on, whoever is asked. */
async function checkEveryRest(daemons, whole) {
    const id = idOf(whole);
    const last = writtenFrames(whole).length - 2;
    for (let n = -1; n <= last; n++) {
        const got = await reread(daemons[(n + 1) % daemons.length], id, `&starting_after=${n}`);
        checkRest(got, n, whole);
        if (JUDGED.includes(n) && n < last)
            captures.keep(`tail_after_${n}.sse`, got.bytes, '--resume', String(n));
    }
}

/* Where stores are that two gateways share. */
const STORES = [
    ['SQLite', false, () => ({ url: (dir) => `sqlite:${join(dir, 'antiphon.db')}`, close() {} })],
    ['PostgreSQL', NO_POSTGRES, async () => {
        const server = await startPostgres();
        return { url: () => server.database(), close: () => server.close() };
    }],
];

for (const [name, skip, openStore] of STORES) {
    describe(`two gateways on one store (${name})`, { skip, concurrency: false, timeout: patience(240_000) }, () => {
        const dir = mkdtempSync(join(tmpdir(), 'antiphon-test-'));
        let store, up, fake, a, b;

        const start = () => startDaemon({ upstream: up.url, args });
        let args;

        before(async () => {
            [store, up, fake] = [await openStore(), await startUpstream(), await startMcp({ tools: TOOLS })];
            writeServers(join(dir, 'mcp.json'), { fake });
            args = ['--store', await store.url(dir), '--mcp-config', join(dir, 'mcp.json'), '--background-running', '2', '--background-lease', '1s'];
            [a, b] = await Promise.all([start(), start()]);
        });
        after(async () => {
            await Promise.all([a?.stop(), b?.stop()]);
        });
        after(() => fake?.close());
        after(() => up?.close());
        after(() => store?.close());
        after(() => rmSync(dir, { recursive: true }));
        beforeEach(() => up.reset());

        /* A background response that has said one word of three; the rest comes with the gates. */
        async function begin(t, daemon = a) {
            const gates = [gate(), gate()];
            t.after(() => gates.forEach(({ unlock }) => unlock()));
            up.next(stream([...frames(chunk({ reasoning_content: 'Hm' }), chunk({ content: 'one' })), gates[0].until, ...frames(chunk({ content: ' two' })),
                gates[1].until, ...frames(chunk({ content: ' three' }), chunk({}, 'stop'), usageChunk(1, 3), '[DONE]')]));
            const client = open(daemon, BACKGROUND);
            t.after(() => client.destroy());
            await client.until('"delta":"one"');
            return { client, gates, id: idOf(client.text) };
        }

        test('a background response is read on both while it is made', async (t) => {
            const { client, gates, id } = await begin(t);
            const readers = [[a, -1], [b, -1], [b, 0], [b, 2], [a, 7], [b, 9], [b, 12]].map(([daemon, n]) => ({ n, got: follow(t, daemon, id, `&starting_after=${n}`) }));
            await Promise.all(readers.filter(({ n }) => n < 9).map(({ got }) => got.until('"delta":"one"')));
            gates[0].unlock();
            await Promise.all(readers.filter(({ n }) => n <= 9).map(({ got }) => got.until('"delta":" two"')));
            gates[1].unlock();
            const { text: whole } = await client.done;
            checkStream(whole);
            captures.keep('background.sse', Buffer.from(whole));
            for (const { n, got } of readers)
                checkRest(await got.done, n, whole);
            await checkEveryRest([a, b], whole);
        });

        test('a client that was lost behind any event of a response with reasoning and calls of tools reads on at the other', async (t) => {
            const answers = () => up.next(callStream([shown('fake', 'echo'), { message: 'hi' }, 'c1'], [shown('fake', 'echo'), { message: 'there' }, 'c2']),
                textStream('It said so.', { reasoning: 'Two of them' }));
            answers();
            const { text: whole } = await ask(a, { ...BACKGROUND, tools: [declared('fake')] });
            checkStream(whole);
            assert.ok(whole.includes('response.mcp_call.completed'));
            await checkEveryRest([b, a], whole);
            const n_events = writtenFrames(whole).length - 1;
            for (let k = 0; k < n_events - 1; k++) {
                answers();
                const lost = open([a, b][k % 2], { ...BACKGROUND, tools: [declared('fake')] });
                t.after(() => lost.destroy());
                await lost.until(() => writtenFrames(lost.text).length > k);
                lost.destroy();
                const head = headOf(lost.text, k);
                const tail = await reread([b, a][k % 2], idOf(head), `&starting_after=${k}`);
                checkTail(tail.text, k);
                const { response } = checkStream(head + tail.text);
                assert.equal(response.status, 'completed');
                checkRest(await reread(a, idOf(head)), -1, head + tail.text);
            }
        });

        test(`readers that come and go anywhere have all of every response in the end (seed ${SEED})`, async (t) => {
            const roll = dice();
            up.always(() => stream(frames(chunk({ reasoning_content: 'Hm' }), ...Array.from({ length: 40 }, (_, i) => chunk({ content: ` ${i}` })),
                chunk({}, 'stop'), usageChunk(1, 40), '[DONE]').flatMap((frame) => roll(4) === 0 ? [roll(20), frame] : [frame])));

            /* Reads until it has had enough, and goes on at one of the two from there, until it has all. */
            async function wander(id) {
                let had = '';
                while (!had.includes('data: [DONE]')) {
                    const last = writtenFrames(had).length - 1, enough = 1 + roll(20);
                    const reader = follow(t, [a, b][roll(2)], id, `&starting_after=${last}`);
                    await reader.until(() => reader.ended || writtenFrames(reader.text).length >= enough);
                    reader.destroy();
                    had += writtenFrames(reader.text).map((frame) => `${frame}\n\n`).join('');
                }
                return had;
            }

            await Promise.all(Array.from({ length: 10 }, async (_, i) => {
                const client = open([a, b][i % 2], BACKGROUND);
                t.after(() => client.destroy());
                await client.until('response.queued');
                const readers = await Promise.all([wander(idOf(client.text)), wander(idOf(client.text)), wander(idOf(client.text))]);
                const { text: whole } = await client.done;
                checkStream(whole);
                for (const had of readers)
                    assert.equal(had, whole);
            }));
        });

        test('a response that waits shows that it does, and goes on when it is its turn', async (t) => {
            const busy = await Promise.all([begin(t), begin(t, b), begin(t), begin(t, b)]);
            up.next(textStream('At last.'));
            const client = open(a, BACKGROUND);
            t.after(() => client.destroy());
            await client.until('response.queued');
            const elsewhere = follow(t, b, idOf(client.text));
            await elsewhere.until('response.queued');
            assert.equal(writtenFrames(elsewhere.text).length, 2);
            busy.forEach(({ gates }) => gates.forEach(({ unlock }) => unlock()));
            const { text: whole } = await client.done;
            checkStream(whole);
            checkRest(await elsewhere.done, -1, whole);
        });

        test('a response that is cancelled ends for all who read it', async (t) => {
            const { client, id } = await begin(t);
            const readers = [follow(t, a, id), follow(t, b, id, '&starting_after=4')];
            await Promise.all(readers.map((reader) => reader.until('"delta":"one"')));
            const cancelled = await ask(b, undefined, { path: `/v1/responses/${id}/cancel` });
            assert.deepEqual([cancelled.status, cancelled.json.status], [200, 'cancelled']);
            const { text: whole } = await client.done;
            const { response } = checkStream(whole);
            assert.deepEqual([response.status, response.error.code], ['failed', 'response_cancelled']);
            captures.keep('cancelled.sse', Buffer.from(whole));
            checkRest(await readers[0].done, -1, whole);
            checkRest(await readers[1].done, 4, whole);
            await checkEveryRest([a, b], whole);
        });

        test('a response that is deleted breaks off for all who read it', async (t) => {
            const { client, id } = await begin(t);
            const readers = [client, follow(t, a, id), follow(t, b, id)];
            await Promise.all(readers.map((reader) => reader.until('"delta":"one"')));
            assert.equal((await ask(b, undefined, { method: 'DELETE', path: `/v1/responses/${id}` })).status, 200);
            for (const reader of readers) {
                await assert.rejects(reader.done);
                checkStream(reader.text, { partial: true });
            }
            checkError(await reread(a, id), 404, 'not_found');
        });

        test('a response whose gateway is killed ends at the other, for those who read it there', async (t) => {
            const third = await start();
            t.after(() => third.child.kill('SIGKILL'));
            const { id, gates } = await begin(t, third);
            const reader = follow(t, a, id);
            await reader.until('"delta":"one"');
            third.child.kill('SIGKILL');
            await third.exited;
            gates.forEach(({ unlock }) => unlock()); /* in case that another one has claimed it */
            const { text: whole } = await reader.done;
            const { response } = checkStream(whole);
            if (response.status !== 'completed')
                assert.equal(response.error.message, 'The gateway stopped while the response was in progress.');
            captures.keep('killed.sse', reader.bytes);
            await checkEveryRest([a, b], whole);
        });

        test('a response of the foreground is read at the other when it is over', async (t) => {
            const rest = gate();
            up.next(stream([...frames(chunk({ content: 'one' })), rest.until, ...frames(chunk({ content: ' two' }), chunk({}, 'stop'), '[DONE]')]));
            const client = open(a, REQUEST);
            t.after(() => client.destroy());
            await client.until('"delta":"one"');
            checkError(await reread(b, idOf(client.text)), 404, 'not_found');
            rest.unlock();
            const { text: whole } = await client.done;
            await checkEveryRest([b], whole);
        });
    });
}

captures.judge(test);
