/* background_kill.test.mjs -- background work survives the sudden end of its gateway: each response ends, none hangs,
 * and no tool is called twice for it (CONTRACT 4.8).
 *
 * Many responses with tools are accepted, some are read, some cancelled, and the gateway is killed in the middle of
 * it; the next one starts on the same store. ANTIPHON_TEST_BACKGROUND sets how many at a time (40, or 500 to be
 * thorough), ANTIPHON_TEST_BACKGROUND_KILLS how often (3, or 20). */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import test from 'node:test';
import { cancel, ended, idOf, resume, tail } from '../lib/background.mjs';
import { Captures, checkStream } from '../lib/check.mjs';
import { checkTail, joined, numberOf, writtenFrames } from '../lib/check_resume.mjs';
import { ask, get, open } from '../lib/client.mjs';
import { folder } from '../lib/folder.mjs';
import { Gateway, declared, shown } from '../lib/mcp.mjs';
import { startMcp } from '../lib/mcp_server.mjs';
import { patience } from '../lib/patience.mjs';
import { NO_POSTGRES, startPostgres } from '../lib/postgres.mjs';
import { chunk, frames, startUpstream, stream, usageChunk } from '../lib/upstream.mjs';

const WORK = Number(process.env.ANTIPHON_TEST_BACKGROUND ?? 40);
const KILLS = Number(process.env.ANTIPHON_TEST_BACKGROUND_KILLS ?? 3);
const READ = 5;      /* every so manieth is read from the beginning, over the kill */
const CANCELLED = 7; /* every so manieth is cancelled at some time */
const STEPS = 2;     /* calls of a tool, one after the other */
const LEASE = '1s';
const LONG = { timeout: patience(60_000 + KILLS * (10_000 + 200 * WORK)) }; /* a guard, not a claim */

const captures = new Captures();
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const below = (n) => Math.floor(Math.random() * n);

/* The model calls the tool STEPS times for each job and then says so, a few milliseconds between its words. */
function answer({ body: { messages } }) {
    const job = messages.find(({ role }) => role === 'user').content;
    const step = messages.filter(({ role }) => role === 'tool').length;
    const call = { index: 0, id: `call_${step}`, type: 'function', function: { name: shown('fake', 'act'), arguments: JSON.stringify({ job, step }) } };
    const said = step < STEPS ? [chunk({ reasoning_content: 'Now ' }), chunk({ reasoning_content: 'act.' }), chunk({ tool_calls: [call] }), chunk({}, 'tool_calls')]
        : [chunk({ content: 'Done ' }), chunk({ content: 'with ' }), chunk({ content: job }), chunk({}, 'stop')];
    return stream(frames(...said, usageChunk(20, 5), '[DONE]').flatMap((frame) => [below(8), frame]));
}

/* A gateway on the store, whose predecessor had no time to close it. */
async function start(t, file, { up, fake }, store) {
    const g = await new Gateway().start({
        servers: { fake }, file, up, lists: 'remote',
        args: ['--store', store, '--background-lease', LEASE, '--conversation-lock', LEASE, '--background-running', '16',
            '--background-queue', '100000', '--background-queue-per-owner', '100000'],
    });
    t.after(() => g.daemon.child.kill('SIGKILL')); /* it has ended, unless the test failed */
    return g.daemon;
}

/* One job: accepted or not, read or not, cancelled or not. */
async function begin(daemon, name, i) {
    const body = { model: 'm', input: name, background: true, tools: [declared('fake')], stream: i % READ === 0 };
    const call = open(daemon, body);
    const id = call.head.then(() => call.until(() => idOf(call.text) !== undefined)).then(() => idOf(call.text));
    return { name, call, id: await id.catch(() => undefined) };
}

async function workUntilKilled(daemon, round) {
    const jobs = [];
    const cancelled = [];
    const client = async (from) => {
        for (let i = from; i < WORK; i += 8) {
            const job = await begin(daemon, `job ${round}.${i}`, i);
            if (job.id === undefined)
                return;
            jobs.push(job);
            if (i % CANCELLED === 0)
                cancelled.push(pause(below(300)).then(() => cancel(daemon, job.id)).catch(() => {}));
        }
    };
    const accepting = Promise.all(Array.from({ length: 8 }, (_, from) => client(from)));
    await Promise.race([accepting, pause(2000)]);
    await pause(below(WORK * 10));
    daemon.child.kill('SIGKILL');
    await Promise.all([daemon.exited, accepting, ...cancelled]);
    return jobs;
}

/* What became of one: it has ended, its stream says the same, and begins as its reader has seen it. */
async function look(daemon, { id, call, name }) {
    const response = await ended(daemon, id, captures, 60_000);
    const whole = await tail(daemon, id);
    const { response: last, events } = checkStream(whole);
    captures.keep(`${name}.sse`, whole);
    assert.equal(last.status, response.status === 'cancelled' ? 'failed' : response.status);
    assert.deepEqual(last.output, response.output);
    if (response.status === 'failed')
        assert.deepEqual([response.error.code, response.error.message], ['server_error', 'The gateway stopped while the response was in progress.']);
    if (response.status === 'completed')
        assert.ok(whole.includes(`Done`), 'it did what was asked');
    if (!call.headers['content-type'].startsWith('text/event-stream'))
        return response.status;
    const seen = writtenFrames(call.text.slice(0, call.text.lastIndexOf('\n\n') + 2));
    assert.deepEqual(seen, writtenFrames(whole).slice(0, seen.length), 'no event that a client has seen is lost');
    const n = Math.max(-1, ...seen.map(numberOf).filter(Number.isFinite));
    const rest = await tail(daemon, id, n);
    checkTail(rest, n, whole);
    checkStream(seen.at(-1) === 'data: [DONE]' ? whole : joined(`${seen.join('\n\n')}\n\n`, rest));
    assert.ok(n < events.length);
    return response.status;
}

async function killInALoop(t, store) {
    const up = await startUpstream();
    t.after(() => up.close());
    const did = new Map();
    const fake = await startMcp({ tools: { act: { annotations: {}, inputSchema: { type: 'object' }, call: async ({ job, step }) => {
        const what = `${job} ${step}`;
        did.set(what, (did.get(what) ?? 0) + 1);
        await pause(below(10));
        return `${what} is done`;
    } } } });
    fake.entry.maxConcurrency = 64;
    t.after(() => fake.close());
    up.always(answer);
    const file = folder(t, 'mcp.json');
    const fates = {};
    const isTold = () => fates.completed > 0 && fates.failed > 0; /* a kill may come when all is done, or nothing yet */
    for (let round = 0; round < KILLS || (round < 10 * KILLS && !isTold()); round++) {
        const jobs = await workUntilKilled(await start(t, file, { up, fake }, store), round);
        const daemon = await start(t, file, { up, fake }, store);
        const all = await Promise.all(jobs.map((job) => look(daemon, job)));
        all.forEach((fate) => (fates[fate] = (fates[fate] ?? 0) + 1));
        assert.ok(all.every((fate) => ['completed', 'failed', 'cancelled'].includes(fate)), String(all));
        up.requests.length = 0;
        await daemon.stop();
        assert.doesNotMatch(daemon.log, /^\S+ error /m);
    }
    t.diagnostic(`kills: ${JSON.stringify(fates)}, ${did.size} calls of the tool`);
    assert.deepEqual([...did].filter(([, n]) => n > 1), [], 'nothing was done twice');
    assert.ok(isTold(), 'there was something to lose, and something to save');
}

test('SQLite: killed in the middle, all work ends, and none is done twice', LONG, async (t) => {
    const path = folder(t, 'antiphon.db');
    await killInALoop(t, `sqlite:${path}`);
    for (const pragma of ['integrity_check', 'foreign_key_check'])
        assert.match(execFileSync('sqlite3', [path, `PRAGMA ${pragma}`], { encoding: 'utf8' }).trim(), /^(ok)?$/);
});

test('PostgreSQL: the same', { skip: NO_POSTGRES, ...LONG }, async (t) => {
    const server = await startPostgres();
    t.after(() => server.close());
    await killInALoop(t, await server.database());
});

captures.judge(test);
