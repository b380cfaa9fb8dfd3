/* mcp_hostile.test.mjs -- MCP servers that mean harm: what they may cost us, and
 * that nobody else pays for it. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { Captures } from '../lib/check.mjs';
import { declared, gateway, shown } from '../lib/mcp.mjs';
import { HANG, rpcError, startMcp } from '../lib/mcp_server.mjs';
import { callStream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const FAKE = { tools: [declared('fake')] };
const ECHO = [shown('fake', 'echo'), { message: 'hi' }, 'c1'];

/* One call in a response of its own; gives its item. */
async function called(g) {
    g.up.next(callStream(ECHO), textStream('Done.'));
    const { output: [item] } = await g.respond(FAKE);
    return item;
}

for (const transport of ['http', 'sse']) {
    test(`a thousand requests of a server over ${transport} that takes no answers do not cost a connection each`, async (t) => {
        const fake = await startMcp({ transport });
        const answers = () => fake.exchanges.filter(({ method, body }) => method === 'POST' && body && JSON.parse(body).method === undefined).length;
        fake.style.onRequest = ({ method, body }) => (method === 'POST' && JSON.parse(body).method === undefined ? HANG : undefined);
        fake.on('tools/call', (_, { way }) => {
            for (let i = 0; i < 1000; i++)
                way.send({ jsonrpc: '2.0', id: `p${i}`, method: 'ping' });
        });
        const g = await gateway(t, { servers: { fake }, captures });
        assert.equal((await called(g)).output, 'Echo: hi');
        await fake.until(() => answers() > 0);
        assert.ok(answers() <= 64, `${answers()} answers under way`);
    });
}

test('an error of a megabyte is told in a few lines, also when it is about the tools', async (t) => {
    const long = 'no tools today, '.repeat(65_536);
    const fake = await startMcp();
    fake.on('tools/list', () => {
        throw rpcError(-32000, long);
    });
    const g = await gateway(t, { servers: { fake }, wait: false, captures });
    const { fake: { error } } = await g.untilServers((servers) => servers.fake.error);
    assert.match(error, /no tools today/);
    assert.ok(error.length <= 4096, `${error.length} characters`);
    await g.daemon.logged(/mcp_listing_failed/);
    assert.ok(g.daemon.log.length < 32_768, `${g.daemon.log.length} characters in the log`);
});

captures.judge(test);
