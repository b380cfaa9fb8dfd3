/* broken_calls.test.mjs -- a conversation survives a call that a limit cut off or the model got wrong,
 * in every way of continuing it (CONTRACT 2.5 rule 9).
 *
 * The upstream is as strict as llama.cpp: of every request it parses the arguments of all calls, and
 * what does not parse is a 500 for the whole request (common/chat.cpp, "Failed to parse tool call
 * arguments as JSON"). Behind a call that was cut off, that would be every later request. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { declared, rawCall, sharedGateway, shown } from '../lib/mcp.mjs';
import { startMcp } from '../lib/mcp_server.mjs';
import { assistant, output, user } from '../lib/state.mjs';
import { failure, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const FUNCTION = { type: 'function', name: 'f', parameters: { type: 'object', properties: { a: { type: 'integer' } } } };
const TOOLS = { tools: [FUNCTION] };
const FAKE = { tools: [declared('fake')] };
const NOTE = '[The arguments of this call were cut off or no valid JSON object. They are left out here.]';

const cutCall = rawCall(['f', '{"a":1,"b', 'c1'], { text: 'Let me see.', finish: 'length' });
const wrongCall = rawCall(['f', 'a is 1', 'c1']);
const emptied = (id, name = 'f', content = null) =>
    ({ role: 'assistant', content, tool_calls: [{ id, type: 'function', function: { name, arguments: '{}' } }] });
const answered = (tool_call_id, content) => ({ role: 'tool', tool_call_id, content: `${NOTE}\n${content}` });

/* What llama.cpp does to a request before the model sees it. */
function refusal({ messages }) {
    for (const call of messages.flatMap((message) => message.tool_calls ?? [])) {
        try {
            assert.equal(typeof JSON.parse(call.function.arguments), 'object');
        } catch {
            return failure(500, `Failed to parse tool call arguments as JSON: ${call.function.arguments}`);
        }
    }
}

const strictly = (answer) => ({ body }) => refusal(body) ?? answer;

/* name -> what the first request has besides, and each later one: of the items so far and the last response */
const WAYS = {
    'its history resent': [{ store: false }, (input, _last, more) => ({ store: false, input: [...input, ...more] })],
    'previous_response_id': [{}, (_input, last, more) => ({ previous_response_id: last.id, input: more })],
};

describe('a call that no server takes back', { concurrency: false }, () => {
    const g = sharedGateway({ before, beforeEach, after }, captures, async () => ({ servers: { fake: await startMcp() } }));

    /* Turns with these inputs and answers; gives the messages that each turn's last round was asked. */
    async function converse(first, later, tools, turns) {
        const items = [];
        const asked = [];
        let last;
        for (const [input, ...answers] of turns) {
            g.up.next(...answers.map(strictly));
            const more = last === undefined ? { ...first, input } : later(items, last, input);
            last = await g.respond({ ...tools, ...more });
            items.push(...input, ...last.output);
            asked.push(g.messages);
        }
        return asked;
    }

    const logged = (n, what) => g.daemon.logged(new RegExp(`history_repairs=${n} history_repair="${what}`));

    function claims(way, make) {
        const conversing = async (...rest) => converse(...await make(), ...rest);

        test(`${way}: cut off and not answered, it is left out, and what was said before stays`, async () => {
            const [, second, third] = await conversing(TOOLS, [
                [[user('Hi')], cutCall],
                [[user('And now?')], textStream('Done.')],
                [[user('Bye')], textStream('Bye.')],
            ]);
            assert.deepEqual(second, [user('Hi'), assistant('Let me see.'), user('And now?')]);
            assert.deepEqual(third, [...second, assistant('Done.'), user('Bye')], 'the beginning stays');
            await logged(1, 'broken call without output left out');
        });

        test(`${way}: cut off and answered, its output says so`, async () => {
            const [, second, third] = await conversing(TOOLS, [
                [[user('Hi')], cutCall],
                [[output('c1', '3')], textStream('Done.')],
                [[user('Bye')], textStream('Bye.')],
            ]);
            assert.deepEqual(second, [user('Hi'), emptied('c1', 'f', 'Let me see.'), answered('c1', '3')]);
            assert.deepEqual(third, [...second, assistant('Done.'), user('Bye')], 'the beginning stays');
            await logged(1, 'call with broken arguments emptied');
        });

        test(`${way}: arguments that are no JSON`, async () => {
            const [, second] = await conversing(TOOLS, [[[user('Hi')], wrongCall], [[output('c1', 'f failed')], textStream('Done.')]]);
            assert.deepEqual(second, [user('Hi'), emptied('c1'), answered('c1', 'f failed')]);
        });

        test(`${way}: a hosted call with such arguments is told to the model in the next round and turn`, async () => {
            const [first, second] = await conversing(FAKE, [
                [[user('Hi')], rawCall([shown('fake', 'echo'), '{"mess', 'c1']), textStream('I see.')],
                [[user('And now?')], textStream('Done.')],
            ]);
            const [, call, tool] = first;
            assert.deepEqual(call, emptied(tool.tool_call_id, shown('fake', 'echo')));
            assert.ok(tool.content.startsWith(`${NOTE}\nError: `), tool.content);
            assert.deepEqual(second, [...first, assistant('I see.'), user('And now?')]);
        });

        test(`${way}: a hosted call that was cut off is left out`, async () => {
            const [, second] = await conversing(FAKE, [
                [[user('Hi')], rawCall([shown('fake', 'echo'), '{"mess', 'c1'], { finish: 'length' })],
                [[user('And now?')], textStream('Done.')],
            ]);
            assert.deepEqual(second, [user('Hi'), user('And now?')]);
        });
    }

    for (const [way, parts] of Object.entries(WAYS))
        claims(way, () => parts);
    claims('conversation', async () => {
        const conversation = (await g.make('conversations', {})).id;
        return [{ conversation }, (_items, _last, input) => ({ conversation, input })];
    });

    test('a conversation that was made with such a call', async () => {
        const broken = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a', status: 'incomplete' };
        const conversation = (await g.make('conversations', { items: [user('Hi'), broken] })).id;
        g.up.next(strictly(textStream('Done.')));
        await g.respond({ ...TOOLS, conversation, input: 'And now?' });
        assert.deepEqual(g.messages, [user('Hi'), user('And now?')]);
    });

    test('a custom call that was cut off is one by its status alone', async () => {
        const broken = { type: 'custom_tool_call', call_id: 'c1', name: 'p', input: 'half', status: 'incomplete' };
        const conversation = (await g.make('conversations', { items: [user('Hi'), broken] })).id;
        for (const more of [{ conversation, input: 'And now?' }, { store: false, input: [user('Hi'), broken, user('And now?')] }]) {
            g.up.next(strictly(textStream('Done.')));
            await g.respond(more);
            assert.deepEqual(g.messages, [user('Hi'), user('And now?')]);
        }
    });

    test('a turn that needed no repair says nothing of any', async () => {
        const { id } = await g.respond({});
        await g.daemon.logged(new RegExp(`completed.*${id}|${id}.*completed`));
        assert.doesNotMatch(g.daemon.log.split('\n').find((line) => line.includes(id)), /history_repair/);
    });
});

captures.judge(test);
