/* load.test.mjs -- many clients at once, slow ones among them, and the limits that
 * this runs into.
 *
 * Node would be busier than the gateway, so both ends of the load are C programs (tests/load)
 * that check every stream whole. The slow clients come first and stay while the
 * others are served; then the test looks at what they cost, and lets them read on.
 *
 * What a slow client may cost follows from the configuration: max_pending bytes
 * wait for it, and what one more read of the upstream has become may come on top.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import test from 'node:test';
import { get } from '../lib/client.mjs';
import { BINARY, ROOT, startDaemon } from '../lib/daemon.mjs';
import { IS_SLOW, patience } from '../lib/patience.mjs';

const IS_CHECKED = IS_SLOW || /asan|tsan/.test(BINARY); /* by something that needs time and memory itself */
const ABOUT_DESCRIPTORS = IS_SLOW && 'a checker takes some for itself';

const STREAMS = IS_CHECKED ? 100 : 1000;
const PIECES = 200;
const SLOW = IS_CHECKED ? 20 : 200;
const SLOW_PIECES = 350;
const SLOW_PIECE_BYTES = 1000;

const KB = 1024;
const MAX_PENDING = 64 * KB;
const ONE_READ = 64 * KB; /* LOOP_SCRATCH_BYTES, the largest of the gateway's read buffers */
const FIXED = 32 * KB; /* connection, turn, upstream call and what they say at one moment */

/* A program that answers lines with lines of JSON. */
class Program {
    #lines;

    constructor(t, name, ...args) {
        const path = resolve(ROOT, 'build/release/tests', name);
        assert.ok(existsSync(path), `${path} is missing: run make tests`);
        this.child = spawn(path, args.map(String), { stdio: ['pipe', 'pipe', 'inherit'] });
        this.child.stdin.on('error', () => {}); /* it ended by itself */
        this.#lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
        t.after(() => this.child.kill('SIGKILL'));
    }

    async next() {
        const { value, done } = await this.#lines.next();
        assert.ok(!done, `${this.child.spawnfile} ended early`);
        return JSON.parse(value);
    }

    ask(word) {
        this.child.stdin.write(`${word}\n`);
        return this.next();
    }
}

function memory(daemon) {
    const status = readFileSync(`/proc/${daemon.child.pid}/status`, 'utf8');
    const bytes = (name) => Number(status.match(new RegExp(`${name}:\\s+(\\d+) kB`))[1]) * KB;
    return { now: bytes('VmRSS'), peak: bytes('VmHWM') };
}

const mb = (bytes) => `${(bytes / KB / KB).toFixed(1)} MB`;

/* Every slow stream was read from the upstream only as far as its client took
 * it, and what may wait; returns how far at most. Events are longer than the
 * chunks they come from, so bytes of the one can stand for bytes of the other. */
function checkBackPressure(t, { streams }, { slow }) {
    const upstream = new Map(streams.map((stream) => [stream.id, stream]));
    const read = slow.map(({ id }) => upstream.get(id)?.read ?? Infinity); /* none: its connection has another already */
    const ahead = slow.map(({ taken }, i) => read[i] - taken);
    t.diagnostic(`slow clients were sent ${mb(Math.max(...slow.map(({ taken }) => taken)))} at most, ` +
        `their upstream was read ${mb(Math.max(...ahead))} further`);
    assert.equal(slow.length, SLOW, 'all slow streams are running');
    assert.ok(Math.max(...ahead) <= MAX_PENDING + ONE_READ, `${Math.max(...ahead)} bytes ahead of a client`);
    return Math.max(...read);
}

/* What waits for a slow client and the text of its response so far both are in
 * buffers that grow by doubling. */
function checkMemory(t, before, after, read) {
    const bound = SLOW * (2 * (MAX_PENDING + ONE_READ) + 2 * read + FIXED) + STREAMS * FIXED;
    const growth = after.peak - before.now;
    t.diagnostic(`memory: ${mb(before.now)} before, ${mb(after.peak)} at most, bound ${mb(before.now + bound)}`);
    if (!IS_CHECKED)
        assert.ok(growth <= bound, `${mb(growth)} more, ${mb(bound)} allowed`);
}

test(`${STREAMS} streams at once, with ${SLOW} slow readers beside them`, { timeout: patience(180_000) }, async (t) => {
    const upstream = new Program(t, 'load_upstream');
    const { port } = await upstream.next();
    const daemon = await startDaemon({ upstream: `http://127.0.0.1:${port}/v1`, args: ['--max-pending', String(MAX_PENDING)] });
    const before = memory(daemon);

    const clients = new Program(t, 'load_streams', daemon.port, STREAMS, PIECES, SLOW, SLOW_PIECES, SLOW_PIECE_BYTES);
    t.after(() => daemon.stop()); /* after the ends of both programs, so that nothing holds it up */
    assert.deepEqual(await clients.next(),
        { phase: 'loaded', streams: STREAMS, valid: STREAMS, deltas: STREAMS * PIECES, slow_open: SLOW, fault: '' });
    const read = checkBackPressure(t, await upstream.ask('report'), await clients.ask('report'));
    checkMemory(t, before, memory(daemon), read);

    assert.deepEqual(await clients.ask('release'),
        { phase: 'released', streams: SLOW, valid: SLOW, deltas: SLOW * SLOW_PIECES, slow_open: 0, fault: '' });
    t.diagnostic(`memory: ${mb(memory(daemon).now)} after`);
});

/* ---- connections without a key */

const STRANGERS = IS_CHECKED ? 200 : 10_000;
const STRANGERS_MAY_COST = 64 * KB * KB; /* all together, beyond the idle daemon */
const files = Number(readFileSync('/proc/self/limits', 'utf8').match(/^Max open files\s+\S+\s+(\d+)/m)?.[1] ?? Infinity);
const CROWDED = (files < STRANGERS + 1000 && `needs ${STRANGERS + 1000} open files, the limit is ${files}`) || ABOUT_DESCRIPTORS;

/* What they say; which answers they may have. Those that find no place are told so; all of
 * max_connections are there only if the kernel spreads them evenly over the workers. */
for (const [what, headBytes, bodyBytes, isAnswered] of [
    ['that send bodies', 500, 64 * KB, true],
    ['that do not finish their heads', 3000, 0, false],
    ['that do not finish large heads', 60_000, 0, false]]) {
    test(`${STRANGERS} connections without a key ${what}`, { timeout: patience(120_000), skip: CROWDED }, async (t) => {
        const upstream = new Program(t, 'load_upstream');
        const { port } = await upstream.next();
        const daemon = await startDaemon({ upstream: `http://127.0.0.1:${port}/v1`, args: ['--api-key', 'sk-of-a-client'] });
        t.after(() => daemon.stop());
        assert.equal((await get(daemon, '/health')).status, 200);
        const before = memory(daemon);

        const strangers = new Program(t, 'load_strangers', daemon.port, STRANGERS, headBytes, bodyBytes);
        const heard = await strangers.next();
        if (isAnswered) {
            assert.equal(heard.unauthorized + heard.overloaded, STRANGERS, JSON.stringify(heard));
            assert.ok(heard.unauthorized > 0.8 * STRANGERS, JSON.stringify(heard));
        }
        const { now, peak } = memory(daemon);
        t.diagnostic(`${JSON.stringify(heard)}; memory: ${mb(before.now)} before, ${mb(now)} now, ${mb(peak)} at most`);
        if (!IS_CHECKED)
            assert.ok(peak - before.now <= STRANGERS_MAY_COST, `${mb(peak - before.now)} more`);
    });
}

/* ---- descriptors: each client may need two */

/* The end of the daemon's start, under these limits of the shell's ulimit. */
async function startUnder(t, limits, ...args) {
    const child = spawn('sh', ['-c', `ulimit ${limits} && exec "$0" serve --listen 127.0.0.1:0 "$@"`, BINARY, ...args],
        { stdio: ['ignore', 'ignore', 'pipe'] });
    t.after(() => child.kill('SIGKILL'));
    const log = [];
    for await (const line of createInterface({ input: child.stderr })) {
        log.push(line);
        if (line.includes('listening'))
            break;
    }
    return { log: log.join('\n'), limits: readFileSync(`/proc/${child.pid}/limits`, 'utf8') };
}

test('the soft limit on open files is raised to the hard one', { skip: ABOUT_DESCRIPTORS }, async (t) => {
    const { log, limits } = await startUnder(t, '-Sn 128', '--max-connections', '50');
    const [, soft, hard] = limits.match(/^Max open files\s+(\S+)\s+(\S+)/m);
    assert.equal(soft, hard);
    assert.notEqual(soft, '128');
    assert.doesNotMatch(log, /max_connections/);
});

test('max_connections beyond the hard limit on open files is told', { skip: ABOUT_DESCRIPTORS }, async (t) => {
    const { log } = await startUnder(t, '-n 256', '--max-connections', '1000');
    assert.match(log, /max_connections 1000 may need 2000 open files, the limit is 256/);
});
