/* store_upgrade.test.mjs -- who may migrate a store, what is kept of it, and who may use it afterwards
 * (docs/upgrade.md). */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { after, before, describe } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { ask, get } from '../lib/client.mjs';
import { BINARY, ENVIRONMENT, ROOT, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { patience } from '../lib/patience.mjs';
import { NO_POSTGRES, startPostgres } from '../lib/postgres.mjs';
import { startUpstream } from '../lib/upstream.mjs';

const WRITES = 4, OLD = '2-last';
const STORES = join(ROOT, 'tests/data/stores');
const told = JSON.parse(readFileSync(join(STORES, `${OLD}.json`), 'utf8'));
const unpacked = (suffix) => gunzipSync(readFileSync(join(STORES, `${OLD}${suffix}.gz`)));
const store = (...args) => spawnSync(BINARY, ['store', ...args], { encoding: 'utf8', timeout: patience(30_000), env: ENVIRONMENT });

function fine(...args) {
    const { status, stdout, stderr } = store(...args);
    assert.deepEqual([status, stderr], [0, '']);
    return stdout;
}

let up;
before(async () => { up = await startUpstream(); });
after(() => up?.close());

const serve = async (t, url, args = []) => {
    const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'm', '--store', url, ...args] });
    t.after(() => daemon.child.exitCode ?? daemon.stop());
    return daemon;
};

/* ---- on both databases ---- */

const SQLITE = {
    name: 'SQLite',
    open: async () => ({ close: () => {} }),
    async old(server, t) {
        const file = folder(t, 'store.db');
        writeFileSync(file, unpacked('.db'), { mode: 0o600 });
        const sql = async (text) => spawnSync('sqlite3', [file, text], { encoding: 'utf8' }).stdout.trim();
        return { url: `sqlite:${file}`, file, sql, was: told.sqlite };
    },
};

const POSTGRES = {
    name: 'PostgreSQL',
    skip: NO_POSTGRES,
    open: () => startPostgres(),
    async old(server, t) {
        const file = folder(t, 'store.sql');
        writeFileSync(file, unpacked('.sql'));
        const url = await server.database(), database = url.split('/').at(-1);
        await server.load(file, database);
        return { url, sql: async (text) => (await server.sql(text, database)).join('\n'), was: told.postgres };
    },
};

for (const kind of [SQLITE, POSTGRES]) {
    describe(kind.name, { skip: kind.skip, concurrency: false }, () => {
        let server;
        before(async () => { server = await kind.open(); });
        after(() => server?.close());
        const version = (db) => db.sql('SELECT schema_version FROM meta').then(Number);

        test('commands that look at an older store leave it alone and say what brings it up to date', async (t) => {
            const db = await kind.old(server, t);
            for (const args of [['stats'], ['stats', '--json'], ['export'], ['purge'], ['purge', '--older-than', '1s'], ['vacuum']]) {
                const { status, stdout, stderr } = store(...args, '--store', db.url);
                assert.deepEqual([status, stdout], [1, ''], args.join(' '));
                assert.match(stderr, /version 2, this one works with 4.*antiphon store upgrade/);
            }
            assert.equal(await version(db), 2);
        });

        test('upgrade --check tells what upgrade does', async (t) => {
            const db = await kind.old(server, t);
            assert.equal(fine('upgrade', '--check', '--store', db.url), 'the tables have version 2 and would be brought to 4\n');
            assert.equal(await version(db), 2);
            assert.match(fine('upgrade', '--store', db.url), /^the tables had version 2 and now have 4(; what was there before is .*\/store\.db\.v2)?\n$/);
            assert.equal(await version(db), WRITES);
            for (const args of [['upgrade'], ['upgrade', '--check']])
                assert.equal(fine(...args, '--store', db.url), 'the tables have version 4, as this program writes it: there is nothing to do\n');
            assert.equal(JSON.parse(fine('stats', '--json', '--store', db.url)).schema_version, WRITES);
            const daemon = await serve(t, db.url);
            assert.equal((await get(daemon, `/v1/responses/${db.was.two.id}`)).status, 200);
        });

        test('a newer program that lets this one go on has its tables used and left as they are', async (t) => {
            const db = await kind.old(server, t);
            fine('upgrade', '--store', db.url);
            /* As a minor version later would: something is added, and its version is written. */
            await db.sql("ALTER TABLE response ADD COLUMN mood TEXT NOT NULL DEFAULT 'fine'; CREATE TABLE later (x BIGINT); UPDATE meta SET schema_version = 6, compatible_from = 4");
            const daemon = await serve(t, db.url);
            const { status, json } = await ask(daemon, { store: true, input: 'three', previous_response_id: db.was.two.id });
            assert.equal(status, 200);
            assert.equal((await get(daemon, `/v1/responses/${json.id}`)).status, 200);
            assert.match(fine('upgrade', '--store', db.url), /version 6, of a newer program; this one, which writes 4, can use them/);
            assert.match(fine('purge', '--store', db.url), /^removed 0 /);
            assert.equal(await version(db), 6);
        });

        test('a newer program that does not is told apart by status 3', async (t) => {
            const db = await kind.old(server, t);
            fine('upgrade', '--store', db.url);
            await db.sql('UPDATE meta SET schema_version = 6, compatible_from = 5');
            for (const args of [['stats'], ['export'], ['purge'], ['upgrade'], ['upgrade', '--check']]) {
                const { status, stderr } = store(...args, '--store', db.url);
                assert.equal(status, 3, args.join(' '));
                assert.match(stderr, /tables have version 6 and want a program that knows 5, this one knows 4/);
            }
            assert.equal(spawnSync(BINARY, ['serve', '--listen', '127.0.0.1:0', '--store', db.url], { env: ENVIRONMENT, timeout: patience(30_000) }).status, 3);
            assert.equal(await version(db), 6);
        });
    });
}

/* ---- copies of a file ---- */

test('serve copies a file before it migrates it, and the copy is what was there', async (t) => {
    const db = await SQLITE.old(null, t);
    const daemon = await serve(t, db.url);
    assert.match(daemon.log, /migrating the store.*from=2 to=4/);
    await daemon.stop();
    const copy = `${db.file}.v2`;
    assert.equal(statSync(copy).mode & 0o777, 0o600);
    assert.equal(spawnSync('sqlite3', [copy, 'PRAGMA integrity_check; SELECT schema_version FROM meta'], { encoding: 'utf8' }).stdout, 'ok\n2\n');

    /* One goes back: the copy is migrated as the file was. */
    const again = await serve(t, `sqlite:${copy}`);
    assert.equal((await get(again, `/v1/responses/${db.was.two.id}`)).status, 200);
});

test('store_backup false migrates in place', async (t) => {
    const db = await SQLITE.old(null, t);
    const daemon = await serve(t, db.url, ['--no-store-backup']);
    assert.equal((await get(daemon, `/v1/responses/${db.was.two.id}`)).status, 200);
    assert.ok(!existsSync(`${db.file}.v2`));
});

test('a backup of a store that is being written opens whole', async (t) => {
    const url = `sqlite:${folder(t, 'store.db')}`, daemon = await serve(t, url), known = [];
    let isOver = false;
    const writing = (async () => {
        for (let previous; !isOver; known.push(previous)) {
            const { status, json } = await ask(daemon, { store: true, input: 'on and on', previous_response_id: previous });
            assert.equal(status, 200);
            previous = json.id;
        }
    })();
    for (let i = 0; i < 3; i++) {
        while (known.length < 5 * (i + 1))
            await new Promise((done) => setTimeout(done, 5));
        const to = folder(t, 'copy.db'), n = known.length;
        assert.match(fine('backup', to, '--store', url), /^copied to .*copy\.db; the tables have version 4\n\/.*store\.db-key is not in it: copy that file as well.*\n$/);
        assert.equal(statSync(to).mode & 0o777, 0o600);
        assert.ok(JSON.parse(fine('stats', '--json', '--store', `sqlite:${to}`)).responses >= n);
        const other = await serve(t, `sqlite:${to}`);
        for (const id of known.slice(0, n))
            assert.equal((await get(other, `/v1/responses/${id}`)).status, 200);
        await other.stop();
    }
    isOver = true;
    await writing;
});

test('a backup replaces nothing, and needs a path', async (t) => {
    const db = await SQLITE.old(null, t), there = folder(t, 'there');
    writeFileSync(there, 'precious');
    const refused = store('backup', there, '--store', db.url);
    assert.equal(refused.status, 1);
    assert.match(refused.stderr, /already something at/);
    assert.equal(readFileSync(there, 'utf8'), 'precious');
    assert.equal(store('backup', '--store', db.url).status, 2);
    assert.match(fine('backup', `${there}.new`, '--store', db.url), /version 2\n$/); /* an older one as well */
});

test('a backup of PostgreSQL is refused with what to take', { skip: NO_POSTGRES }, async (t) => {
    const server = await startPostgres();
    t.after(() => server.close());
    const url = await server.database();
    const { status, stderr } = store('backup', folder(t, 'copy'), '--store', url);
    assert.equal(status, 1);
    assert.match(stderr, /pg_dump/);
});
