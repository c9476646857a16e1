// What the server put into the page: data, addresses, its clock.

export const data = JSON.parse(document.getElementById("data").textContent);

const behind = Date.parse(data.now) - Date.now();

// The server's time in milliseconds: the browser's clock may be wrong.
export const now = () => Date.now() + behind;

export const taskPage = (id) => data.urls.task.replace(data.urls.task_id, id);

export const loginPage = () =>
  `${data.urls.login}?next=${encodeURIComponent(location.pathname + location.search)}`;

// Files are asked for at the origin that served the page: cookies and the security policy are
// bound to it, and the public address may be another name of the same host.
export function own(url) {
  const parsed = new URL(url, location.href);
  return parsed.pathname + parsed.search;
}
