/* processes.mjs -- what a benchmark starts: mock upstream, gateway, nginx, load.
 *
 * The proxy under test has one CPU for itself; mock and load tool share the
 * other. A server is { name, port, pid, stop() }, pid being the process whose
 * CPU time counts (of nginx: its worker). All of them write into a temporary
 * directory, which goes away with them when this process ends, however it ends.
 */
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';

export const PROGRAMS = 'build/release/bench';
export const RESULTS = 'bench/results';
const PROXY_CPU = 1;
const OTHER_CPU = 0;
const CONNECTIONS = 16384;

export const directory = mkdtempSync(join(tmpdir(), 'antiphon-bench-'));
const children = new Set();

/* The gateway reads variables of its own and of others; none may reach it. */
const env = { PATH: process.env.PATH };

process.on('exit', () => {
    for (const child of children)
        child.kill('SIGTERM'); /* not SIGKILL, which would leave nginx's worker alone */
    rmSync(directory, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => process.exit(1));

/* With --realtime everything goes before what else runs on the machine: a proxy that
 * waits for its CPU finds more events at a time when it gets it, and seems cheaper
 * than it is. */
export function urgent(command) {
    return process.argv.includes('--realtime') ? ['chrt', '--fifo', '1', ...command] : command;
}

/* On a single CPU the figures still come out, with more noise. */
function pinned(cpu, command) {
    return urgent(availableParallelism() > 1 ? ['taskset', '-c', String(cpu), ...command] : command);
}

export async function output(...command) {
    const { stdout } = await promisify(execFile)(command[0], command.slice(1).map(String), { env, maxBuffer: 1 << 26 });
    return stdout;
}

/* Below the ports that connections take for themselves: with those, a client that
 * tries until somebody listens may end up connected to itself. */
export async function freePort() {
    for (;;) {
        const port = 12000 + Math.floor(Math.random() * 18000);
        const server = createServer().listen(port, '127.0.0.1');
        const free = await new Promise((done) => server.on('listening', () => done(true)).on('error', () => done(false)));
        await new Promise((done) => server.close(done));
        if (free)
            return port;
    }
}

function accepts({ port }) {
    return new Promise((done) => {
        const socket = connect(port, '127.0.0.1', () => done(true)).on('error', () => done(false));
        socket.on('close', () => socket.destroy()).on('connect', () => socket.end());
    });
}

function start(name, cpu, command) {
    const log = join(directory, `${name}.log`);
    const fd = openSync(log, 'w');
    const [program, ...args] = pinned(cpu, command);
    const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', fd] });
    children.add(child);
    const exited = new Promise((done) => child.on('close', (code) => {
        children.delete(child);
        done(code);
    }));
    const stop = async () => {
        child.kill('SIGTERM');
        await exited;
    };
    return { name, child, log, pid: child.pid, stop, exited };
}

async function ready(server, port, isUp) {
    server.port = port;
    while (!await isUp(server)) {
        if (server.child.exitCode !== null)
            throw new Error(`${server.name} did not start:\n${readFileSync(server.log, 'utf8')}`);
        await pause(10);
    }
    return server;
}

export async function startMock() {
    const mock = start('mock', OTHER_CPU, [`${PROGRAMS}/mock_upstream`]);
    mock.port = Number(await new Promise((done) => mock.child.stdout.once('data', done)));
    mock.exited.then((status) => status !== null && console.error(readFileSync(mock.log, 'utf8')));
    return mock;
}

/* A fair nginx: two connections for each stream, kept-alive on both sides without
 * a limit, nothing buffered or written to disk but one log line for each request,
 * as the gateway does. */
const nginxConf = (port, mock) => `
${process.getuid() === 0 ? 'user root;' : ''}
daemon off;
worker_processes 1;
worker_rlimit_nofile ${CONNECTIONS};
pid ${directory}/nginx.pid;
error_log ${directory}/nginx.error.log;
events { worker_connections ${CONNECTIONS}; }
http {
    access_log ${directory}/nginx.access.log;
    client_body_temp_path ${directory}/body;
    proxy_temp_path ${directory}/proxy;
    fastcgi_temp_path ${directory}/fastcgi;
    uwsgi_temp_path ${directory}/uwsgi;
    scgi_temp_path ${directory}/scgi;
    keepalive_requests 100000000;
    client_body_buffer_size 256k;
    upstream mock {
        server 127.0.0.1:${mock.port};
        keepalive ${CONNECTIONS / 2};
        keepalive_requests 100000000;
    }
    server {
        listen 127.0.0.1:${port} backlog=1024;
        location / {
            proxy_pass http://mock;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
            proxy_read_timeout 600s;
        }
    }
}
`;

/* Configured as shipped but for one worker. A profiler follows one process, and a
 * start is timed without forking: there nginx runs without its master. */
export const commandOf = {
    antiphon: (port, mock) => ['build/antiphon', 'serve', '--workers', '1',
        '--listen', `127.0.0.1:${port}`, '--store', `sqlite:${directory}/antiphon.db`, '--upstream-kind', 'generic',
        ...(mock.file ? ['--upstreams-file', mock.file] : ['--upstream', `http://127.0.0.1:${mock.port}/v1`])],
    nginx: (port, mock, master = 'off') => {
        const conf = join(directory, 'nginx.conf');
        writeFileSync(conf, nginxConf(port, mock));
        return ['nginx', '-p', directory, '-c', conf, '-e', `${directory}/nginx.error.log`,
            '-g', `master_process ${master};`];
    },
};

/* `under`: the command of a profiler. `options`: what is not as shipped; the last one of a kind counts. */
export async function startAntiphon(mock, under = [], options = []) {
    const port = await freePort();
    /* It listens for a moment before, to see whether the port is free. */
    const isUp = ({ log }) => readFileSync(log, 'utf8').includes(' listening ');
    return ready(start('antiphon', PROXY_CPU, [...under, ...commandOf.antiphon(port, mock), ...options]), port, isUp);
}

/* The mock as so many upstreams of a file. */
export function upstreamsOf(mock, n) {
    const one = { url: `http://127.0.0.1:${mock.port}/v1`, models: ['bench-*'], health: 'off', upstream_probe_timeout: '0' }; /* the mock answers POST alone */
    const file = join(directory, `upstreams.${n}.json`);
    writeFileSync(file, JSON.stringify({ upstreams: Object.fromEntries(Array.from({ length: n }, (_, i) => [`mock${i}`, one])) }));
    return { ...mock, file };
}

/* The same gateway at a second address, where it speaks TLS. */
export async function startAntiphonTls(mock) {
    const [cert, key] = [join(directory, 'tls.crt'), join(directory, 'tls.key')];
    await output('openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '30', '-subj', '/CN=localhost',
        '-keyout', key, '-out', cert);
    const port = await freePort();
    const plain = await startAntiphon(mock, [], ['--listen', `127.0.0.1:${port}+tls`, '--tls-cert', cert, '--tls-key', key]);
    return { plain, secure: { ...plain, port, tls: true } };
}

/* The master listens before it has a worker. */
async function childOf(pid) {
    for (;;) {
        const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
        if (/^\d+$/.test(children))
            return Number(children);
        await pause(10);
    }
}

export async function startNginx(mock, under = []) {
    const port = await freePort();
    const master = under.length > 0 ? 'off' : 'on';
    const server = start('nginx', PROXY_CPU, [...under, ...commandOf.nginx(port, mock, master)]);
    await ready(server, port, accepts);
    if (master === 'on')
        server.pid = await childOf(server.pid);
    return server;
}

const DISTURBED = 75;

/* Runs the load tool to its end: the figures it prints, as numbers by name, or null
 * when it was disturbed. */
export async function load(server, { kind, body, deltas, streams, requests = streams }) {
    const file = join(directory, 'body.json');
    writeFileSync(file, body);
    try {
        const text = await output(...pinned(OTHER_CPU, [`${PROGRAMS}/load`, '--port', server.port,
            '--pid', server.pid, '--kind', kind, '--body', file, '--deltas', deltas,
            '--streams', streams, '--requests', requests, ...(server.tls ? ['--tls', 1] : [])]));
        return Object.fromEntries([...text.matchAll(/^(\w+) (\d+)$/gm)].map(([, name, n]) => [name, Number(n)]));
    } catch (error) {
        if (error.code === DISTURBED)
            return null;
        throw error;
    }
}

/* Lets a program look at a server from outside, such as strace, while `work` is done. */
export async function during(command, work) {
    const [program, ...args] = pinned(OTHER_CPU, command);
    const child = spawn(program, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    children.add(child);
    const exited = new Promise((done) => child.on('close', done));
    await new Promise((done) => child.stderr.once('data', done)); /* it says that it is attached */
    await work();
    child.kill('SIGINT');
    await exited;
    children.delete(child);
}
