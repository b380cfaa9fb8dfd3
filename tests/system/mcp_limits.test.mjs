/* mcp_limits.test.mjs -- what happens at the edges: full queues, long waits, hints
 * that a server gives with a refusal, certificates nobody vouches for. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import https from 'node:https';
import test from 'node:test';
import { Captures } from '../lib/check.mjs';
import { open } from '../lib/client.mjs';
import { folder } from '../lib/folder.mjs';
import { declared, gateway, pause, shown } from '../lib/mcp.mjs';
import { TOOLS, http, startMcp } from '../lib/mcp_server.mjs';
import { patience } from '../lib/patience.mjs';
import { callStream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const FAKE = { tools: [declared('fake')] };
const QUEUE = 256; /* calls that may wait for one server */

/* A server whose tool waits until open() is called. */
async function gated(entry) {
    const gate = {};
    gate.opened = new Promise((done) => (gate.open = done));
    const fake = await startMcp({ tools: { ...TOOLS, gated: async () => (await gate.opened, 'through') } });
    Object.assign(fake.entry, entry);
    return { fake, open: gate.open };
}

test('a server that is busy has a queue; what it does not hold fails at once', async (t) => {
    const { fake, open: openGate } = await gated({ maxConcurrency: 1 });
    const g = await gateway(t, { servers: { fake }, args: ['--interleaved-calls'], captures });
    g.up.next(callStream(...Array.from({ length: QUEUE + 3 }, (_, i) => [shown('fake', 'gated'), {}, `c${i}`])), textStream('Done.'));
    const client = open(g.daemon, { model: 'm', input: 'Hi', stream: true, ...FAKE });
    await client.until('mcp_call.failed');
    openGate();
    await client.done;
    const items = [...client.text.matchAll(/"type":"response.output_item.done".*?"item":(\{"id":"mcp_.*\})\}$/gm)].map(([, item]) => JSON.parse(item));
    const failed = items.filter(({ status }) => status === 'failed');
    assert.equal(items.length, QUEUE + 3);
    assert.equal(failed.length, 2, failed.map(({ error }) => error).join('\n'));
    assert.equal(fake.calls.length, QUEUE + 1);
    assert.match(client.text, /response\.completed/);
});

test('at most maxConcurrency calls are under way at a server', async (t) => {
    const fake = await startMcp();
    fake.entry.maxConcurrency = 3;
    const g = await gateway(t, { servers: { fake }, captures });
    const waiting = [];
    let most = 0;
    fake.on('tools/call', () => new Promise((done) => {
        most = Math.max(most, waiting.push(done));
        if (waiting.length === 3)
            waiting.splice(0).forEach((answer) => answer());
    }));
    g.up.next(callStream(...Array.from({ length: 18 }, (_, i) => [shown('fake', 'echo'), { message: `${i}` }, `c${i}`])), textStream('Done.'));
    const { output: items } = await g.respond(FAKE);
    assert.equal(items.filter(({ status, type }) => type === 'mcp_call' && status === 'completed').length, 18);
    assert.equal(most, 3);
});

test('a client hears the heartbeat while a tool runs', async (t) => {
    const { fake, open: openGate } = await gated({});
    const g = await gateway(t, { servers: { fake }, args: ['--heartbeat-interval', '50ms'], captures });
    g.up.next(callStream([shown('fake', 'gated'), {}, 'c1']), textStream('Done.'));
    const client = open(g.daemon, { model: 'm', input: 'Hi', stream: true, ...FAKE });
    await client.until(() => /mcp_call_arguments\.done[^]*: heartbeat\n\n: heartbeat\n\n/.test(client.text));
    openGate();
    await client.done;
    assert.match(client.text, /"output":"through"/);
});

test('what a server says about authorization is logged, but for its other words', async (t) => {
    const fake = await startMcp();
    fake.style.onRequest = () => http(401, 'you have no token-of-mine', {
        'www-authenticate': 'Bearer error="invalid_token", scope="mcp:read", resource_metadata="https://example.com/.well-known/oauth-protected-resource"',
    });
    const g = await gateway(t, { servers: { fake }, wait: false, captures });
    const { fake: { error } } = await g.untilServers((servers) => servers.fake.error);
    assert.match(error, /401/);
    await g.daemon.logged(/resource_metadata\S*https:\/\/example\.com\/\.well-known\/oauth-protected-resource/);
    await g.daemon.logged(/scope\S*mcp:read/);
});

test('17 rounds of news are not 17 listings: they are put together', async (t) => {
    const fake = await startMcp();
    const g = await gateway(t, { servers: { fake }, captures });
    await fake.until(() => fake.sessions.at(-1).streams.size === 1);
    const before = fake.of('tools/list').length;
    const grown = { ...TOOLS, grown: () => 'new' };
    for (let i = 0; i < 17; i++)
        fake.changeTools(grown);
    await g.untilTools('fake', (names) => names.includes('grown'));
    assert.ok(fake.of('tools/list').length - before <= 3, `${fake.of('tools/list').length - before} listings`);
});

test('news before the first list: the tools are there all the same', async (t) => {
    const fake = await startMcp({ transport: 'stdio' });
    fake.on('tools/list', (_, { session }) => void fake.tell(session, 'notifications/tools/list_changed'));
    const g = await gateway(t, { servers: { fake }, captures });
    assert.equal((await g.tools('fake')).length, 4);
});

/* What the daemon holds open, and the processes it has. */
const descriptorsOf = ({ child: { pid } }) => readdirSync(`/proc/${pid}/fd`).length;
const childrenOf = ({ child: { pid } }) => readdirSync(`/proc/${pid}/task`)
    .flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter((child) => child.trim() !== ''));

/* Ask again until the answer is true. */
async function until(met, what, ms = 20_000) {
    for (const deadline = performance.now() + patience(ms); !met(); await pause(20))
        assert.ok(performance.now() < deadline, `${what()} within ${ms} ms`);
}

test('ten new files, ten new processes: nothing is left of the old ones', async (t) => {
    const fake = await startMcp({ transport: 'stdio' });
    const g = await gateway(t, { servers: { fake }, captures });
    const renew = async (i) => {
        g.reload({ fake: { ...fake.entry, env: { ROUND: String(i) } } });
        await fake.until(() => fake.process.hello?.env.ROUND === String(i), 20_000);
        await g.available('fake');
    };
    await renew(0);
    await until(() => childrenOf(g.daemon).length === 1, () => `children ${childrenOf(g.daemon)}`);
    const before = descriptorsOf(g.daemon);
    for (let i = 1; i <= 10; i++)
        await renew(i);
    await until(() => childrenOf(g.daemon).length === 1, () => `children ${childrenOf(g.daemon)}`);
    await until(() => descriptorsOf(g.daemon) <= before, () => `${before} descriptors became ${descriptorsOf(g.daemon)}`);
});

test('servers that requests bring along: so many are connected at a time and no more, and idle ones leave', async (t) => {
    const far = await startMcp({ style: { get: 405 } });
    t.after(() => far.close());
    const g = await gateway(t, { args: ['--mcp-remote', 'any', '--mcp-remote-connections', '2', '--mcp-remote-idle', '200ms'], captures });
    const asking = (authorization) => ({ tools: [declared('far', { server_url: far.url, authorization, require_approval: 'never' })] });
    const busy = [];
    for (const token of ['one', 'two']) {
        g.up.next(callStream([shown('far', 'hang'), {}, 'c1']));
        busy.push(open(g.daemon, { model: 'm', input: 'Hi', stream: true, ...asking(token) }));
        await far.called(busy.length);
    }
    await g.turnedAway(asking('three'), [424, 'mcp_list_tools_failed']);
    busy.forEach((client) => client.destroy());
    const ended = () => far.exchanges.filter(({ method }) => method === 'DELETE').map(({ headers }) => headers.authorization);
    await far.until(() => ['Bearer one', 'Bearer two'].every((one) => ended().includes(one)));
    await g.respond(asking('three'));
});

/* A scripted server behind TLS; its certificate is nobody's. */
async function behindTls(t) {
    const far = await startMcp({ style: { get: 405 } });
    const [key, cert] = ['key', 'cert'].map((name) => folder(t, `${name}.pem`));
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1', '-subj', '/CN=localhost',
        '-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', cert], { stdio: 'ignore' });
    let requests = 0;
    const server = https.createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (req, res) => {
        requests++;
        res.writeHead(404).end();
    });
    server.on('tlsClientError', () => {}); /* the gateway does not trust it */
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => (server.closeAllConnections(), server.close(), far.close()));
    return { url: `https://localhost:${server.address().port}/mcp`, asked: () => requests };
}

test('a certificate that nobody vouches for: nothing is sent, not even where upstreams are not verified', async (t) => {
    const far = await behindTls(t);
    const g = await gateway(t, { args: ['--mcp-remote', 'any', '--no-tls-verify'], captures });
    await g.turnedAway({ tools: [declared('far', { server_url: far.url })] }, [424, 'mcp_list_tools_failed']);
    assert.equal(far.asked(), 0);
});

test('variables for a proxy do not lead requests of clients to it', async (t) => {
    const [proxy, far] = [await startMcp(), await startMcp({ style: { get: 405 } })];
    t.after(() => Promise.all([proxy.close(), far.close()]));
    const origin = `http://127.0.0.1:${proxy.port}`;
    const env = Object.fromEntries(['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY'].map((name) => [name, origin]));
    const near = await startMcp();
    const g = await gateway(t, { servers: { near }, args: ['--mcp-remote', 'any'], env, captures });
    await g.respond({ tools: [declared('far', { server_url: far.url, require_approval: 'never' }), declared('near')] });
    assert.deepEqual([proxy.exchanges.length, proxy.connections], [0, 0]);
});

captures.judge(test);
