// A receiver of callbacks without any package: verifies, remembers, answers at once. Node 18 or newer.
//
//   DARKROOM_CALLBACK_SECRET=whsec_… node receiver.mjs 8300

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const key = Buffer.from(process.env.DARKROOM_CALLBACK_SECRET.replace(/^whsec_/, ""), "base64");
const seen = new Set(); // a table with a unique column in a real service, which outlives this process

function verified(headers, body) {
  const { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signatures } = headers;
  if (!id || !time || !signatures || Math.abs(Date.now() / 1000 - Number(time)) > 300) return false;
  const right = createHmac("sha256", key).update(`${id}.${time}.`).update(body).digest();
  return signatures.split(" ").some((one) => {
    const given = Buffer.from(one.replace(/^v1,/, ""), "base64");
    return one.startsWith("v1,") && given.length === right.length && timingSafeEqual(given, right);
  });
}

createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = Buffer.concat(parts);
  if (!verified(request.headers, body)) {
    response.writeHead(400).end("not from Darkroom");
    return;
  }
  if (!seen.has(request.headers["webhook-id"])) { // it may come twice
    seen.add(request.headers["webhook-id"]);
    const event = JSON.parse(body);
    console.log(event.type, event.data.task_id ?? "");
  }
  response.writeHead(200).end("thank you");
}).listen(Number(process.argv[2]), "127.0.0.1");
