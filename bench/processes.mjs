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

const PROGRAMS = 'build/release/bench';
const PROXY_CPU = 1;
const OTHER_CPU = 0;
const CONNECTIONS = 16384;

export const directory = mkdtempSync(join(tmpdir(), 'antiphon-bench-'));
const children = new Set();

process.on('exit', () => {
    for (const child of children)
        child.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => process.exit(1));

/* On a single CPU the figures still come out, with more noise. With --realtime
 * everything goes before what else runs on the machine: a proxy that waits for its
 * CPU finds more events at a time when it gets it, and seems cheaper than it is. */
function pinned(cpu, command) {
    const first = process.argv.includes('--realtime') ? ['chrt', '--fifo', '1'] : [];
    const on = availableParallelism() > 1 ? ['taskset', '-c', String(cpu)] : [];
    return [...first, ...on, ...command];
}

export async function output(...command) {
    const { stdout } = await promisify(execFile)(command[0], command.slice(1), { maxBuffer: 1 << 26 });
    return stdout;
}

async function freePort() {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((done) => server.once('listening', done));
    const { port } = server.address();
    await new Promise((done) => server.close(done));
    return port;
}

function accepts(port) {
    return new Promise((done) => {
        const socket = connect(port, '127.0.0.1', () => done(true)).on('error', () => done(false));
        socket.on('close', () => socket.destroy()).on('connect', () => socket.end());
    });
}

function start(name, cpu, command) {
    const log = join(directory, `${name}.log`);
    const fd = openSync(log, 'w');
    const child = spawn(...split(pinned(cpu, command)), { stdio: ['ignore', 'pipe', fd] });
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

function split([program, ...args]) {
    return [program, args];
}

async function ready(server) {
    while (!await accepts(server.port)) {
        if (server.child.exitCode !== null)
            throw new Error(`${server.name} did not start:\n${readFileSync(server.log, 'utf8')}`);
        await pause(10);
    }
    return server;
}

export async function startMock() {
    const mock = start('mock', OTHER_CPU, [`${PROGRAMS}/mock_upstream`]);
    mock.port = Number(await new Promise((done) => mock.child.stdout.once('data', done)));
    mock.exited.then(() => console.error(readFileSync(mock.log, 'utf8')), () => {});
    return mock;
}

export async function startAntiphon(mock, under = []) {
    const port = await freePort();
    const server = start('antiphon', PROXY_CPU, [...under, 'build/antiphon', 'serve', '--workers', '1',
        '--listen', `127.0.0.1:${port}`, '--upstream', `http://127.0.0.1:${mock.port}/v1`]);
    return ready(Object.assign(server, { port }));
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

/* The master listens before it has a worker. */
async function childOf(pid) {
    for (;;) {
        const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
        if (/^\d+$/.test(children))
            return Number(children);
        await pause(10);
    }
}

/* A profiler follows one process, so under one nginx runs without its master. */
export async function startNginx(mock, under = []) {
    const port = await freePort();
    const conf = join(directory, 'nginx.conf');
    const single = under.length > 0 ? ['-g', 'master_process off;'] : [];
    writeFileSync(conf, nginxConf(port, mock));
    const server = start('nginx', PROXY_CPU, [...under, 'nginx', '-p', directory, '-c', conf,
        '-e', `${directory}/nginx.error.log`, ...single]);
    await ready(Object.assign(server, { port }));
    if (single.length === 0)
        server.pid = await childOf(server.pid);
    return server;
}

/* Runs the load tool to its end: the figures it prints, as numbers by name. */
export async function load(server, { kind, body, deltas, streams, requests = streams }) {
    const file = join(directory, 'body.json');
    writeFileSync(file, body);
    const text = await output(...pinned(OTHER_CPU, [`${PROGRAMS}/load`, '--port', String(server.port),
        '--pid', String(server.pid), '--kind', kind, '--body', file, '--deltas', String(deltas),
        '--streams', String(streams), '--requests', String(requests)]));
    return Object.fromEntries(text.trim().split('\n').map((line) => line.split(' ')).map(([k, v]) => [k, Number(v)]));
}

/* Runs what follows a server from outside, such as strace, while `work` is done. */
export async function during(command, work) {
    const [program, args] = split(pinned(OTHER_CPU, command));
    const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    children.add(child);
    const exited = new Promise((done) => child.on('close', done));
    await new Promise((done) => child.stderr.once('data', done)); /* it says that it is attached */
    await work();
    child.kill('SIGINT');
    await exited;
    children.delete(child);
}
