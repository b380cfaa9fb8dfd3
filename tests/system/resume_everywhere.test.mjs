/* resume_everywhere.test.mjs -- a stream whose connection breaks goes on where it broke, byte for byte: from the gateway that
 * has the turn, from another one on the same store, while it runs and after it has ended (CONTRACT 4.8).
 *
 * A turn with something of everything is broken off once behind each of its events. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { cutAt, ended, idOf, resume, tail } from '../lib/background.mjs';
import { Captures, checkStream } from '../lib/check.mjs';
import { checkTail, joined, numberOf, writtenFrames } from '../lib/check_resume.mjs';
import { get, open } from '../lib/client.mjs';
import { folder } from '../lib/folder.mjs';
import { LongTurn } from '../lib/long_turn.mjs';
import { gateway } from '../lib/mcp.mjs';
import { startMcp } from '../lib/mcp_server.mjs';
import { patience } from '../lib/patience.mjs';
import { NO_POSTGRES, startPostgres } from '../lib/postgres.mjs';
import { writtenIn } from '../lib/state.mjs';

const captures = new Captures();

const AT_ONCE = 6; /* turns beside each other; fewer than may run in the background */
const LONG = { timeout: patience(300_000) };

/* So many gateways that share a store, and a model that plays the long turn. */
async function prepare(t, store, n) {
    const options = { servers: { fake: await startMcp() }, lists: 'declared', args: ['--store', store, '--resume-window', '60s'] };
    const first = await gateway(t, options);
    const all = [first];
    while (all.length < n)
        all.push(await gateway(t, { ...options, up: first.up }));
    return { daemons: all.map(({ daemon }) => daemon), play: new LongTurn(first.up) };
}

/* How many events the turn has, and the last one before its pause. */
async function measure({ daemons: [daemon], play }, more) {
    const call = open(daemon, play.request('undisturbed', { stream: true, ...more }));
    await call.until(() => /output_item\.done[^\n]*Echo: third[^\n]*\n\n/.test(call.text));
    const held = writtenFrames(call.text).length - 1;
    play.release('undisturbed');
    const { events } = checkStream((await call.done).text);
    captures.keep('undisturbed.sse', call.bytes);
    assert.ok(events.length >= 60, `${events.length} events`);
    return { held, n: events.length };
}

/* A client loses its connection behind event k; others read on from there at every gateway that can have it, while
 * the turn runs if it is still in front of its pause, and after its end. */
async function breakAt(k, { daemons, play }, { held, more, live }) {
    const name = `broken behind ${k}`;
    const first = open(daemons[0], play.request(name, { stream: true, ...more }));
    if (k > held)
        play.release(name);
    const head = await cutAt(first, k);
    const id = idOf(head);
    const readers = live.map((daemon) => resume(daemon, id, { after: k }));
    await Promise.all(readers.map((reader) => reader.head));
    play.release(name);
    const tails = await Promise.all(readers.map(async (reader) => (await reader.done).text));
    const isKept = k % 8 === 7; /* for the validator; a small checker looks at all */
    await ended(daemons[0], id, isKept ? captures : undefined);
    const whole = await tail(daemons[0], id);
    const { response } = checkStream(whole);
    assert.equal(response.status, 'completed');
    assert.equal((await get(daemons[0], `/v1/responses/${id}`)).text, writtenIn(whole), 'the terminal event shows what is stored');
    for (const daemon of daemons)
        tails.push(await tail(daemon, id, k));
    for (const text of tails)
        checkTail(text, k, whole);
    const seen = writtenFrames(head.slice(0, head.lastIndexOf('\n\n') + 2));
    assert.deepEqual(seen, writtenFrames(whole).slice(0, seen.length), 'what the first client has seen');
    checkStream(joined(`${seen.slice(0, k + 1).join('\n\n')}\n\n`, tails[0]));
    if (isKept) {
        captures.keep(`${name}.sse`, whole);
        captures.keep(`${name}, the rest.sse`, tails[0], '--resume', String(k));
    }
    return { id, whole };
}

async function breakEverywhere(t, all, more, live) {
    const { held, n } = await measure(all, more);
    let next = 0, one;
    const work = async () => {
        while (next < n)
            one = await breakAt(next++, all, { held, more, live });
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    t.diagnostic(`${n} events, ${held + 1} of them before the pause`);
    return one;
}

/* All tails there are of a response that has ended, also of a stream that broke before its first event. */
async function readEverywhere(daemon, { id, whole }) {
    const numbers = writtenFrames(whole).map(numberOf).filter(Number.isFinite);
    for (const after of [undefined, -1, ...numbers])
        checkTail(await tail(daemon, id, after), after ?? -1, whole);
    for (const after of [numbers.at(-1) + 1, 1_000_000, Number.MAX_SAFE_INTEGER])
        assert.equal(await tail(daemon, id, after), 'data: [DONE]\n\n', `behind ${after} there is only the end`);
}

/* [how it is asked for, what the request says, the gateways at which it can be joined while it runs] */
for (const [way, more, joinable] of [
    ['in the background', { background: true }, (daemons) => daemons],
    ['in the foreground', {}, ([first]) => [first]],
]) {
    describe(`a stream ${way}`, { concurrency: false }, () => {
        test('goes on behind every event: SQLite, and the next gateway on the same file', LONG, async (t) => {
            const store = `sqlite:${folder(t, 'antiphon.db')}`;
            const all = await prepare(t, store, 1);
            const one = await breakEverywhere(t, all, more, joinable(all.daemons));
            await readEverywhere(all.daemons[0], one);
            await all.daemons[0].stop();
            const { daemons: [next] } = await prepare(t, store, 1);
            await readEverywhere(next, one);
        });

        test('goes on behind every event: PostgreSQL, and another gateway', { skip: NO_POSTGRES, ...LONG }, async (t) => {
            const server = await startPostgres();
            const all = await prepare(t, await server.database(), 2);
            t.after(() => server.close()); /* behind the gateways, whose end waits for their store */
            const one = await breakEverywhere(t, all, more, joinable(all.daemons));
            await readEverywhere(all.daemons[1], one);
        });

        test('goes on behind every event: in memory', LONG, async (t) => {
            const all = await prepare(t, 'memory', 1);
            await readEverywhere(all.daemons[0], await breakEverywhere(t, all, more, joinable(all.daemons)));
        });
    });
}

captures.judge(test);
