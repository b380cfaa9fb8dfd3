/* opencode.test.mjs -- opencode finishes tasks with a scripted model and with hosted tools. */
import { testTasks } from '../task.mjs';
import { Desk } from './opencode.mjs';

testTasks('opencode', Desk);
