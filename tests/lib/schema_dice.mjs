/* schema_dice.mjs -- requests by chance, out of the schema that OpenAI publishes.
 *
 *     const maker = new RequestDice(dice(seed));
 *     maker.request();            one that the schema allows
 *     maker.broken(request, n);   the same with n things changed at places of chance
 *
 * Where the schema says "string" and the API means an id, a name or a URL, MEANT gives what is meant,
 * or nothing would ever get past the first check. */
import { jsonOf } from './data.mjs';

const SCHEMA = jsonOf('schemas', 'openai-2.3.0-create.schema.json').$defs;
const NEWER = jsonOf('schemas', 'newer.schema.json');

for (const [name, members] of Object.entries(NEWER.members))
    Object.assign(SCHEMA[name].properties, members);
SCHEMA.InputItem.oneOf.push(...NEWER.items);

const DEEP = 7; /* from here on as little as the schema allows */

/* Members that make the gateway say no, however right they are: few requests have them. */
const SELDOM = ['prompt', 'background', 'conversation', 'previous_response_id', 'connector_id', 'tunnel_id', 'file_id', 'file_url'];

const WORDS = ['', 'a', 'Hello there', 'grüße 漢字 😀', 'line\nbreak "quoted" \\ \u0001', ' '.repeat(40), 'x'.repeat(70)];

const MEANT = {
    model: ['test-model'],
    call_id: ['call_1', 'call_2', 'call_3'],
    name: ['f', 'run', 'look_up', 'a-b', 'f2', 'shell2', 'n'.repeat(64)],
    arguments: ['{}', '{"a":1}', '{"a":', ''],
    input: ['x', '*** Begin Patch'],
    server_label: ['docs', 'mail'],
    server_url: ['https://127.0.0.1:1/mcp', 'nowhere'],
    image_url: ['data:image/png;base64,iVBORw0KGgo='],
    file_data: ['data:text/plain;base64,aGk=', 'aGk='],
    filename: ['a.txt', 'b.pdf'],
    previous_response_id: ['resp_x'],
    conversation: ['conv_x'],
    syntax: undefined,
};

/* What no schema asked for. */
const WILD = [null, true, 0, -1, 1.5, 1e300, -1e-300, 9007199254740993, '', 'x', 'x'.repeat(3000), '\ud800', '\u0000', [], {}, [[]],
    [null], { type: 'x' }, { type: null }, [{ type: 5 }], JSON.parse('{"__proto__":1,"":2,"a.b":[3]}')];

const merged = (schemas) => ({
    type: 'object',
    properties: Object.assign({}, ...schemas.map(({ properties }) => properties)),
    required: schemas.flatMap(({ required }) => required ?? []),
});

/* A schema without references and allOf at its top. */
function resolved(schema) {
    if (schema.$recursiveRef !== undefined)
        return SCHEMA.CompoundFilter;
    if (schema.$ref !== undefined)
        return resolved(SCHEMA[schema.$ref.slice('#/$defs/'.length)]);
    return schema.allOf === undefined ? schema : merged(schema.allOf.map(resolved));
}

export const FIELDS = Object.keys({ ...resolved(SCHEMA.CreateResponse).properties, ...NEWER.request });

export class RequestDice {
    constructor(roll) {
        this.roll = roll;
    }

    pick(list) {
        return list[this.roll(list.length)];
    }

    /* One that the schema allows. */
    request() {
        const all = resolved(SCHEMA.CreateResponse);
        const request = this.#object({ ...all, properties: { ...all.properties, ...NEWER.request } }, 0);
        request.model = 'test-model';
        if (request.input === undefined)
            request.input = this.roll(2) === 0 ? 'Hello' : this.#value(SCHEMA.InputParam, 1, 'input');
        if (typeof request.tool_choice === 'object' && this.roll(5) > 0)
            request.tool_choice = this.#meantChoice(request.tools ?? []);
        return request;
    }

    /* Some items, of any kind. */
    items() {
        return Array.from({ length: 1 + this.roll(4) }, () => this.#value(SCHEMA.InputItem, 1, 'item'));
    }

    /* A choice of what there is. */
    #meantChoice(tools) {
        const one = ({ type, name, server_label }) => ({ type, ...(name !== undefined && { name }), ...(server_label !== undefined && { server_label }) });
        if (tools.length === 0)
            return this.pick(['auto', 'none', { type: 'allowed_tools', mode: 'auto', tools: [] }]);
        return this.roll(3) === 0 ? { type: 'allowed_tools', mode: this.pick(['auto', 'required']), tools: tools.map(one) } : one(this.pick(tools));
    }

    #value(schema, depth, name) {
        const s = resolved(schema);
        const choices = s.oneOf ?? s.anyOf;
        if (choices !== undefined)
            return this.#value(this.#choice(choices, depth), depth, name);
        if (s.const !== undefined)
            return s.const;
        if (s.enum !== undefined)
            return this.pick(s.enum);
        switch (s.type ?? (s.properties === undefined ? 'any' : 'object')) {
            case 'object': return this.#object(s, depth);
            case 'array': return this.#array(s, depth, name);
            case 'string': return this.#text(s, name);
            case 'integer': return (s.minimum ?? 1) + this.roll(Math.min((s.maximum ?? 1000) - (s.minimum ?? 1), 1000) + 1);
            case 'number': return (s.minimum ?? 0) + this.roll(100) / 100 * ((s.maximum ?? 1) - (s.minimum ?? 0));
            case 'boolean': return this.roll(2) === 0;
            case 'null': return null;
            default: return this.pick([{}, { a: 1 }, 'x', 5, [1]]);
        }
    }

    /* Deep down the plainest one, so that it ends. */
    #choice(choices, depth) {
        const plain = choices.find((s) => !['object', 'array'].includes(resolved(s).type) && resolved(s).properties === undefined);
        return depth >= DEEP && plain !== undefined ? plain : this.pick(choices);
    }

    #object(s, depth) {
        const object = {};
        for (const [name, member] of Object.entries(s.properties ?? {})) {
            const chance = SELDOM.includes(name) ? 2 : depth === 0 ? 15 : depth >= DEEP ? 0 : 35;
            if ((s.required ?? []).includes(name) || this.roll(100) < chance)
                object[name] = this.#value(member, depth + 1, name);
        }
        if (typeof s.additionalProperties === 'object' && s.additionalProperties !== null) {
            for (let n = this.roll(3); n > 0; n--)
                object[`k${n}`] = this.#value(s.additionalProperties, depth + 1, 'value');
        }
        return object;
    }

    #array(s, depth, name) {
        const least = s.minItems ?? 0;
        const n = depth >= DEEP ? least : least + this.roll(Math.min((s.maxItems ?? 4) - least, 4) + 1);
        return Array.from({ length: n }, () => this.#value(s.items ?? {}, depth + 1, name));
    }

    #text(s, name) {
        if (MEANT[name] !== undefined)
            return this.pick(MEANT[name]);
        if (s.pattern !== undefined || s.format === 'uri')
            return s.pattern === '^tunnel_[a-z0-9]{32}$' ? `tunnel_${'a'.repeat(32)}` : s.format === 'uri' ? 'https://example.test/x' : 'a_1';
        const words = WORDS.filter(({ length }) => length >= (s.minLength ?? 0) && length <= (s.maxLength ?? Infinity));
        return words.length > 0 ? this.pick(words) : 'x'.repeat(s.minLength);
    }

    /* ---- what is broken ---- */

    /* A copy with n changes. */
    broken(request, n) {
        const copy = structuredClone(request);
        for (let i = 0; i < n; i++)
            this.#break(copy);
        return copy;
    }

    #break(request) {
        const places = [];
        const visit = (holder) => {
            for (const key of Object.keys(holder)) {
                places.push([holder, key]);
                if (typeof holder[key] === 'object' && holder[key] !== null)
                    visit(holder[key]);
            }
        };
        visit(request);
        if (places.length === 0)
            return;
        const [holder, key] = this.pick(places);
        switch (this.roll(6)) {
            case 0:
                if (Array.isArray(holder))
                    holder.splice(Number(key), 1);
                else
                    delete holder[key];
                break;
            case 1:
                holder[key] = null;
                break;
            case 2:
                holder[key] = [holder[key]];
                break;
            case 3: { /* what stands somewhere else */
                const [other, name] = this.pick(places);
                holder[key] = structuredClone(other[name]);
                break;
            }
            case 4:
                if (typeof holder[key] === 'string')
                    holder[key] += 'x';
                else if (typeof holder[key] === 'number')
                    holder[key] *= -1000;
                else
                    holder[key] = String(holder[key]);
                break;
            default:
                holder[key] = structuredClone(this.pick(WILD));
        }
    }
}
