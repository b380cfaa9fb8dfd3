/* mcp_choice.test.mjs -- tool_choice where the gateway runs tools: forced once,
 * then left to the model, so that nothing is called for ever. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { declared, sharedGateway, shown } from '../lib/mcp.mjs';
import { TOOLS, startMcp } from '../lib/mcp_server.mjs';
import { fn } from '../lib/state.mjs';
import { callStream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const ALL = Object.keys(TOOLS);

describe('tool_choice', { concurrency: false }, () => {
    const g = sharedGateway({ before, beforeEach, after }, captures,
        async () => ({ servers: { one: await startMcp(), two: await startMcp({ tools: { look: () => 'seen' } }) } }));
    const tools = [declared('one'), declared('two'), fn('weather')];
    const echo = callStream([shown('one', 'echo'), { message: 'hi' }, 'c1']);
    const asked = () => g.up.requests.map(({ body }) => ({ choice: body.tool_choice, names: body.tools.map(({ function: { name } }) => name) }));
    const forced = (name) => ({ type: 'function', function: { name } });
    const everything = [...ALL.map((name) => shown('one', name)), shown('two', 'look'), 'weather'];

    /* [what, the request's, the first round's, tools of the first round] */
    for (const [what, choice, first, names] of [
        ['of a server\'s tool', { type: 'mcp', server_label: 'one', name: 'echo' }, forced(shown('one', 'echo')), everything],
        ['of a server', { type: 'mcp', server_label: 'one' }, 'required', ALL.map((name) => shown('one', name))],
        ['required', 'required', 'required', everything],
        ['of allowed tools', { type: 'allowed_tools', mode: 'required', tools: [{ type: 'mcp', server_label: 'one', name: 'echo' }] }, 'required', [shown('one', 'echo')]],
    ]) {
        test(`${what} holds for the first round`, async () => {
            g.up.next(echo, textStream('Done.'));
            const response = await g.respond({ tools, tool_choice: choice });
            assert.deepEqual(response.output.map(({ type }) => type), ['mcp_call', 'message']);
            assert.deepEqual(response.tool_choice, choice);
            const [one, two] = asked();
            assert.deepEqual([one.choice, one.names.sort()], [first, [...names].sort()]);
            assert.equal(two.choice ?? 'auto', 'auto');
        });
    }

    test('auto is auto in all rounds', async () => {
        g.up.next(echo, textStream('Done.'));
        await g.respond({ tools, tool_choice: 'auto' });
        assert.deepEqual(asked().map(({ choice }) => choice ?? 'auto'), ['auto', 'auto']);
    });

    test('a call of a tool outside allowed_tools is not run', async () => {
        g.up.next(echo, textStream('Done.'));
        await g.respond({ tools, tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'mcp', server_label: 'two' }] } });
        assert.equal(g.options.servers.one.calls.length, 0);
    });

    for (const [what, tool_choice] of [
        ['a server that is not declared', { type: 'mcp', server_label: 'three' }],
        ['a tool that the server does not have', { type: 'mcp', server_label: 'one', name: 'nothing' }],
        ['no server at all', { type: 'mcp', server_label: 5 }],
    ])
        test(`${what} is turned away`, () => g.turnedAway({ tools, tool_choice }, [400]));

    test('a server without declaration is turned away', () =>
        g.turnedAway({ tools: [fn('weather')], tool_choice: { type: 'mcp', server_label: 'one' } }, [400]));
});

captures.judge(test);
