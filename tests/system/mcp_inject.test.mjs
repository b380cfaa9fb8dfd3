/* mcp_inject.test.mjs -- whose tools get into a request, and under which names:
 * declared ones, injected ones, and what the client has of its own. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { declared, gateway, shown } from '../lib/mcp.mjs';
import { TOOLS, startMcp } from '../lib/mcp_server.mjs';
import { fn } from '../lib/state.mjs';
import { callStream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const said = (words) => ({ [words]: () => words });

/* Scripted servers by label: their tools, and what more their entries say. */
async function started(t, servers, ...args) {
    const made = {};
    for (const [label, { tools = TOOLS, ...entry }] of Object.entries(servers)) {
        made[label] = await startMcp({ tools });
        Object.assign(made[label].entry, entry);
    }
    const g = await gateway(t, { servers: made, args, captures });
    return { g, made };
}

const namesOf = (g) => (g.up.requests.at(-1).body.tools ?? []).map(({ function: { name } }) => name);

describe('injection', () => {
    test('no tool of a configured server is in a request that does not declare it', async (t) => {
        const { g } = await started(t, { fake: {} });
        await g.respond();
        assert.ok(!('tools' in g.up.requests[0].body));
        await g.respond({ tools: [fn('weather')] });
        assert.deepEqual(namesOf(g), ['weather']);
    });

    test('mcp_inject always: in every request; calls are items, lists are not, and tools are not echoed', async (t) => {
        const { g, made } = await started(t, { fake: {} }, '--mcp-inject', 'always');
        g.up.next(callStream([shown('fake', 'echo'), { message: 'hi' }, 'c1']), textStream('Done.'));
        const response = await g.respond({ tools: [fn('weather')] });
        assert.deepEqual(response.output.map(({ type }) => type), ['mcp_call', 'message']);
        assert.deepEqual([response.output[0].server_label, response.output[0].output], ['fake', 'Echo: hi']);
        assert.deepEqual(response.tools.map(({ name }) => name), ['weather']);
        assert.deepEqual(namesOf(g).sort(), [...Object.keys(TOOLS).map((name) => shown('fake', name)), 'weather'].sort());
        assert.equal(made.fake.calls.length, 1);
    });

    test('the inject of an entry wins over the option, both ways', async (t) => {
        const { g } = await started(t, { a: { tools: said('one'), inject: 'always' }, b: { tools: said('two') } });
        await g.respond();
        assert.deepEqual(namesOf(g), [shown('a', 'one')]);
        const other = await started(t, { a: { tools: said('one'), inject: 'declared' }, b: { tools: said('two') } }, '--mcp-inject', 'always');
        await other.g.respond();
        assert.deepEqual(namesOf(other.g), [shown('b', 'two')]);
    });

    test('a server that is injected and declared is there once, as declared', async (t) => {
        const { g } = await started(t, { fake: {} }, '--mcp-inject', 'always');
        const response = await g.respond({ tools: [declared('fake', { allowed_tools: ['echo'] })] });
        assert.deepEqual(namesOf(g), [shown('fake', 'echo')]);
        assert.equal(response.tools.length, 1);
    });

    test('an injected server that is away is left out; a declared one fails the request', async (t) => {
        const { g, made } = await started(t, { here: { tools: said('one') }, away: { tools: said('two'), protocol: 'legacy' } }, '--mcp-inject', 'always');
        g.reload({ here: made.here, away: { url: 'http://127.0.0.1:1/mcp' } });
        await g.untilServers(({ away }) => !away.available && away.error);
        await g.respond();
        assert.deepEqual(namesOf(g), [shown('here', 'one')]);
        await g.turnedAway({ tools: [declared('away')] }, [424, 'mcp_list_tools_failed']);
    });

    test('tool_choice none still shows them, and calls nothing', async (t) => {
        const { g, made } = await started(t, { fake: {} }, '--mcp-inject', 'always');
        await g.respond({ tool_choice: 'none' });
        assert.equal(g.up.requests[0].body.tool_choice ?? 'none', 'none');
        assert.equal(made.fake.calls.length, 0);
    });

    test('tools are in the order of the file and then of each server, always', async (t) => {
        const { g } = await started(t, { zebra: { tools: { ...said('b'), ...said('a') } }, apple: { tools: said('c') } }, '--mcp-inject', 'always');
        for (let i = 0; i < 3; i++) {
            await g.respond();
            assert.deepEqual(namesOf(g), [shown('zebra', 'b'), shown('zebra', 'a'), shown('apple', 'c')]);
        }
    });
});

describe('what the configuration lets through', () => {
    test('allowedTools and excludeTools; exclude wins', async (t) => {
        const { g } = await started(t, { fake: { allowedTools: ['echo', 'add'], excludeTools: ['add'] } });
        await g.respond({ tools: [declared('fake')] });
        assert.deepEqual(namesOf(g), [shown('fake', 'echo')]);
        assert.deepEqual((await g.tools('fake')).map(({ name }) => name), ['echo']);
        await g.turnedAway({ tools: [declared('fake', { allowed_tools: ['add'] })] }, [400]);
    });

    test('a disabled server is listed, not started, and cannot be declared', async (t) => {
        const off = await startMcp();
        off.entry.disabled = true;
        const g = await gateway(t, { servers: { off }, wait: false, captures });
        const { off: { enabled, available } } = await g.servers();
        assert.deepEqual([enabled, available, off.exchanges.length], [false, false, 0]);
        const got = await g.post('responses', { model: 'm', input: 'Hi', tools: [declared('off')] });
        assert.ok([400, 424].includes(got.status), got.text);
    });
});

describe('names', () => {
    /* tool -> its name as a function. The digits are those of SHA-256 over the label,
     * a NUL and the tool, made with another program. */
    const NAMES = {
        'plain-1_A': 'mcp__fake__plain-1_A',
        'with.dot': 'mcp__fake__with_dot__5ddac712a2',
        'with/slash': 'mcp__fake__with_slash__f821704884',
        'größe': 'mcp__fake__gr__e__d6e6b4bf29',
        'a b': 'mcp__fake__a_b__21aecd73f0',
        '日本': 'mcp__fake______9c4ef8842f',
        '.': 'mcp__fake_____6a17474f25',
        ['x'.repeat(53)]: `mcp__fake__${'x'.repeat(53)}`,
        ['x'.repeat(54)]: `mcp__fake__${'x'.repeat(41)}__22dd8437ef`,
        ['x'.repeat(128)]: `mcp__fake__${'x'.repeat(41)}__1f980b42c2`,
    };

    test('what fits is taken as it is, all else ends with a hash, and each leads to its tool', async (t) => {
        const { g, made } = await started(t, { fake: { tools: Object.fromEntries(Object.keys(NAMES).map((tool) => [tool, () => 'x'])) } });
        const tools = [declared('fake')];
        await g.respond({ tools });
        assert.deepEqual(namesOf(g), Object.values(NAMES));
        g.up.next(callStream(...Object.values(NAMES).map((name, i) => [name, {}, `c${i}`])), textStream('Done.'));
        const { output: items } = await g.respond({ tools });
        assert.deepEqual(items.slice(0, -1).map(({ type, name }) => [type, name]), Object.keys(NAMES).map((tool) => ['mcp_call', tool]));
        assert.deepEqual(made.fake.calls.map(({ name }) => name).sort(), Object.keys(NAMES).sort());
    });

    test('a tool of the client with the same name wins, and ours takes another', async (t) => {
        const { g, made } = await started(t, { fake: { tools: TOOLS } });
        const mine = shown('fake', 'echo');
        g.up.next(callStream([mine, { message: 'mine' }, 'c1']));
        const tools = [fn(mine), declared('fake')];
        const { output: [item] } = await g.respond({ tools });
        assert.deepEqual([item.type, item.name], ['function_call', mine]);
        const names = namesOf(g);
        assert.equal(new Set(names).size, names.length);
        const ours = names.find((name) => /^mcp__fake__echo__[0-9a-f]{10}$/.test(name));
        assert.ok(ours, names.join());
        g.up.next(callStream([ours, { message: 'ours' }, 'c1']), textStream('Done.'));
        assert.equal((await g.respond({ tools })).output[0].output, 'Echo: ours');
        assert.equal(made.fake.calls.length, 1);
    });

    test('mcp_tool_names bare: plain names; of two servers the first has it, the other falls back', async (t) => {
        const { g, made } = await started(t, { first: {}, second: {} }, '--mcp-tool-names', 'bare');
        g.up.next(callStream(['echo', { message: '1' }, 'c1'], [shown('second', 'echo'), { message: '2' }, 'c2']), textStream('Done.'));
        const { output: items } = await g.respond({ tools: [declared('second'), declared('first')] });
        assert.deepEqual(items.slice(0, 2).map(({ server_label, output }) => [server_label, output]), [['first', 'Echo: 1'], ['second', 'Echo: 2']]);
        assert.deepEqual([made.first.calls.length, made.second.calls.length], [1, 1]);
    });

    test('functions of clients may begin with mcp__', async (t) => {
        const { g } = await started(t, { fake: {} });
        g.up.next(callStream(['mcp__other__thing', {}, 'c1']));
        const { output: [item] } = await g.respond({ tools: [fn('mcp__other__thing'), declared('fake')] });
        assert.deepEqual([item.type, item.name], ['function_call', 'mcp__other__thing']);
    });
});

describe('schemas', () => {
    const full = {
        $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object',
        properties: { a: { $ref: '#/$defs/A' }, b: { $anchor: 'b', type: 'string' } },
        $defs: { A: { allOf: [{ type: 'string' }], if: {}, then: {}, else: false } },
        additionalProperties: false,
    };

    test('are listed as they are, and shown to the model without $schema', async (t) => {
        const { g } = await started(t, { fake: { tools: { full: { inputSchema: full, call: () => 'x' }, bare: { inputSchema: {}, call: () => 'x' } } } });
        await g.respond({ tools: [declared('fake')] });
        const [shownFull, shownBare] = g.up.requests[0].body.tools.map(({ function: { parameters } }) => parameters);
        const { $schema: _, ...rest } = full;
        assert.deepEqual(shownFull, rest);
        assert.deepEqual(shownBare, { type: 'object', properties: {} });
        const listed = Object.fromEntries((await g.tools('fake')).map(({ name, input_schema }) => [name, input_schema]));
        assert.deepEqual(listed, { full, bare: {} });
    });

    const nested = (n) => (n === 0 ? { type: 'string' } : { type: 'object', properties: { a: nested(n - 1) } });

    test('deeper than anybody reads, too', async (t) => {
        const { g } = await started(t, { fake: { tools: { deep: { inputSchema: nested(200), call: () => 'x' }, good: () => 'x' } } });
        assert.deepEqual((await g.tools('fake')).map(({ name }) => name), ['good']);
    });

    test('too deep, too big or of another type drop their tool alone; nothing in them is fetched', async (t) => {
        const canary = await startMcp();
        t.after(() => canary.close());
        const { g } = await started(t, { fake: { tools: {
            deep: { inputSchema: nested(40), call: () => 'x' }, /* two levels each */
            big: { inputSchema: { type: 'object', description: 'x'.repeat(300 * 1024) }, call: () => 'x' },
            array: { inputSchema: { type: 'array' }, call: () => 'x' },
            remote: { inputSchema: { type: 'object', properties: { a: { $ref: canary.url } } }, call: () => 'x' },
            '': () => 'x',
            good: () => 'x',
        } } });
        assert.deepEqual((await g.tools('fake')).map(({ name }) => name), ['good', 'remote']);
        assert.equal(canary.exchanges.length, 0);
    });
});

captures.judge(test);
