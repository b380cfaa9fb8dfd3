/* container_limits.test.mjs -- requests for files of containers: how many may be under way, of one
 * client and of all, and how long a sandbox may take for one. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import test, { describe } from 'node:test';
import { ask } from '../lib/client.mjs';
import { folder } from '../lib/folder.mjs';
import { CODE, codeGateway, noSandbox } from '../lib/sandbox.mjs';
import { patience } from '../lib/patience.mjs';
import { callStream, textStream } from '../lib/upstream.mjs';

const MIB = 2 ** 20, SIZE = 4 * MIB;
const as = (key) => ({ headers: { authorization: `Bearer ${key}` } });

async function limited(t, ...args) {
    const unix = join(folder(t), 'socket');
    return Object.assign(await codeGateway(t, { wait: false, args: ['--listen', `127.0.0.1:0,unix:${unix}`, ...args] }), { unix });
}

/* A container of this key with a large file; gives the path of its content. */
async function makeFile(g, key) {
    const call = (body, path, method = 'POST') => ask(g.daemon, body, { method, path: `/v1/${path}`, ...as(key) });
    const { id } = (await call({ name: 'x' }, 'containers')).json;
    g.up.next(callStream(['code_interpreter', { code: `with open("large", "wb") as f:\n    for i in range(${SIZE / MIB}): f.write(bytes([i]) * ${MIB})` }, 'c1']), textStream('Done.'));
    const { status } = await call({ model: 'm', input: 'x', tools: [{ ...CODE, container: id }] }, 'responses');
    assert.equal(status, 200);
    const [file] = (await call(undefined, `containers/${id}/files`, 'GET')).json.data;
    assert.equal(file.bytes, SIZE);
    return `/v1/containers/${id}/files/${file.id}/content`;
}

/* Asks and reads the beginning, no more. Of a Unix socket, since others hold as much as the file. */
const begin = (g, path, key) => new Promise((done, fail) => {
    const socket = net.connect(g.unix);
    socket.on('error', fail).write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`);
    socket.once('data', (head) => {
        socket.pause();
        done({ socket, head: head.toString('latin1').slice(0, 600), bytes: head.length });
    });
});

const rest = ({ socket, bytes: begun }) => new Promise((done) => {
    let bytes = begun;
    socket.on('data', (piece) => (bytes += piece.length)).on('close', () => done(bytes)).resume();
});

describe('requests for files', { skip: noSandbox }, () => {
    test('have a limit for each client and one for all, until they are read', async (t) => {
        const g = await limited(t, '--api-key', 'key-of-a,key-of-b', '--code-file-requests', '3', '--code-file-requests-per-client', '2');
        const a = await makeFile(g, 'key-of-a'), b = await makeFile(g, 'key-of-b');
        const first = await begin(g, a, 'key-of-a'), second = await begin(g, a, 'key-of-a');
        for (const { head } of [first, second])
            assert.match(head, /^HTTP\/1\.1 200 /);
        const third = await begin(g, a, 'key-of-a');
        assert.match(third.head, /^HTTP\/1\.1 429 [^]*\r\nretry-after: \d+\r\n[^]*code_file_requests_per_client/i);
        const theirs = await begin(g, b, 'key-of-b');
        assert.match(theirs.head, /^HTTP\/1\.1 200 /);
        assert.match((await begin(g, b, 'key-of-b')).head, /^HTTP\/1\.1 503 [^]*\r\nretry-after: \d+\r\n[^]*code_file_requests/i);
        assert.ok(await rest(first) > SIZE, 'what is read at last is whole');
        for (const { socket } of [second, theirs])
            socket.destroy(); /* gone without reading */
        for (const until = Date.now() + patience(10_000); ;) {
            const again = await begin(g, a, 'key-of-a');
            again.socket.destroy();
            if (/^HTTP\/1\.1 200 /.test(again.head))
                break;
            assert.ok(Date.now() < until, again.head);
        }
    });

    test('of a sandbox that stands still end it, and the next is told so', async (t) => {
        const g = await limited(t);
        const path = await makeFile(g, 'none');
        const inside = readdirSync('/proc').filter((pid) => {
            try {
                return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('/run/main.py') && !readFileSync(`/proc/${pid}/comm`, 'latin1').startsWith('bwrap') && isBelow(Number(pid), g.daemon.child.pid);
            } catch {
                return false;
            }
        }).map(Number);
        assert.ok(inside.length >= 2);
        inside.forEach((pid) => process.kill(pid, 'SIGSTOP'));
        const [first, second] = await Promise.all([begin(g, path, 'none'), begin(g, path, 'none')]);
        for (const { head } of [first, second])
            assert.match(head, /^HTTP\/1\.1 500 /);
        assert.match((await begin(g, path, 'none')).head, /^HTTP\/1\.1 404 /);
    });
});

function isBelow(pid, ancestor) {
    while (pid > 1 && pid !== ancestor)
        pid = Number(readFileSync(`/proc/${pid}/stat`, 'latin1').replace(/.*\) \S /, '').split(' ')[0]);
    return pid === ancestor;
}
