/* harmony.test.mjs -- the Codex CLI at work with a gpt-oss model whose prompts the gateway writes.
 *
 * The upstream knows /v1/completions only and says what a model would. What Codex
 * sent and what it did is read as in codex.test.mjs; here the prompts count.
 */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { checkStream } from '../../lib/check.mjs';
import { shared } from '../../lib/daemon.mjs';
import { rawCompletion } from '../../lib/upstream.mjs';
import { Desk, itemsOf } from './codex.mjs';

const thought = (text) => `<|channel|>analysis<|message|>${text}<|end|><|start|>assistant`;
const called = (to, args) => `<|channel|>commentary to=functions.${to} <|constrain|>json<|message|>${JSON.stringify(args)}<|call|>`;
const answered = (text) => `<|channel|>final<|message|>${text}<|return|>`;
const written = (...texts) => rawCompletion(texts.join('').match(/[^]{1,7}/g));

const sentBy = (exchange) => JSON.parse(exchange.sent);
const promptsOf = ({ requests }) => requests.map(({ path, body }) => {
    assert.equal(path, '/v1/completions');
    return body.prompt;
});

/* What the model said before, as the prompt tells it. */
const thoughtsIn = (prompt) => [...prompt.matchAll(/<\|start\|>assistant<\|channel\|>analysis<\|message\|>([^]*?)<\|end\|>/g)].map((m) => m[1]);
const outputsIn = (prompt) => [...prompt.matchAll(/<\|start\|>functions\.(\S+) to=assistant<\|channel\|>commentary<\|message\|>([^]*?)<\|end\|>/g)].map((m) => [m[1], m[2]]);

async function succeed(desk, ...args) {
    const got = await desk.exec(...args);
    assert.equal(got.status, 0, got.log);
    for (const { status, bytes } of got.exchanges) {
        assert.equal(status, 200, got.log);
        checkStream(bytes.toString());
    }
    return got;
}

describe('codex with Harmony prompts', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--harmony', 'harmony-completions', '--harmony-date', 'none', '--model-alias', 'gpt-5.5=gpt-oss-120b');

    test('each step of a turn has the reasoning of those before it, the next turn has none', async (t) => {
        const desk = new Desk(t, both.daemon, { model: 'gpt-oss-120b' });
        both.up.next(written(thought('Make it.'), called('exec_command', { cmd: 'echo hello > made.txt' })),
            written(thought('Look at it.'), called('exec_command', { cmd: 'cat made.txt' })),
            written(thought('It is there.'), answered('All done.')));
        const { events, exchanges } = await succeed(desk, 'Make a file.');
        assert.equal(desk.read('made.txt'), 'hello\n');
        assert.deepEqual(itemsOf(events, 'agent_message').map((item) => item.text), ['All done.']);
        assert.deepEqual(itemsOf(events, 'reasoning').map((item) => item.text), ['Make it.', 'Look at it.', 'It is there.']);
        for (const { store, include } of exchanges.map(sentBy))
            assert.deepEqual([store, include], [false, ['reasoning.encrypted_content']]);
        assert.deepEqual(promptsOf(both.up).map(thoughtsIn), [[], ['Make it.'], ['Make it.', 'Look at it.']]);
        assert.match(outputsIn(both.up.requests[2].body.prompt)[1][1], /hello/);

        both.up.next(written(answered('Gladly.')));
        await succeed(desk, 'resume', '--last', 'Thank you.');
        const last = promptsOf(both.up).at(-1);
        assert.deepEqual(thoughtsIn(last), []);
        assert.ok(last.includes('<|start|>assistant<|channel|>final<|message|>All done.<|end|>'));
    });

    test('a custom tool: a patch changes a file', async (t) => {
        const desk = new Desk(t, both.daemon, { model: 'gpt-5.5' });
        desk.write('poem.txt', 'roses are red\n');
        const input = '*** Begin Patch\n*** Update File: poem.txt\n@@\n-roses are red\n+violets "are" blue\n*** End Patch\n';
        both.up.next(written(thought('Patch it.'), called('apply_patch', { input })), written(answered('Patched.')));
        const { events, exchanges } = await succeed(desk, 'Change the poem.');
        assert.equal(desk.read('poem.txt'), 'violets "are" blue\n');
        assert.deepEqual(itemsOf(events, 'file_change').map((item) => item.status), ['completed']);
        assert.ok(sentBy(exchanges[1]).input.some((item) => item.type === 'custom_tool_call'));
        const [first, second] = promptsOf(both.up);
        assert.match(first, /type apply_patch = \(_: \{/);
        assert.deepEqual(thoughtsIn(second), ['Patch it.']);
        assert.deepEqual(outputsIn(second).map(([name, said]) => [name, /Success/.test(said)]), [['apply_patch', true]]);
    });

    test('tools of a namespace, and parallel calls', async (t) => {
        const desk = new Desk(t, both.daemon, { model: 'gpt-oss-120b' });
        const nameOf = (prompt, ending) => prompt.match(new RegExp(`type (\\w*${ending}) = `))[1];
        const steps = [
            ({ body: { prompt } }) => written(thought('Share it.'), called(nameOf(prompt, 'spawn_agent'), { message: 'Do a small part.' })),
            ({ body: { prompt } }) => {
                const { agent_id } = JSON.parse(outputsIn(prompt)[0][1]);
                return written(thought('Wait.'), called(nameOf(prompt, 'wait_agent'), { targets: [agent_id] }), '<|start|>assistant',
                    called('exec_command', { cmd: 'echo meanwhile' }));
            },
            () => written(answered('Both done.')),
        ];
        const isOfSecond = ({ body: { prompt } }) => /Do a small part\.<\|end\|><\|start\|>assistant$/.test(prompt);
        both.up.always((request) => isOfSecond(request) ? written(answered('Small part done.')) : steps.shift()(request));
        const { events } = await succeed(desk, 'Share the work.');
        assert.deepEqual(itemsOf(events, 'agent_message').map((item) => item.text), ['Both done.']);
        const last = promptsOf(both.up).at(-1);
        assert.deepEqual(thoughtsIn(last), ['Share it.', 'Wait.']);
        const outputs = outputsIn(last);
        assert.equal(outputs.length, 3);
        assert.match(outputs.find(([name]) => name.endsWith('wait_agent'))[1], /Small part done/);
        assert.match(outputs.find(([name]) => name === 'exec_command')[1], /meanwhile/);
    });
});
