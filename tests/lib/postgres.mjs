/* postgres.mjs -- a PostgreSQL server of the tests' own.
 *
 *     const server = await startPostgres();
 *     t.after(() => server.close());
 *     const url = await server.database();     an empty one each time
 *
 * A real server with its files in a temporary folder. It listens on a free TCP
 * port, where it wants the password that `url` has in it, and on a Unix socket
 * in its folder, where it wants none. A watcher in a session of its own ends the
 * server and removes the folder as soon as its standard input closes: by close(),
 * or because the tests ended, however they did.
 *
 * Nothing is forced to the disk unless `fsync` is set: what the server has
 * acknowledged survives its own sudden end, though not the machine's.
 */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ENVIRONMENT } from './daemon.mjs';
import { freePort } from './free_port.mjs';
import { patience } from './patience.mjs';

const USER = 'antiphon';
export const PASSWORD = 'pass-of-tests';

/* Debian keeps the server's programs out of PATH, in a folder for each version. */
const BIN = (() => {
    const base = '/usr/lib/postgresql';
    const versions = existsSync(base) ? readdirSync(base).sort((a, b) => Number(b) - Number(a)) : [];
    return versions.map((version) => join(base, version, 'bin')).find((dir) => existsSync(join(dir, 'initdb')));
})();

/* For `test(name, { skip: NO_POSTGRES }, ...)`. */
export const NO_POSTGRES = BIN === undefined && 'no PostgreSQL server in /usr/lib/postgresql: install the package postgresql';

const ENV = { ...ENVIRONMENT, LC_ALL: 'C' };

/* The server refuses to run as root. */
const ACCOUNT = (() => {
    if (process.getuid() !== 0)
        return {};
    const ask = (flag, name) => spawnSync('id', [flag, name], { encoding: 'utf8' }).stdout.trim();
    const name = ['postgres', 'nobody'].find((user) => ask('-u', user) !== '');
    return { uid: Number(ask('-u', name)), gid: Number(ask('-g', name)) };
})();

/* The file goes when the server ends in order; a process that nobody waits for
 * may be there for longer. */
const WATCHER = `
read -r _
read -r pid _ <"$1/data/postmaster.pid" && kill -QUIT "$pid" && kill -CONT "$pid"
tries=200
while [ $tries -gt 0 ] && [ -e "$1/data/postmaster.pid" ] && kill -0 "$pid"; do
    sleep 0.05
    tries=$((tries - 1))
done
rm -rf "$1"
`;

const run = (program, args, options = {}) => new Promise((done, fail) => {
    execFile(join(BIN, program), args, { env: ENV, maxBuffer: 1 << 26, ...options }, (error, stdout, stderr) =>
        error ? fail(new Error(`${program}: ${stderr || error.message}`)) : done(stdout));
});

class Postgres {
    #settings;
    #watcher;
    #databases = 0;
    log = '';

    constructor(dir, port, settings) {
        Object.assign(this, { dir, port, data: join(dir, 'data') });
        this.#settings = settings;
        this.#watcher = spawn('sh', ['-c', WATCHER, 'sh', dir], { detached: true, env: ENV, stdio: ['pipe', 'ignore', 'ignore'] });
        this.#watcher.unref();
        this.#watcher.stdin.unref();
    }

    /* A database over TCP, and over the Unix socket. */
    url(database = 'postgres') {
        return `postgres://${USER}:${PASSWORD}@127.0.0.1:${this.port}/${database}`;
    }

    socketUrl(database = 'postgres') {
        return `postgres://${USER}@/${database}?host=${encodeURIComponent(this.dir)}&port=${this.port}`;
    }

    /* Runs SQL as the superuser; gives the rows as lines, columns separated by |. */
    async sql(text, database = 'postgres') {
        const out = await run('psql', ['-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', this.socketUrl(database), '-c', text]);
        return out.split('\n').slice(0, -1);
    }

    /* A database as SQL that the account of `url` can run, and running such. */
    dump(database) {
        return run('pg_dump', ['--no-owner', '--no-privileges', '--inserts', '-d', this.socketUrl(database)]);
    }

    load(file, database) {
        return run('psql', ['-Xq', '-v', 'ON_ERROR_STOP=1', '-d', this.socketUrl(database), '-f', file]);
    }

    /* The URL of a new database. */
    async database() {
        const name = `test_${process.pid}_${++this.#databases}`;
        await this.sql(`CREATE DATABASE ${name}`);
        return this.url(name);
    }

    async start() {
        for (const deadline = performance.now() + patience(60_000); ;) {
            if (await this.#tryStart())
                return this;
            /* Processes of a server that was killed take a moment to notice it. */
            if (!/still in use|is another postmaster/.test(this.log) || performance.now() > deadline)
                throw new Error(`PostgreSQL did not start:\n${this.log}`);
            await new Promise((done) => setTimeout(done, 50));
        }
    }

    async #tryStart() {
        const settings = Object.entries(this.#settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
        this.log = '';
        this.child = spawn(join(BIN, 'postgres'), ['-D', this.data, ...settings], { env: ENV, stdio: ['ignore', 'ignore', 'pipe'], ...ACCOUNT });
        this.exited = once(this.child, 'close');
        const ready = new Promise((done) => {
            this.child.stderr.setEncoding('utf8').on('data', (text) => {
                this.log += text;
                if (this.log.includes('ready to accept connections'))
                    done(true);
            });
        });
        return Promise.race([ready, this.exited.then(() => false)]);
    }

    async #end(signal) {
        this.child.kill(signal);
        await this.exited;
    }

    /* Ends it in order: running statements are broken off, connections told. */
    stop() {
        return this.#end('SIGINT');
    }

    /* As a crash: no one is told, and the next start recovers from the log. */
    kill() {
        return this.#end('SIGKILL');
    }

    async restart() {
        await this.stop();
        await this.start();
    }

    /* Stands still, connections open, as a machine that vanished; and goes on. */
    freeze() {
        this.#signalAll('SIGSTOP');
    }

    thaw() {
        this.#signalAll('SIGCONT');
    }

    #signalAll(signal) {
        const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', this.child.pid], { encoding: 'utf8' });
        for (const pid of [this.child.pid, ...stdout.trim().split(/\s+/).filter(Boolean).map(Number)])
            process.kill(pid, signal);
    }

    async close() {
        const gone = once(this.#watcher, 'close');
        this.#watcher.ref();
        this.#watcher.stdin.end();
        await gone;
    }
}

/* settings: of postgresql.conf, by name. */
export async function startPostgres({ fsync = false, settings = {} } = {}) {
    if (NO_POSTGRES)
        throw new Error(NO_POSTGRES);
    const dir = mkdtempSync(join(tmpdir(), 'antiphon-postgres-'));
    const port = await freePort();
    const server = new Postgres(dir, port, {
        port,
        fsync: fsync ? 'on' : 'off',
        shared_buffers: '16MB',
        listen_addresses: '127.0.0.1',
        unix_socket_directories: dir,
        ...settings,
    });
    try {
        await init(server);
        return await server.start();
    } catch (error) {
        await server.close();
        throw error;
    }
}

async function init(server) {
    const password = join(server.dir, 'password');
    writeFileSync(password, PASSWORD);
    if (ACCOUNT.uid !== undefined) {
        chownSync(server.dir, ACCOUNT.uid, ACCOUNT.gid);
        chownSync(password, ACCOUNT.uid, ACCOUNT.gid);
    }
    await run('initdb', ['-D', server.data, '-U', USER, '--pwfile', password, '--auth-local=trust', '--auth-host=scram-sha-256',
        '--no-sync', '--no-instructions', '--encoding=UTF8', '--locale=C'], ACCOUNT);
}
