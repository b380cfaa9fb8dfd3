/* mcp_guard.test.mjs -- where names of remote servers may lead (MCP 16.2 to 16.4), with the
 * gateway as it is: real names, addresses, connections and certificates.
 *
 * All of it runs in namespaces of its own, where the loopback interface has public addresses
 * as well, and /etc/hosts and the trusted certificates are ours. Where namespaces cannot be
 * made it is skipped; test_http_client_guard has the same rules with a scripted resolver. */
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import test, { after, before, describe } from 'node:test';
import tls from 'node:tls';
import { fileURLToPath } from 'node:url';
import { Captures } from '../lib/check.mjs';
import { folder } from '../lib/folder.mjs';
import { declared, gateway, shown } from '../lib/mcp.mjs';
import { http, startMcp } from '../lib/mcp_server.mjs';
import { callStream, textStream } from '../lib/upstream.mjs';

const INSIDE = 'ANTIPHON_TEST_NAMESPACE';
const UNSHARE = ['--mount', '--net', '--map-root-user', '--'];
const BUNDLE = '/etc/ssl/certs/ca-certificates.crt';
const [PUBLIC, OTHER_PUBLIC, PRIVATE, LOOPBACK] = ['9.9.9.9', '2001:4860:4860::8888', '10.1.2.3', '127.0.0.1'];
const DOMAIN = 'mcp.example';

function outside() {
    const { status } = existsSync(BUNDLE) ? spawnSync('unshare', [...UNSHARE, 'ip', 'link', 'set', 'lo', 'up']) : {};

    test('in namespaces of its own', { skip: status === 0 ? false : 'needs namespaces, ip and certificates' }, async () => {
        const { NODE_TEST_CONTEXT: _, ...env } = process.env;
        const child = spawn('unshare', [...UNSHARE, process.execPath, fileURLToPath(import.meta.url)], { env: { ...env, [INSIDE]: '1' }, stdio: ['ignore', 'pipe', 'inherit'] });
        let said = '';
        child.stdout.setEncoding('utf8').on('data', (piece) => (said += piece));
        const [code] = await once(child, 'close');
        assert.equal(code, 0, said);
        assert.match(said, /^# pass [1-9]|pass [1-9]/m);
    });
}

/* A certificate for all names of the domain, from an authority that only we trust. */
function makeCertificate(t) {
    const [key, cert] = ['key.pem', 'cert.pem'].map((name) => folder(t, name));
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, '-days', '2', '-subj', `/CN=${DOMAIN}`,
        '-addext', `subjectAltName=DNS:*.${DOMAIN}`], { stdio: 'ignore' });
    execFileSync('mount', ['--bind', cert, BUNDLE]);
    return { key: readFileSync(key), cert: readFileSync(cert) };
}

/* TLS at an address, in front of a scripted server; counts what comes. */
async function front(address, port, server, certificate) {
    const listener = tls.createServer(certificate, (socket) => {
        const behind = net.connect(server.port, LOOPBACK);
        socket.pipe(behind).pipe(socket);
        for (const one of [socket, behind])
            one.on('error', () => {});
    });
    const self = { listener, connections: 0 };
    listener.on('connection', () => self.connections++).on('tlsClientError', () => {});
    listener.listen(port, address);
    await once(listener, 'listening');
    self.port = listener.address().port;
    return self;
}

function inside() {
    const captures = new Captures();
    const fronts = {};
    let hosts, server, g, port, n = 0;
    const done = [];
    const t = { after: (what) => done.push(what) };

    before(async () => {
        execFileSync('ip', ['link', 'set', 'lo', 'up']);
        for (const address of [PUBLIC, PRIVATE])
            execFileSync('ip', ['address', 'add', `${address}/32`, 'dev', 'lo']);
        execFileSync('ip', ['address', 'add', `${OTHER_PUBLIC}/128`, 'dev', 'lo', 'nodad']);
        hosts = folder(t, 'hosts');
        writeFileSync(hosts, '');
        execFileSync('mount', ['--bind', hosts, '/etc/hosts']);
        server = await startMcp({ style: { get: 405 } });
        server.port = Number(new URL(server.url).port);
        const certificate = makeCertificate(t);
        for (const address of [PUBLIC, OTHER_PUBLIC, PRIVATE, LOOPBACK, '::1']) {
            fronts[address] = await front(address, port ?? 0, server, certificate);
            port = fronts[address].port;
        }
        g = await gateway(t, { captures });
    });
    after(async () => {
        for (const one of done.reverse())
            await one();
        for (const { listener } of Object.values(fronts))
            listener.close();
        await server.close();
    });

    /* From now on the name has these addresses. */
    const lead = (name, ...addresses) => writeFileSync(hosts, addresses.map((address) => `${address} ${name}\n`).join(''));
    const fresh = () => `h${n++}.${DOMAIN}`;
    const at = (name, more = {}) => ({ tools: [declared('far', { server_url: `https://${name}:${port}/mcp`, require_approval: 'never', ...more })] });
    const counts = () => Object.fromEntries(Object.entries(fronts).map(([address, one]) => [address, one.connections]));
    const refused = async (what) => {
        const { message } = await g.turnedAway(what, [424, 'mcp_list_tools_failed']);
        assert.ok(![PUBLIC, PRIVATE, LOOPBACK].some((address) => message.includes(address)), message);
    };

    describe('a name', { concurrency: false }, () => {
        for (const address of [PUBLIC, OTHER_PUBLIC]) {
            test(`with the public address ${address} is connected to`, async () => {
                const name = fresh(), seen = counts();
                lead(name, address);
                g.up.next(callStream([shown('far', 'echo'), { message: 'hi' }, 'c1']), textStream('Done.'));
                const { output: items } = await g.respond(at(name));
                assert.equal(items[1].output, 'Echo: hi');
                const now = counts();
                assert.ok(now[address] > seen[address]);
                assert.deepEqual({ ...now, [address]: 0 }, { ...seen, [address]: 0 });
            });
        }

        for (const addresses of [[LOOPBACK], [PRIVATE], ['::1'], ['::ffff:127.0.0.1'], ['169.254.169.254'], ['0.0.0.0'], [PUBLIC, LOOPBACK], [LOOPBACK, PUBLIC], [PUBLIC, '::1'], []]) {
            test(`with ${addresses.join(' and ') || 'no address'} is not`, async () => {
                const name = fresh(), seen = counts();
                lead(name, ...addresses);
                await refused(at(name));
                await refused(at(name, { server_url: `https://${name}:${port}/sse` }));
                assert.deepEqual(counts(), seen);
            });
        }

        test('that leads elsewhere between two connections is not followed there', async () => {
            const name = fresh(), seen = counts();
            lead(name, PUBLIC);
            await g.respond(at(name));
            for (const addresses of [[LOOPBACK], [PRIVATE], [LOOPBACK, PUBLIC]]) {
                lead(name, ...addresses);
                /* Another client's session, and a call, which takes no kept connection. */
                g.up.next(callStream([shown('far', 'echo'), { message: 'hi' }, 'c1']), textStream('Done.'));
                await g.post('responses', { model: 'm', input: 'Hi', ...at(name, { headers: { 'X-Fresh': addresses.join() } }) });
            }
            assert.deepEqual({ ...counts(), [PUBLIC]: 0 }, { ...seen, [PUBLIC]: 0 });
        });

        test('of another domain than its certificate is not trusted', async () => {
            const seen = server.exchanges.length;
            lead('mcp.other.example', PUBLIC);
            await refused(at('mcp.other.example'));
            assert.equal(server.exchanges.length, seen);
        });
    });

    for (const [what, answer] of [
        ['redirect', (to) => http(307, '', { location: to })],
        ['endpoint of HTTP+SSE', (to) => http(200, `event: endpoint\ndata: ${to}\n\n`, { 'content-type': 'text/event-stream' })],
    ]) {
        test(`a ${what} does not lead to another place`, async () => {
            for (const to of [`https://${LOOPBACK}:${port}/mcp`, `http://${LOOPBACK}:${server.port}/mcp`, `//${PRIVATE}:${port}/`, `https://x@${LOOPBACK}:${port}/`]) {
                const name = fresh(), seen = counts(), asked = server.exchanges.length;
                lead(name, PUBLIC);
                server.style.onRequest = () => answer(to);
                await refused(at(name, what === 'redirect' ? {} : { server_url: `https://${name}:${port}/sse` }));
                server.style.onRequest = undefined;
                assert.deepEqual({ ...counts(), [PUBLIC]: 0 }, { ...seen, [PUBLIC]: 0 });
                assert.ok(server.exchanges.length > asked);
                assert.ok(server.exchanges.every(({ path }) => path === '/mcp' || path === '/sse'));
            }
        });
    }
}

(process.env[INSIDE] === undefined ? outside : inside)();
