/* codex.mjs -- the Codex CLI as its users run it, away from their files. */
import { fileURLToPath } from 'node:url';
import { Desk as ClientDesk } from '../desk.mjs';

const CODEX = fileURLToPath(new URL('node_modules/.bin/codex', import.meta.url));

/* All that Codex does on its own is off. Retries are left as they come. `top` and `more` are lines of
 * the configuration, and of its provider. */
const configuration = (base, { model, provider = 'Antiphon', auth, top = '', more = '' }) => `
${top}model = "${model}"
model_provider = "antiphon"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
apps = false
plugins = false
remote_plugin = false

[model_providers.antiphon]
name = "${provider}"
base_url = "${base}/v1"
wire_api = "responses"
requires_openai_auth = ${auth !== undefined}
${more}`;

export class Desk extends ClientDesk {
    constructor(t, daemon, options = {}) {
        super(t, daemon);
        this.options = { model: 'test-model', ...options };
    }

    /* See task.mjs. It has no tools for files, only the shell. */
    tools = {
        write: (file, content) => this.tools.shell(`printf '%s' '${content}' > ${file}`),
        read: (file) => this.tools.shell(`cat ${file}`),
        shell: (cmd) => ({ name: 'exec_command', args: { cmd } }),
    };

    async ask(prompt, { goesOn = false } = {}) {
        const got = await this.exec(...(goesOn ? ['resume', '--last'] : []), prompt);
        return { ...got, texts: itemsOf(got.events, 'agent_message').map(({ text }) => text) };
    }

    /* `codex exec` to its end, see Desk.run(). */
    async exec(...args) {
        const { origin } = await this.tap;
        this.keep('config.toml', configuration(origin, this.options));
        if (this.options.auth)
            this.keep('auth.json', this.options.auth);
        return this.run(CODEX, ['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', ...args], { CODEX_HOME: this.home });
    }
}

/* What Codex reports as done, by kind: agent_message, command_execution ... */
export const itemsOf = (events, type) =>
    events.filter((event) => event.type === 'item.completed' && event.item.type === type).map((event) => event.item);
