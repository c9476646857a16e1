// A task's request as a shell command.

const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

// The key is written out: it needs no other program, and the command sent twice is one task.
export function curl(task, origin, key) {
  const body = JSON.stringify({ generator: task.generator, params: task.params }, null, 2);
  return [
    `curl ${quoted(`${origin}/v1/tasks`)}`,
    '  -H "Authorization: Bearer $DARKROOM_API_KEY"',
    "  -H 'Content-Type: application/json'",
    `  -H ${quoted(`Idempotency-Key: ${key}`)}`,
    `  -d ${quoted(body)}`,
  ].join(" \\\n");
}
