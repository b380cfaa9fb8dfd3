/* websocket_load.test.mjs -- many WebSockets at once: what an idle one costs, and that nobody hears what
 * another lane was told, or leaves anything behind, however clients go.
 *
 * The upstream says the last message back, word by word, so every delta shows whose it is. */
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { BINARY, startDaemon } from '../lib/daemon.mjs';
import { SEED, dice } from '../lib/dice.mjs';
import { MIB, resident, settled } from '../lib/memory.mjs';
import { IS_SLOW, patience } from '../lib/patience.mjs';
import { chunk, frames, startUpstream, stream } from '../lib/upstream.mjs';
import { dialWebSocket } from '../lib/websocket.mjs';

const IS_CHECKED = IS_SLOW || /asan|tsan/.test(BINARY); /* by something that needs time and memory itself */
const CONNECTIONS = IS_CHECKED ? 200 : 1000;
const BUSY = IS_CHECKED ? 20 : 100;
const LANES = 8;
const PROCESSES = IS_CHECKED ? 2 : 5;
const ROUNDS = IS_CHECKED ? 2 : 4;
const WORDS = 5;
const MOST_KB_IDLE = 16;

const descriptors = (daemon) => readdirSync(`/proc/${daemon.child.pid}/fd`).length;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function until(fits, what) {
    for (const deadline = performance.now() + patience(20_000); !fits(); await pause(10))
        assert.ok(performance.now() < deadline, what);
}

/* Says the last message back, with pauses, so that many answers overlap. */
const echo = (below) => ({ body }) => {
    const tag = body.messages.at(-1).content;
    const pieces = [];
    for (let i = 0; i < WORDS; i++)
        pieces.push(below(30), ...frames(chunk({ content: `${tag} ` })));
    return stream([...pieces, ...frames(chunk({}, 'stop'), '[DONE]')]);
};

/* Every delta of a lane is of its own create, and of one of this connection. */
function checkLanes(ws, name) {
    for (const { delta, stream_id } of ws.messages) {
        if (delta === undefined)
            continue;
        assert.match(delta, new RegExp(`^${name}:${stream_id}:\\d+ $`));
    }
}

/* A client that keeps all of its lanes busy for some rounds, or breaks off in between. */
async function keepBusy(daemon, name, below, { rounds = ROUNDS, dies = below(2) === 0 } = {}) {
    const ws = await dialWebSocket(daemon);
    const last = new Map();
    if (dies)
        setTimeout(() => ws.socket.resetAndDestroy(), below(patience(400)));
    try {
        for (let round = 0; round < rounds; round++) {
            for (let lane = 0; lane < LANES; lane++)
                ws.create({ input: `${name}:${lane}:${round}`, previous_response_id: last.get(lane) }, `${lane}`);
            for (let ended = 0; ended < LANES; ended++) {
                const end = await ws.next((m) => m.type === 'response.completed' || m.type === 'error', 'an end', 60_000); /* one process plays all */
                assert.equal(end.type, 'response.completed', JSON.stringify(end));
                last.set(Number(end.stream_id), end.response.id);
            }
            checkLanes(ws, name);
        }
    } catch (error) {
        if (!dies || error.code === 'ERR_ASSERTION')
            throw error;
    }
    if (below(2) === 0)
        await ws.close();
    else
        ws.socket.destroy();
}

/* Processes with several such clients each, which are killed. One that is told something wrong ends by
 * itself. */
async function killSome(daemon, below) {
    await Promise.all(Array.from({ length: PROCESSES }, async (_, i) => {
        const child = fork(fileURLToPath(import.meta.url), ['clients', daemon.host, String(daemon.port), `p${i}`], { execArgv: [] });
        const ended = once(child, 'exit');
        await Promise.race([once(child, 'message'), ended]); /* it is busy */
        setTimeout(() => child.kill('SIGKILL'), below(patience(300)));
        assert.deepEqual(await ended, [null, 'SIGKILL']);
    }));
}

async function beClients(host, port, name) {
    const below = dice(Number(name.slice(1)) + 1);
    const forever = { rounds: Infinity, dies: false };
    setTimeout(() => process.send('busy'), 300);
    await Promise.all(Array.from({ length: 10 }, (_, i) => keepBusy({ host, port }, `${name}-${i}`, below, forever)));
}

if (process.argv[2] === 'clients')
    await beClients(process.argv[3], Number(process.argv[4]), process.argv[5]);
else test('many connections, idle and busy, and clients that are killed', { timeout: patience(180_000) }, async (t) => {
    const below = dice();
    t.diagnostic(`seed ${SEED}`);
    const up = await startUpstream();
    let isUp = true;
    const close = () => isUp && ((isUp = false), up.close());
    t.after(close);
    const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'm', '--workers', '2'] });
    t.after(() => daemon.stop());
    up.always(echo(below));

    const open = (n) => Promise.all(Array.from({ length: n }, () => dialWebSocket(daemon)));
    for (const ws of await open(50)) /* what the first ones make grow is not theirs */
        await ws.close();
    const base = descriptors(daemon), before = resident(daemon);
    const idle = await open(CONNECTIONS - BUSY);
    assert.ok(idle.every((ws) => ws.status === 101));
    const each = (resident(daemon) - before) * MIB / 1024 / idle.length;
    t.diagnostic(`an idle connection takes ${each.toFixed(1)} KB`);
    assert.ok(IS_CHECKED || each < MOST_KB_IDLE, `${each} KB`);

    const heights = [];
    for (const half of ['a', 'b']) {
        const killed = killSome(daemon, below);
        await Promise.all(Array.from({ length: BUSY }, (_, i) => keepBusy(daemon, `${half}${i}`, below)));
        await killed;
        await until(() => up.requests.every((r) => r.whole), 'an upstream request was left');
        heights.push(resident(daemon));
    }
    for (const ws of idle) {
        assert.equal(ws.messages.length, 0);
        if (below(2) === 0)
            ws.socket.resetAndDestroy();
        else
            ws.close().catch(() => {});
    }
    await close(); /* with the connections that the gateway keeps to it */
    await until(() => descriptors(daemon) <= base, 'connections are left open');
    const after = await settled(daemon, (before + heights[0]) / 2);
    t.diagnostic(`resident: ${[before, ...heights, after].map((n) => n.toFixed(1)).join(', ')} MiB: before, after each half, in the end`);
    assert.ok(IS_CHECKED || (heights[1] <= heights[0] + 8 && after <= heights[1] + 1), 'memory is left');
});
