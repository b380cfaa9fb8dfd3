/* upstreams.test.mjs -- the official SDK does not notice that there are several upstreams, nor that one of them goes. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import OpenAI, { NotFoundError } from 'openai';
import { IN_ORDER, startGroup } from '../lib/group.mjs';
import { Spy } from '../lib/spy.mjs';
import { FAULTS } from '../lib/upstream_faults.mjs';
import { startRigs } from '../lib/upstreams.mjs';

const spy = new Spy();

describe('openai, with two upstreams', { concurrency: false }, () => {
    const cleaning = [];
    const hooks = { after: (fn) => cleaning.unshift(fn) };
    let rigs, group, client;

    before(async () => {
        rigs = await startRigs(hooks, { a: {}, b: {} }, { turns: true });
        group = await startGroup(hooks, rigs, { upstreams: { a: { models: ['m', 'alpha'] }, b: { models: ['m', 'beta'] } }, policies: IN_ORDER, settings: { eject_after: 0 } });
        client = new OpenAI({ baseURL: `${group.daemon.origin}/v1`, apiKey: 'sk-test', maxRetries: 0, fetch: spy.fetch });
    });
    beforeEach(() => rigs.reset());
    after(async () => {
        for (const clean of cleaning)
            await clean();
    });

    const sayer = ({ output_text }) => output_text.split(' ')[0];

    test('one killed between two turns: the chain goes on at the other', async () => {
        const first = await client.responses.create({ model: 'm', input: 'one' });
        const [at, other] = sayer(first) === 'a' ? [rigs.a, rigs.b] : [rigs.b, rigs.a];
        await at.kill();
        const second = await client.responses.create({ model: 'm', input: 'two', previous_response_id: first.id });
        assert.equal(sayer(second), other.name);
        let text = '';
        for await (const event of await client.responses.create({ model: 'm', input: 'three', previous_response_id: second.id, stream: true }))
            text += event.type === 'response.output_text.delta' ? event.delta : '';
        assert.equal(text.split(' ')[0], other.name);
        assert.deepEqual(other.rounds.at(-1).body.messages.map(({ content }) => content), ['one', first.output_text, 'two', second.output_text, 'three']);
        await at.revive();
        const third = await client.responses.create({ model: 'm', input: 'four', previous_response_id: second.id });
        assert.equal(third.model, 'm');
    });

    test('one that is busy, or says nonsense: the stream looks as any', async () => {
        for (const fault of [FAULTS.busy, FAULTS.overloaded, FAULTS.errorFirst503, FAULTS.page, FAULTS.brokenAfterRole]) {
            rigs.a.behave(fault(), 1);
            const response = await client.responses.stream({ model: 'm', input: `Hi ${fault.name}` }).finalResponse();
            assert.equal(response.status, 'completed', fault.name);
            assert.ok(rigs.a.rounds.length >= 1, `${fault.name}: a was asked`);
            rigs.reset();
        }
    });

    test('chat.completions, and the list of models', async () => {
        const chat = await client.chat.completions.create({ model: 'beta', messages: [{ role: 'user', content: 'Hi' }] });
        assert.equal(chat.choices[0].message.content.split(' ')[0], 'b');
        const ids = [];
        for await (const { id } of await client.models.list())
            ids.push(id);
        assert.deepEqual(ids.sort(), ['alpha', 'beta', 'm']);
        assert.equal((await client.models.retrieve('alpha')).id, 'alpha');
        await assert.rejects(client.responses.create({ model: 'nothing', input: 'Hi' }), (error) => error instanceof NotFoundError && error.code === 'model_not_found');
    });
});

spy.judge(test);
