/* compaction_back.test.mjs -- compaction items that come back: the model reads what they stand for,
 * wherever they are kept, and what cannot be opened loses nobody a session. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { ask } from '../lib/client.mjs';
import { BINARY, ENVIRONMENT, pair, shared } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { patience } from '../lib/patience.mjs';
import { compaction, seal } from '../lib/seal.mjs';
import { Api, fn, messagesOf, output, user } from '../lib/state.mjs';

const captures = new Captures();
const ONE = 'the-first-secret-of-two', TWO = 'the-second-secret-of-two';
const KEYED = ['--encryption-keys', ONE];

const FRAME = "[The conversation up to here was replaced by this summary, which you wrote. The user's messages above it are\n" +
    'theirs. Go on from it without mentioning it.]\n\n';
const NOTE = '[An earlier part of this conversation was summarized by another service and cannot be read here.]';

const SHORT = { v: 1, k: 's', t: 'Goal: "tea", é.\n', n: 9, at: 1767225600 };
const call = { type: 'function_call', call_id: 'c1', name: 'run', arguments: '{}' };
const WHOLE = { v: 1, k: 'w', t: 'Goal: ship it.', b: [user('Ship it by Friday.')], a: [user('Run the tests.'), call, output('c1', 'ok')], n: 9, at: 1767225600 };

const item = (inside, more) => compaction({ secret: ONE }, inside, more);
const said = (up) => messagesOf(up).map(({ role, content, tool_calls }) => [role, tool_calls ? 'call' : content]);
const SUMMARY = ['user', FRAME + SHORT.t];
const WINDOW = [['user', 'Ship it by Friday.'], ['user', FRAME + WHOLE.t], ['user', 'Run the tests.'], ['assistant', 'call'], ['tool', 'ok']];

describe('an own compaction item', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, ...KEYED);
    const api = () => new Api(both, captures);

    test('becomes a message for the model', async () => {
        await api().respond({ store: false, input: [user('I want tea.'), item(SHORT, { id: null, created_by: 'x' }), user('And now?')] });
        assert.deepEqual(said(both.up), [['user', 'I want tea.'], SUMMARY, ['user', 'And now?']]);
    });

    test('becomes a message in a stream', async () => {
        await api().stream({ store: false, input: [item(SHORT, { type: 'compaction_summary' }), user('Go on.')] });
        assert.deepEqual(said(both.up), [SUMMARY, ['user', 'Go on.']]);
    });

    test('that is a whole context replaces what stands before it, but for instructions and tools', async () => {
        const tools = { type: 'additional_tools', role: 'developer', tools: [fn('run')] };
        await api().respond({ store: false, instructions: 'Be brief.', input: [tools, user('old'), item(WHOLE), user('Next?')] });
        assert.deepEqual(said(both.up), [['system', 'Be brief.'], ...WINDOW, ['user', 'Next?']]);
        assert.deepEqual(both.up.requests.at(-1).body.tools.map((tool) => tool.function.name), ['run']);
    });

    test('keeps what the gateway had found of the tools', async () => {
        const later = { ...fn('later'), defer_loading: true };
        const searched = [
            { type: 'tool_search_call', id: 'tsc_1', call_id: null, execution: 'server', status: 'completed', arguments: { query: 'x' } },
            { type: 'tool_search_output', id: 'tso_1', call_id: null, execution: 'server', status: 'completed', tools: [later] },
        ];
        const asked = { store: false, tools: [{ type: 'tool_search' }, later, { ...fn('other'), defer_loading: true }] };
        await api().respond({ ...asked, input: [user('old'), ...searched, item(WHOLE), user('Next?')] });
        assert.deepEqual(said(both.up), [...WINDOW, ['user', 'Next?']]);
        assert.deepEqual(both.up.requests.at(-1).body.tools.map((tool) => tool.function.name), ['tool_search', 'later']);
    });

    test('reads the same each time', async () => {
        const input = [user('A'), item(WHOLE), user('B')], bodies = [];
        for (let i = 0; i < 2; i++) {
            await api().respond({ store: false, input });
            bodies.push(both.up.requests.at(-1).raw.toString());
        }
        assert.equal(bodies[0], bodies[1]);
    });

    test('counts in a chain, and is listed as it came', async () => {
        const sent = item(SHORT, { id: 'cmp_mine' });
        const first = await api().respond({ input: [user('A'), sent] });
        const second = await api().respond({ previous_response_id: first.id, input: 'B' });
        assert.deepEqual(said(both.up), [['user', 'A'], SUMMARY, ['assistant', 'Hello'], ['user', 'B']]);
        const listed = await api().list(`responses/${first.id}/input_items?order=asc`);
        assert.deepEqual(listed[1], { id: 'cmp_mine', type: 'compaction', encrypted_content: sent.encrypted_content });
        await api().respond({ previous_response_id: second.id, input: [item(WHOLE), user('C')] });
        assert.deepEqual(said(both.up), [...WINDOW, ['user', 'C']]);
    });

    test('counts in a conversation, and by its id alone', async () => {
        const { id } = await api().make('conversations', { items: [user('A'), item(SHORT, { id: 'cmp_held' })] });
        await api().respond({ conversation: id, input: 'B' });
        assert.deepEqual(said(both.up), [['user', 'A'], SUMMARY, ['user', 'B']]);
        const other = item(WHOLE, { id: 'cmp_other' });
        const { data } = await api().make(`conversations/${id}/items`, { items: [other] });
        assert.deepEqual(data, [other]);
        assert.deepEqual(await api().read(`conversations/${id}/items/cmp_other`), other);
        await api().respond({ conversation: id, input: 'C' });
        assert.deepEqual(said(both.up), [...WINDOW, ['user', 'C']]);
        await api().respond({ store: false, input: [user('x'), { type: 'item_reference', id: 'cmp_held' }, user('D')] });
        assert.deepEqual(said(both.up), [['user', 'x'], SUMMARY, ['user', 'D']]);
    });

    test('means nothing to chat completions', async () => {
        const messages = [{ role: 'user', content: 'Hi' }];
        await ask(both.daemon, { model: 'm', messages }, { path: '/v1/chat/completions' });
        assert.deepEqual(both.up.requests.at(-1).body.messages, messages);
    });

    test('asked for in the wrong place is refused', async () => {
        const trigger = { type: 'compaction_trigger' };
        for (const input of [[trigger, user('late')], [user('A'), trigger, trigger], [trigger]])
            await api().turnedAway({ input }, [400, 'invalid_value', 'input']);
        await api().refused('POST', 'conversations', { items: [user('A'), trigger] }, [400, 'invalid_value', 'items[1].type']);
    });
});

describe('a compaction item that cannot be opened', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, ...KEYED, '--log-level', 'debug');
    const api = () => new Api(both, captures);

    test('is told of, whatever it is', async () => {
        const good = item(SHORT), sealed = good.encrypted_content;
        const reasoning = seal({ secret: ONE, purpose: 'antiphon reasoning' }, JSON.stringify(SHORT));
        const foreign = [
            ...Array.from({ length: 40 }, (_, i) => Math.floor(i * sealed.length / 40)).map((i) => sealed.slice(0, i) + (sealed[i] === 'A' ? 'B' : 'A') + sealed.slice(i + 1)),
            sealed.slice(0, -1), `${sealed}A`, ` ${sealed}`, 'gAAAAABforeign', 'The user wants tea.', 'gw1.', 'gw1.'.padEnd(1_000_000, 'A'), 'é\u0000',
            reasoning,
            compaction({ secret: TWO }, SHORT).encrypted_content,
            compaction({ secret: ONE, owner: 'anna' }, SHORT).encrypted_content,
            ...['', '{', '[]', '{"v":2,"k":"s","t":"x"}', `{"v":1,"k":"w","t":"x","a":${'['.repeat(600)}${']'.repeat(600)}}`, '{"v":1,"k":"w","t":"x","b":[{"type":"function_call"}]}']
                .map((inside) => item(inside).encrypted_content),
        ];
        const input = foreign.flatMap((encrypted_content) => [{ ...good, encrypted_content }]);
        await api().respond({ store: false, input: [good, ...input, user('z')] });
        assert.deepEqual(said(both.up), [SUMMARY, ...foreign.map(() => ['user', NOTE]), ['user', 'z']]);
        assert.ok(!both.daemon.log.includes('tea') && !both.daemon.log.includes(sealed));
    });

    test('without encrypted_content is nothing', async () => {
        const input = [undefined, null, '', 7, {}].map((encrypted_content) => ({ type: 'context_compaction', encrypted_content }));
        await api().respond({ store: false, input: [...input, user('z')] });
        assert.deepEqual(said(both.up), [['user', 'z']]);
    });
});

for (const [word, expected] of [['note', [['user', NOTE]]], ['drop', []], ['reject', undefined]]) {
    describe(`with foreign_compaction ${word}`, { concurrency: false }, () => {
        const both = shared({ before, beforeEach, after }, ...KEYED, '--foreign-compaction', word);
        const foreign = { type: 'compaction', encrypted_content: 'gAAAAABforeign' };

        test('a foreign item is treated so', async () => {
            const api = new Api(both, captures), input = [user('a'), foreign, user('z')];
            if (expected === undefined) {
                await api.turnedAway({ input }, [400, 'invalid_value', 'input[1].encrypted_content']);
            } else {
                await api.respond({ store: false, input });
                assert.deepEqual(said(both.up), [['user', 'a'], ...expected, ['user', 'z']]);
            }
            await api.respond({ store: false, input: [...input, item(WHOLE), user('n')] });
            assert.deepEqual(said(both.up), [...WINDOW, ['user', 'n']]);
        });
    });
}

describe('with compaction_role system and another key in front', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--encryption-keys', TWO, '--encryption-keys', ONE, '--compaction-role', 'system');

    test('a summary is the word of the system', async () => {
        await new Api(both, captures).respond({ store: false, input: [user('a'), item(SHORT), user('z')] });
        assert.deepEqual(said(both.up).map(([role]) => role).sort(), ['system', 'user', 'user']);
    });
});

test("what was sealed for all is no item of a client with a key", async (t) => {
    const both = await pair(t, ...KEYED, '--api-key', 'key-of-anna');
    await new Api(both, captures, 'key-of-anna').respond({ store: false, input: [item(SHORT), user('z')] });
    assert.deepEqual(said(both.up), [['user', NOTE], ['user', 'z']]);
});

const check = (prompt) => spawnSync(BINARY, ['serve', '--check-config', '--compaction-prompt', prompt], { encoding: 'utf8', timeout: patience(10_000), env: ENVIRONMENT });

test('a prompt that cannot be used ends the start', (t) => {
    const prompt = folder(t, 'prompt.txt');
    for (const [text, why] of [[undefined, /prompt\.txt/], ['\n', /is empty/], ['x'.repeat(70_000), /more than 65536 bytes/], [Buffer.from([0xff]), /not UTF-8/]]) {
        if (text !== undefined)
            writeFileSync(prompt, text);
        const { status, stderr } = check(prompt);
        assert.equal(status, 2);
        assert.match(stderr, why);
    }
    writeFileSync(prompt, 'Sum it up, keep {kept}.\n');
    assert.equal(check(prompt).status, 0);
});

captures.judge(test);
