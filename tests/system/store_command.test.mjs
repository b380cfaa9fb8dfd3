/* store_command.test.mjs -- `antiphon store` beside a gateway that uses the store. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before, describe } from 'node:test';
import { ask, get } from '../lib/client.mjs';
import { BINARY, ENVIRONMENT, startDaemon } from '../lib/daemon.mjs';
import { patience } from '../lib/patience.mjs';
import { NO_POSTGRES, PASSWORD, startPostgres } from '../lib/postgres.mjs';
import { startUpstream } from '../lib/upstream.mjs';

/* { status, stdout, stderr } */
const store = (args, { env = {}, ...options } = {}) =>
    spawnSync(BINARY, ['store', ...args], { encoding: 'utf8', timeout: patience(30_000), env: { ...ENVIRONMENT, ...env }, ...options });

function fine(args, options) {
    const { status, stdout, stderr } = store(args, options);
    assert.equal(status, 0, stderr);
    assert.equal(stderr, '');
    return stdout;
}

const lines = (text) => text.split('\n').slice(0, -1).map((line) => JSON.parse(line));

/* ---- what works, on both databases ---- */

const SQLITE = {
    name: 'SQLite',
    async open() {
        const dir = mkdtempSync(join(tmpdir(), 'antiphon-test-'));
        const file = join(dir, 'it is here.db');
        return {
            url: `sqlite:${file}`,
            sql: (text) => assert.equal(spawnSync('sqlite3', [file, `PRAGMA busy_timeout = 10000; ${text}`]).status, 0),
            close: () => rmSync(dir, { recursive: true }),
        };
    },
};

const POSTGRES = {
    name: 'PostgreSQL',
    skip: NO_POSTGRES,
    async open() {
        const server = await startPostgres();
        const url = await server.database();
        return { url, sql: (text) => server.sql(text, url.split('/').at(-1)), close: () => server.close() };
    },
};

for (const kind of [SQLITE, POSTGRES]) {
    describe(kind.name, { skip: kind.skip, concurrency: false }, () => {
        let db, up, daemon;

        before(async () => {
            db = await kind.open();
            up = await startUpstream();
            daemon = await startDaemon({ upstream: up.url, args: ['--model', 'm', '--store', db.url] });
        });
        after(async () => {
            await daemon?.stop();
            await up?.close();
            await db?.close();
        });

        const respond = async (body) => (await ask(daemon, { store: true, ...body })).json;
        const stats = () => JSON.parse(fine(['stats', '--json', '--store', db.url]));

        test('a new store is empty', () => {
            const { file_bytes, schema_version, ...rest } = stats();
            assert.deepEqual(rest, {
                histories: 0, conversations: 0, responses: 0, queued: 0, running: 0, items: 0, owners: 0,
                idempotency_keys: 0, bytes: 0, events_bytes: 0, oldest_use: null,
            });
            assert.ok(file_bytes > 0 && schema_version > 0);
        });

        test('stats count what a gateway stores', async () => {
            const first = await respond({ input: 'one' });
            await respond({ input: 'two', previous_response_id: first.id });
            await respond({ input: 'three' });
            const seen = stats();
            assert.deepEqual([seen.histories, seen.responses, seen.items, seen.owners], [2, 3, 6, 1]);
            assert.ok(seen.bytes > 0 && seen.file_bytes > seen.bytes);
            assert.ok(seen.oldest_use > 1.7e9);

            const table = fine(['stats', '--store', db.url]);
            assert.match(table, /^histories +2$/m);
            assert.match(table, /^responses +3$/m);
            assert.match(table, /^oldest use +20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC$/m);
        });

        test('an export holds every response as clients get it', async () => {
            const exported = lines(fine(['export', '--store', db.url]));
            assert.equal(exported.length, 3);
            for (const { response, input } of exported) {
                assert.deepEqual(response, (await get(daemon, `/v1/responses/${response.id}`)).json);
                assert.deepEqual(input, (await get(daemon, `/v1/responses/${response.id}/input_items?order=asc`)).json.data);
            }
            assert.deepEqual(exported.map(({ input }) => input[0].content[0].text), ['one', 'two', 'three']);
        });

        test('an export that finds no room fails', () => {
            const full = openSync('/dev/full', 'w');
            const { status, stderr } = store(['export', '--store', db.url], { stdio: ['ignore', full, 'pipe'] });
            closeSync(full);
            assert.equal(status, 1);
            assert.match(stderr, /No space left/);
        });

        test('an export holds every conversation with its items', async () => {
            const made = (await ask(daemon, { metadata: { a: 'b' }, items: [{ role: 'user', content: 'Hi "there"' }] }, { path: '/v1/conversations' })).json;
            const { conversation, items } = lines(fine(['export', '--store', db.url])).find((line) => line.conversation);
            assert.deepEqual(conversation, made);
            assert.deepEqual(items, (await get(daemon, `/v1/conversations/${made.id}/items?order=asc`)).json.data);
            assert.equal(stats().conversations, 1);
        });

        test('purge keeps what is within the limits', () => {
            assert.match(fine(['purge', '--store', db.url]), /^removed 0 histories; 3 are left, with 3 responses and /);
        });

        test('purge removes what was not used for as long as it is told', async () => {
            await db.sql('UPDATE history SET used_at = used_at - 7200000 WHERE n_responses = 2');
            assert.match(fine(['purge', '--older-than', '3h', '--store', db.url]), /^removed 0 /);
            assert.match(fine(['purge', '--older-than=1h', '--store', db.url]), /^removed 1 history; 2 are left, with 1 response and /);
        });

        test('purge takes limits from flags and environment', async () => {
            await respond({ input: 'four' });
            await respond({ input: 'five' });
            assert.match(fine(['purge', '--store-max-responses', '2'], { env: { ANTIPHON_STORE: db.url } }), /^removed 1 history; .* 2 responses /);
            assert.equal(lines(fine(['export', '--store', db.url])).filter(({ response }) => response).at(-1).input[0].content[0].text, 'five');
        });

        test('vacuum tells the size before and after', async () => {
            assert.match(fine(['vacuum', '--store', db.url]), /^the database took [\d.]+ [KM]iB and now takes [\d.]+ [KM]iB$/m);
            assert.equal((await respond({ input: 'still here' })).status, 'completed');
        });
    });
}

/* A server ends transactions that stand still. */
test('an export whose reader is slow stays whole', { skip: NO_POSTGRES }, async (t) => {
    const server = await startPostgres();
    t.after(() => server.close());
    const url = await server.database();
    const up = await startUpstream();
    t.after(() => up.close());
    const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'm', '--store', url] });
    t.after(() => daemon.stop());
    const long = 'x'.repeat(300_000); /* more than a pipe takes */
    await ask(daemon, { input: long, store: true });
    await ask(daemon, { input: 'and more', store: true });

    const child = spawn(BINARY, ['store', 'export', '--store', url, '--store-timeout', '200ms'], { env: { ...ENVIRONMENT, PGAPPNAME: 'export' } });
    t.after(() => child.kill());
    const stands = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'export' AND state LIKE 'idle%' AND state_change < clock_timestamp() - interval '1s'";
    for (const deadline = performance.now() + patience(20_000); (await server.sql(stands)).length === 0;)
        assert.ok(performance.now() < deadline && child.exitCode === null, 'the export waits for its reader');
    let out = '', told = '';
    child.stdout.setEncoding('utf8').on('data', (text) => (out += text));
    child.stderr.setEncoding('utf8').on('data', (text) => (told += text));
    const [status] = await once(child, 'close');
    assert.equal(status, 0, told);
    assert.deepEqual(lines(out).map(({ input }) => input[0].content[0].text), [long, 'and more']);
});

/* ---- what does not ---- */

describe('mistakes', () => {
    const refused = (args, status, word, options) => {
        const seen = store(args, options);
        assert.equal(seen.status, status, seen.stderr);
        assert.equal(seen.stdout, '');
        assert.match(seen.stderr, word);
        return seen.stderr;
    };
    const nowhere = 'sqlite:/nonexistent/antiphon.db';

    for (const [what, args, word] of [
        ['no word', [], /stats, purge, export, vacuum, backup or upgrade/],
        ['an unknown word', ['dance'], /stats, purge, export, vacuum, backup or upgrade/],
        ['an unknown flag', ['stats', '--no-such-flag'], /no-such-flag/],
        ['a flag of another word', ['purge', '--json'], /--json/],
        ['a duration that is none', ['purge', '--older-than', 'soon', '--store', nowhere], /--older-than.*"soon"/],
        ['no duration', ['purge', '--older-than'], /--older-than/],
        ['a duration of nothing', ['purge', '--older-than', '0', '--store', nowhere], /at least 1s/],
        ['a check that would purge', ['purge', '--check-config'], /antiphon serve/],
        ['a store that is none', ['stats', '--store', 'mysql://x'], /--store/],
    ])
        test(`${what} is refused with what would be right`, () => void refused(args, 2, word));

    test('a database that is not there is not made', (t) => {
        const dir = mkdtempSync(join(tmpdir(), 'antiphon-test-'));
        t.after(() => rmSync(dir, { recursive: true }));
        refused(['stats'], 1, /no database \.\/antiphon\.db/, { cwd: dir });
        refused(['stats'], 1, new RegExp(`no database ${dir}/antiphon\\.db`), { env: { STATE_DIRECTORY: dir } });
        assert.deepEqual(readdirSync(dir), []);
    });

    test('a store in memory is out of reach', () => void refused(['stats', '--store', 'memory'], 1, /memory/));

    test('a server that is not there is told without its password', () => {
        const told = refused(['stats', '--store', `postgres://me:${PASSWORD}@127.0.0.1:1/db`], 1, /Connection refused/);
        assert.ok(!told.includes(PASSWORD));
    });

    test('help names every word and ends well', () => {
        for (const args of [['--help'], ['purge', '--help']]) {
            const help = fine(args);
            for (const word of ['store stats', 'store purge', 'store export', 'store vacuum', '--older-than'])
                assert.ok(help.includes(word), word);
        }
    });
});
