// A task's request as a shell command.

const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

export function curl(task, origin) {
  const body = JSON.stringify({ generator: task.generator, params: task.params }, null, 2);
  return [
    `curl ${quoted(`${origin}/v1/tasks`)}`,
    '  -H "Authorization: Bearer $DARKROOM_API_KEY"',
    "  -H 'Content-Type: application/json'",
    '  -H "Idempotency-Key: $(uuidgen)"',
    `  -d ${quoted(body)}`,
  ].join(" \\\n");
}
