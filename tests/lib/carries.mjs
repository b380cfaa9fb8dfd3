/* carries.mjs -- the ways in which a client carries a conversation from one request to the next.
 *
 *     const talk = await begin(api, CARRIES.previous_response_id);
 *     const response = await talk.ask([user('Hi')], { tools });
 *     await talk.ask([output(...)], { tools });
 *
 * A way is { start, next }: what the first request has beside its input, and what of a request and
 * its response the next one begins with. `needs` tells what has to outlive a daemon for it. */
const without = (type) => (items) => items.filter((item) => item.type !== type);

/* Reasoning as a client has it that cannot read it. */
const sealed = (items) => items.map((item) => (item.type === 'reasoning' ? { ...item, content: undefined, summary: [] } : item));

const resent = (kept = (items) => items, more = {}) => ({
    start: async () => ({ store: false, ...more }),
    next: (sent, got) => ({ input: [...sent.input, ...kept(got.output)] }),
});

export const CARRIES = {
    'items of the client': resent(),
    'items of the client, without reasoning': { ...resent(without('reasoning')), needs: 'memory' },
    'items of the client, with sealed reasoning alone': { ...resent(sealed, { include: ['reasoning.encrypted_content'] }), needs: 'keys' },
    previous_response_id: { start: async () => ({}), next: (sent, got) => ({ previous_response_id: got.id, input: [] }), needs: 'store' },
    'a conversation': {
        start: async (api) => ({ conversation: (await api.make('conversations', {})).id }),
        next: () => ({ input: [] }),
        needs: 'store',
    },
};

export async function begin(api, { start, next }) {
    const always = await start(api);
    let carried = { input: [] };
    return {
        async ask(input, more = {}) {
            const sent = { ...always, ...more, ...carried, input: [...carried.input, ...input] };
            const got = await api.respond(sent);
            carried = next(sent, got);
            return got;
        },
    };
}
