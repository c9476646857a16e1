// The page of a test that is on its way: shows what came back as soon as it has.

const LONGEST = 20; // looks, one a second; after that a reload by hand does as well

const id = document.getElementById("waiting").dataset.callback;

async function look(left) {
  let status = "pending";
  try {
    const answer = await fetch(`/v1/callbacks/${id}`, { headers: { Accept: "application/json" } });
    if (answer.ok) status = (await answer.json()).status;
  } catch {
    // the connection is away for a moment
  }
  if (status !== "pending") location.reload();
  else if (left > 0) setTimeout(look, 1000, left - 1);
}

setTimeout(look, 500, LONGEST);
