/* sandbox.mjs -- gateways that run code, for tests.
 *
 * Where bubblewrap cannot make a sandbox (a container without user namespaces), tests of it are
 * skipped, and say why; everywhere else they run. */
import { spawnSync } from 'node:child_process';
import { BINARY } from './daemon.mjs';
import { Gateway, gateway } from './mcp.mjs';

const bwrap = spawnSync('bwrap', ['--unshare-all', '--ro-bind', '/', '/', 'true']);

/* For the option `skip` of a test: why, or false. */
export const noSandbox = bwrap.status === 0 ? false
    : `bwrap makes no sandbox here: ${bwrap.error?.message ?? bwrap.stderr.toString().trim()}`;

export const CODE = { type: 'code_interpreter', container: { type: 'auto' } };
export const WITH_CODE = { tools: [CODE] };
export const OUTPUTS = { ...WITH_CODE, include: ['code_interpreter_call.outputs'] };

/* Starts a gateway whose code interpreter has to work. */
export const codeGateway = (t, options = {}) =>
    gateway(t, { ...options, args: ['--code-interpreter', 'require', ...(options.args ?? [])] });

export { BINARY, Gateway };
