/* transport.test.mjs -- upstreams by every way: Unix sockets, names, restarts; https
 * and certificates; proxies. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before, describe } from 'node:test';
import { checkError } from '../lib/check.mjs';
import { ask } from '../lib/client.mjs';
import { startDaemon } from '../lib/daemon.mjs';
import { startUpstream } from '../lib/upstream.mjs';

const REQUEST = { model: 'm', input: 'Hi' };
const hasIPv6 = Object.values(networkInterfaces()).flat().some((i) => i.address === '::1');

async function listen(server) {
    server.listen({ port: 0, host: '127.0.0.1' });
    await once(server, 'listening');
    return server.address().port;
}

/* Pass a request on to where it names, the way a proxy does. */
function forward(req, res, target) {
    const url = new URL(target);
    const onward = http.request({ host: url.hostname, port: url.port, path: url.pathname, method: req.method, headers: req.headers },
        (answer) => {
            res.writeHead(answer.statusCode, answer.headers);
            answer.pipe(res);
        });
    onward.on('error', () => res.destroy());
    req.pipe(onward);
}

async function withDaemon(t, upstream, ...args) {
    const daemon = await startDaemon({ upstream, args });
    t.after(() => daemon.stop());
    return daemon;
}

describe('transport', { concurrency: false }, () => {
    let up, secure, securePort, proxy, proxyPort, proxied, folder, cert;

    before(async () => {
        folder = mkdtempSync(join(tmpdir(), 'antiphon-tls-'));
        cert = join(folder, 'cert.pem');
        const key = join(folder, 'key.pem');
        execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes',
            '-keyout', key, '-out', cert, '-days', '2', '-subj', '/CN=localhost',
            '-addext', 'subjectAltName=DNS:localhost'], { stdio: 'ignore' });
        up = await startUpstream();
        secure = https.createServer({ key: readFileSync(key), cert: readFileSync(cert) },
            (req, res) => forward(req, res, `${up.origin}${req.url}`));
        securePort = await listen(secure);
        proxy = http.createServer((req, res) => {
            if (req.method === 'POST') /* GET asks what the upstream is */
                proxied.push(req.url);
            forward(req, res, req.url);
        });
        proxy.on('connect', (req, socket) => {
            proxied.push(req.url);
            const onward = net.connect(req.url.split(':')[1], '127.0.0.1', () => {
                socket.write('HTTP/1.1 200 OK\r\n\r\n');
                onward.pipe(socket).pipe(onward);
            });
            for (const end of [onward, socket])
                end.on('error', () => {});
        });
        proxyPort = await listen(proxy);
    });

    after(async () => {
        for (const server of [secure, proxy]) {
            server.closeAllConnections();
            server.close();
        }
        await up.close();
        rmSync(folder, { recursive: true });
    });

    test('a unix socket is an upstream', async (t) => {
        const path = join(folder, 'up.sock');
        const local = await startUpstream(path);
        t.after(() => local.close());
        const daemon = await withDaemon(t, `unix:${path}`, '--workers', '1');
        for (let i = 0; i < 3; i++)
            assert.equal((await ask(daemon, REQUEST)).json.output[0].content[0].text, 'Hello');
        assert.equal((await local.request(0)).headers.host, 'localhost');
        assert.equal(local.connections, 1);
    });

    test('localhost is an upstream that listens on ::1 only', { skip: !hasIPv6 && 'this machine has no ::1' }, async (t) => {
        const onward = http.createServer((req, res) => forward(req, res, `${up.origin}${req.url}`));
        onward.listen({ port: 0, host: '::1' });
        await once(onward, 'listening');
        t.after(() => {
            onward.closeAllConnections();
            onward.close();
        });
        const daemon = await withDaemon(t, `http://localhost:${onward.address().port}/v1`);
        assert.equal((await ask(daemon, REQUEST)).status, 200);
    });

    test('an upstream that restarts is reached again', async (t) => {
        const path = join(folder, 'restarts.sock');
        let local = await startUpstream(path);
        const daemon = await withDaemon(t, `unix:${path}`, '--workers', '1');
        assert.equal((await ask(daemon, REQUEST)).status, 200);
        await local.close();
        rmSync(path, { force: true });
        checkError(await ask(daemon, REQUEST), 502, 'upstream_unavailable');
        local = await startUpstream(path);
        t.after(() => local.close());
        assert.equal((await ask(daemon, REQUEST)).status, 200);
    });

    test('an answer that comes before the whole request was read is passed on', async (t) => {
        const early = net.createServer((socket) => {
            socket.on('error', () => {});
            socket.once('data', () => {
                socket.pause();
                socket.write('HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: 33\r\n\r\n'
                    + '{"error":{"message":"too long"}}\n');
            });
        });
        const port = await listen(early);
        t.after(() => early.close());
        const daemon = await withDaemon(t, `http://127.0.0.1:${port}/v1`);
        const answer = await ask(daemon, { ...REQUEST, input: 'x'.repeat(20e6) });
        checkError(answer, 400, 'upstream_rejected');
        assert.equal(answer.json.error.message, 'too long');
    });

    test('https works with a certificate that is trusted', async (t) => {
        const daemon = await withDaemon(t, `https://localhost:${securePort}/v1`, '--ca-file', cert);
        assert.equal((await ask(daemon, REQUEST)).json.output[0].content[0].text, 'Hello');
    });

    test('https refuses a certificate that is not trusted', async (t) => {
        const daemon = await withDaemon(t, `https://localhost:${securePort}/v1`);
        checkError(await ask(daemon, REQUEST), 502, 'upstream_unavailable');
    });

    test('https refuses a certificate of another name', async (t) => {
        const daemon = await withDaemon(t, `https://127.0.0.1:${securePort}/v1`, '--ca-file', cert);
        checkError(await ask(daemon, REQUEST), 502, 'upstream_unavailable');
    });

    test('https takes any certificate when told so', async (t) => {
        const daemon = await withDaemon(t, `https://127.0.0.1:${securePort}/v1`, '--no-tls-verify');
        assert.equal((await ask(daemon, REQUEST)).status, 200);
    });

    test('a proxy is used for http and for https, and only when configured', async (t) => {
        proxied = [];
        const env = { http_proxy: `http://127.0.0.1:${proxyPort}`, https_proxy: `http://127.0.0.1:${proxyPort}` };
        const direct = await startDaemon({ upstream: up.url, env });
        t.after(() => direct.stop());
        assert.equal((await ask(direct, REQUEST)).status, 200);
        assert.deepEqual(proxied, []);

        const plain = await withDaemon(t, up.url, '--proxy', `http://127.0.0.1:${proxyPort}`);
        assert.equal((await ask(plain, REQUEST)).status, 200);
        const tunnel = await withDaemon(t, `https://localhost:${securePort}/v1`, '--proxy', `http://127.0.0.1:${proxyPort}`, '--ca-file', cert);
        assert.equal((await ask(tunnel, REQUEST)).status, 200);
        assert.deepEqual([...new Set(proxied)], [`${up.url}/chat/completions`, `localhost:${securePort}`]);
    });
});
