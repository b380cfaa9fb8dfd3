/* durability.test.mjs -- what a client was told is stored survives the sudden end
 * of the gateway (CONTRACT 2.6, 6.1).
 *
 * Eight clients are at work, streamed and not, in chains, branches and
 * conversations, when the daemon is killed; the next one starts on the same store
 * and is asked for what the clients have seen. ANTIPHON_TEST_KILLS sets how often;
 * on PostgreSQL, which loses a connection where SQLite loses a process in the
 * middle of writing, a quarter of that.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import test from 'node:test';
import { BINARY, ENVIRONMENT, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { patience } from '../lib/patience.mjs';
import { NO_POSTGRES, startPostgres } from '../lib/postgres.mjs';
import { Talks } from '../lib/talks.mjs';
import { startUpstream } from '../lib/upstream.mjs';

const KILLS = Number(process.env.ANTIPHON_TEST_KILLS ?? 40);
const CLIENTS = 8;
const SECONDS = (kills) => patience(60_000 + 4000 * kills); /* a guard, not a claim */

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function prepare(t) {
    const up = await startUpstream();
    t.after(() => up.close());
    return new Talks(up);
}

/* Starts on a store that the last daemon had no time to close. */
async function start(t, { up }, store, ...args) {
    const daemon = await startDaemon({ upstream: up.url, args: ['--store', store, '--conversation-lock', '1s', ...args] });
    t.after(() => daemon.child.kill('SIGKILL')); /* it has ended, unless the test failed */
    return daemon;
}

/* Clients at work until the daemon is killed under them. */
async function workUntilKilled(talks, daemon) {
    const clients = Array.from({ length: CLIENTS }, () => talks.work(daemon));
    await pause(20 + 180 * Math.random());
    daemon.child.kill('SIGKILL');
    const [{ signal }] = await Promise.all([daemon.exited, ...clients]);
    assert.equal(signal, 'SIGKILL', `ended by itself:\n${daemon.log}`);
    assert.doesNotMatch(daemon.log, /^\S+ (warn|error) (?!loop_held)/m);
}

async function killInALoop(t, talks, store, kills) {
    for (let i = 0, inspected = 0; i < kills; i++) {
        /* What a process has written outlives it, synced or not. */
        const daemon = await start(t, talks, store, ...i % 2 === 0 ? [] : ['--no-store-sync']);
        await talks.inspect(daemon, inspected);
        inspected = talks.turns.length;
        await workUntilKilled(talks, daemon);
    }
    const count = (fate) => talks.turns.filter((turn) => turn.fate === fate).length;
    t.diagnostic(`${kills} kills: ${count('stored')} turns acknowledged, ${count('lost')} broken off, ` +
        `${count('refused')} met a locked conversation, ${talks.conversations.length} conversations`);
    assert.ok(count('stored') > kills && count('lost') > kills, 'there was something to lose');
}

/* Nothing of it is gone at the end either, and all can go on. */
async function checkAtTheEnd(t, talks, store) {
    const daemon = await start(t, talks, store);
    await talks.inspect(daemon);
    const broken = talks.turns.filter(({ fate, isThere }) => fate === 'lost' && isThere).length;
    await talks.continueAll(daemon);
    await talks.inspect(daemon);
    await daemon.stop();
    return broken;
}

/* No response is stored in part, also none that no client knows of. */
function checkExport(talks, store) {
    const lines = execFileSync(BINARY, ['store', 'export', '--store', store], { env: ENVIRONMENT, encoding: 'utf8', maxBuffer: 1 << 30 });
    const responses = lines.trim().split('\n').map((line) => JSON.parse(line)).filter(({ response }) => response);
    for (const { response, input } of responses)
        talks.checkWhole(response, input);
    const ids = new Set(responses.map(({ response }) => response.id));
    for (const { id } of talks.stored)
        assert.ok(ids.has(id), `${id} was acknowledged`);
    return responses.length;
}

test('SQLite: killed again and again, nothing acknowledged is lost and nothing is there by halves', { timeout: SECONDS(KILLS) }, async (t) => {
    const talks = await prepare(t);
    const path = folder(t, 'antiphon.db');
    await killInALoop(t, talks, `sqlite:${path}`, KILLS);
    const broken = await checkAtTheEnd(t, talks, `sqlite:${path}`);
    const n = checkExport(talks, `sqlite:${path}`);
    t.diagnostic(`${n} responses in the store, ${broken} of them known to be broken off after they were stored`);
    for (const pragma of ['integrity_check', 'foreign_key_check'])
        assert.match(execFileSync('sqlite3', [path, `PRAGMA ${pragma}`], { encoding: 'utf8' }).trim(), /^(ok)?$/);
});

test('PostgreSQL: the same', { skip: NO_POSTGRES, timeout: SECONDS(KILLS) }, async (t) => {
    const talks = await prepare(t);
    const server = await startPostgres();
    t.after(() => server.close());
    const store = await server.database();
    await killInALoop(t, talks, store, Math.ceil(KILLS / 4));
    await checkAtTheEnd(t, talks, store);
    checkExport(talks, store);
});
