/* retention.test.mjs -- what a store removes for its age, and that no clock can make it remove more. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import test, { after, before, describe } from 'node:test';
import { ask, get } from '../lib/client.mjs';
import { clock as fakeClock, NO_FAKETIME } from '../lib/clock.mjs';
import { BINARY, ENVIRONMENT, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { patience } from '../lib/patience.mjs';
import { NO_POSTGRES, startPostgres } from '../lib/postgres.mjs';
import { startUpstream } from '../lib/upstream.mjs';

const DAY_MS = 24 * 3600 * 1000;
const LOOKS_EVERY_MS = 10_000; /* a gateway at its limits */

function store(args, clock) {
    const { status, stdout, stderr } = spawnSync(BINARY, ['store', ...args], { encoding: 'utf8', timeout: patience(30_000), env: { ...ENVIRONMENT, ...clock?.env } });
    assert.equal(status, 0, stderr);
    return stdout;
}

let up;
before(async () => { up = await startUpstream(); });
after(() => up?.close());

const respond = async (daemon, more = {}) => {
    const { status, json, text } = await ask(daemon, { input: 'Hi', store: true, ...more });
    assert.equal(status, 200, text);
    return json.id;
};
const isThere = async (daemon, id) => (await get(daemon, `/v1/responses/${id}`)).status === 200;

/* ---- on both databases ---- */

const SQLITE = {
    name: 'SQLite',
    open: () => ({
        place(t) {
            const file = folder(t, 'store.db');
            return {
                url: `sqlite:${file}`,
                sql: (text) => assert.equal(spawnSync('sqlite3', [file, `PRAGMA busy_timeout = 10000; ${text}`]).status, 0),
            };
        },
        close() {},
    }),
};

const POSTGRES = {
    name: 'PostgreSQL',
    skip: NO_POSTGRES,
    async open() {
        const server = await startPostgres();
        return {
            async place() {
                const url = await server.database();
                return { url, sql: (text) => server.sql(text, url.split('/').at(-1)) };
            },
            close: () => server.close(),
        };
    },
};

for (const kind of [SQLITE, POSTGRES]) {
    describe(kind.name, { skip: kind.skip, concurrency: false }, () => {
        let databases;
        before(async () => { databases = await kind.open(); });
        after(() => databases?.close());

        const start = async (t, { url }, clock, ...args) => {
            const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'm', '--store', url, ...args], env: clock?.env });
            t.after(() => daemon.child.exitCode ?? daemon.stop());
            return daemon;
        };

        /* A chain of two responses, and one alone. */
        const filled = async (t) => {
            const place = await databases.place(t);
            const daemon = await start(t, place);
            const first = await respond(daemon);
            const ids = [first, await respond(daemon, { previous_response_id: first }), await respond(daemon)];
            await daemon.stop();
            return { ...place, ids };
        };

        const allAreThere = async (daemon, ids) => {
            for (const id of ids)
                assert.ok(await isThere(daemon, id), `${id} is there`);
        };

        for (const [what, offset, options] of [['40 days ahead', '+40d'], ['40 days behind', '-40d'], ['20 years ahead', '+20y'],
            ['40 days ahead, the monotonic one as well', '+40d', { all: true }]]) {
            test(`a start with a clock ${what} removes nothing`, { skip: NO_FAKETIME }, async (t) => {
                const { ids, ...place } = await filled(t);
                const clock = fakeClock(t, offset, options);
                const daemon = await start(t, place, clock);
                ids.push(await respond(daemon, { previous_response_id: ids[1] }));
                await allAreThere(daemon, ids);
                await daemon.logged(/info store_time clock_ahead_s=-?\d+ reason=/);
                assert.match(store(['purge', '--store', place.url], clock), /^removed 0 /);
                await daemon.stop(); /* it has looked at its limits by now */
                assert.doesNotMatch(daemon.log, /store_removed/);
                const right = await start(t, place);
                await respond(right);
                await allAreThere(right, ids);
                await right.stop();
                assert.match(store(['purge', '--store', place.url]), /^removed 0 /);
            });
        }

        test('a clock that jumps in a running gateway removes nothing, and is told', { skip: NO_FAKETIME }, async (t) => {
            const clock = fakeClock(t, '+0');
            const place = await databases.place(t);
            const daemon = await start(t, place, clock);
            const ids = [await respond(daemon)];
            for (const offset of ['+40d', '-40d']) {
                clock.set(offset);
                if (offset === '+40d')
                    await daemon.logged(/warn clock_jumped by_s=34\d{5} /, 4 * LOOKS_EVERY_MS);
                ids.push(await respond(daemon));
                assert.match(store(['purge', '--store', place.url], clock), /^removed 0 /);
            }
            clock.set('+0');
            await allAreThere(daemon, ids);
            await daemon.stop();
            assert.match(store(['purge', '--store', place.url]), /^removed 0 /);
        });

        test('gateways that differ by 40 days and an hour keep what the others have', { skip: NO_FAKETIME }, async (t) => {
            const place = await databases.place(t);
            const ids = [];
            for (const offset of ['+0', '+40d', '+1h']) {
                const daemon = await start(t, place, fakeClock(t, offset));
                ids.push(await respond(daemon, { previous_response_id: ids.at(-1) }));
                await allAreThere(daemon, ids);
            }
            assert.match(store(['purge', '--store', place.url]), /^removed 0 /);
        });

        test('what goes for its number is what was used least recently, whatever the clocks said', { skip: NO_FAKETIME }, async (t) => {
            const place = await databases.place(t);
            const ids = [];
            for (const offset of ['+40d', '+0', '-40d']) {
                const daemon = await start(t, place, fakeClock(t, offset));
                ids.push(await respond(daemon));
                await daemon.stop();
            }
            assert.match(store(['purge', '--store-max-responses', '2', '--store', place.url]), /^removed 1 /);
            const daemon = await start(t, place);
            assert.deepEqual(await Promise.all(ids.map((id) => isThere(daemon, id))), [false, true, true]);
        });

        test('what was not used for longer than the store has measured goes, and is told', async (t) => {
            const { ids, ...place } = await filled(t);
            await place.sql(`UPDATE history SET used_at = used_at - ${31 * DAY_MS} WHERE n_responses = 2`);
            const daemon = await start(t, place);
            const [, responses, bytes] = await daemon.logged(/info store_removed reason=age histories=1 responses=(\d+) bytes=(\d+)/, 2 * LOOKS_EVERY_MS);
            assert.ok(Number(responses) === 2 && Number(bytes) > 0);
            assert.deepEqual(await Promise.all(ids.map((id) => isThere(daemon, id))), [false, false, true]);
        });

        test('evictions are told with their reason and counts, not one by one', async (t) => {
            const place = await databases.place(t);
            const daemon = await start(t, place, undefined, '--store-max-responses', '3');
            for (let i = 0; i < 12; i++)
                await respond(daemon);
            await daemon.stop();
            const lines = daemon.log.match(/store_removed reason=count .*/g) ?? [];
            const removed = lines.map((line) => Number(line.match(/ responses=(\d+)/)[1])).reduce((sum, n) => sum + n, 0);
            assert.ok(lines.length >= 1 && lines.length <= 2, daemon.log);
            const { responses } = JSON.parse(store(['stats', '--json', '--store', place.url]));
            assert.equal(responses + removed, 12);
        });

        /* As if everything had happened 40 days earlier. */
        test('a store that was away for 40 days removes nothing by itself; --trust-clock counts them', async (t) => {
            const { ids, ...place } = await filled(t);
            await place.sql(`UPDATE clock SET time_ms = time_ms - ${40 * DAY_MS}; UPDATE history SET used_at = used_at - ${40 * DAY_MS}`);
            const daemon = await start(t, place);
            await daemon.logged(/info store_time clock_ahead_s=34\d{5} reason=".*--trust-clock/);
            const young = await respond(daemon);
            await allAreThere(daemon, ids);
            assert.match(store(['purge', '--store', place.url]), /^removed 0 /);
            assert.match(store(['purge', '--trust-clock', '--store', place.url]), /^the store's time went on by 34\d{5} seconds\nremoved 3 histories; /);
            assert.match(store(['purge', '--trust-clock', '--store', place.url]), /^the store's time went on by \d seconds?\nremoved 0 /);
            assert.ok(!(await isThere(daemon, young)), 'by that clock it was not used for 40 days either');
        });
    });
}
