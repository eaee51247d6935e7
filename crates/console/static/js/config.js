// What the deployment says of itself: `config.json` beside the page.

const isText = (value) => typeof value === "string" && value !== "";

/** The deployment: `{ask, issuer, client_id, scope, examples}`. */
export async function load() {
  const response = await fetch(new URL("config.json", document.baseURI), { cache: "no-cache", credentials: "same-origin" });
  if (!response.ok) throw new Error(`config.json: the answer was ${response.status}`);
  return check(await response.json());
}

/** The configuration, if it is a whole one; else an error that names what is wrong. */
export function check(config) {
  for (const name of ["ask", "issuer", "client_id", "scope"]) {
    if (!isText(config?.[name])) throw new Error(`config.json: ${name} is missing`);
  }
  if (!/^\/(?!\/)/.test(config.ask)) throw new Error("config.json: ask is no path of this origin");
  const examples = Array.isArray(config.examples) ? config.examples.filter(isText) : [];
  return { ...config, examples };
}
