// Requests to the server that served this page. The token, where it wants one, is asked for once and kept as long as
// the tab is open. That of a one-time link ends with the server, and is kept for all tabs.

const KEY = "ullage.token";
const NOT_MODIFIED = 304;

const heldToken = () => sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY);

/** What the server answers when it did not do it: what happened, and what to do next (RFC 9457). */
export class Refusal extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `The server answered ${status}.`);
    this.status = status;
    this.next = /\bGET /.test(problem.next) ? "" : (problem.next ?? ""); // requests are advice for programs
  }
}

/** The server can't be reached. */
export class Unreachable extends Error {
  next = "Check that it runs, then try again.";
}

export class Api {
  /** `askForToken(hint)` gives a promise of the token, empty for none yet; several requests wait for the same one. */
  constructor(askForToken) {
    this.askForToken = askForToken;
    this.asked = null;
    this.hint = ""; // why the token is asked for
    this.isShared = false; // whether the token is that of a read-only link, for one session
  }

  headers() {
    const token = heldToken();
    return token ? { authorization: `Bearer ${token}` } : {};
  }

  /** A response that is a success. Raises `Refusal`, `Unreachable`, or the `AbortError` of `signal`. */
  async open(path, { method = "GET", body, headers = {}, signal } = {}) {
    for (;;) {
      const before = heldToken();
      const response = await this.fetch(path, method, body, { ...this.headers(), ...headers }, signal);
      if (response.ok || response.status === NOT_MODIFIED) return response;
      if (response.status !== 401) throw new Refusal(response.status, await problemOf(response));
      if (this.isShared) throw new Refusal(401, {});
      if (before) this.hint = "The server does not take this token. One that was started again prints a new link.";
      if (heldToken() === before) await this.newToken();
    }
  }

  async fetch(path, method, body, headers, signal) {
    try {
      return await fetch(`v1${path}`, { method, body, headers, signal, cache: "no-store" });
    } catch (problem) {
      if (problem.name === "AbortError") throw problem;
      throw new Unreachable("The server can't be reached.");
    }
  }

  /** Exchanges the word of a one-time link for a token. A link that was used matters only where a token is asked for. */
  async redeem(word) {
    try {
      localStorage.setItem(KEY, (await this.post("/link", { word })).token);
      sessionStorage.removeItem(KEY);
    } catch (problem) {
      this.hint = `${problem.message} ${problem.next}`;
    }
  }

  /** Takes the token of a read-only link, for this tab. */
  take(token) {
    sessionStorage.setItem(KEY, token);
    this.isShared = true;
  }

  async newToken() {
    this.asked ??= this.askForToken(this.hint).finally(() => {
      this.asked = null;
    });
    const token = await this.asked;
    if (token) sessionStorage.setItem(KEY, token);
    else sessionStorage.removeItem(KEY); // a link may have brought one for all tabs
    this.onToken?.();
  }

  /** The JSON that a request is answered with; `null` for none. */
  async call(method, path, content, signal) {
    const sent = content === undefined ? {} : { body: JSON.stringify(content), headers: { "content-type": "application/json" } };
    const text = await (await this.open(path, { method, signal, ...sent })).text();
    return text ? JSON.parse(text) : null;
  }

  get = (path, signal) => this.call("GET", path, undefined, signal);
  post = (path, content = {}) => this.call("POST", path, content);

  /** The JSON of a path, or `null` while it is the same as last time; `last` keeps what tells that. */
  async newer(path, last, signal) {
    const headers = last.tag ? { "if-none-match": last.tag } : {};
    const response = await this.open(path, { headers, signal });
    if (response.status === NOT_MODIFIED) return null;
    last.tag = response.headers.get("etag");
    return response.json();
  }

  /** One session's requests. */
  of(id) {
    const at = `/sessions/${encodeURIComponent(id)}`;
    return {
      path: at,
      state: (signal) => this.get(at, signal),
      messages: (before, signal) => this.get(`${at}/messages?limit=100${before ? `&before=${encodeURIComponent(before)}` : ""}`, signal),
      queue: (signal) => this.get(`${at}/queue`, signal),
      context: (signal) => this.get(`${at}/context`, signal),
      steps: (signal) => this.get(`${at}/steps`, signal),
      largest: (count = 1000, signal) => this.get(`${at}/largest?count=${count}`, signal),
      advice: (signal) => this.get(`${at}/advice`, signal),
      settings: (signal) => this.get(`${at}/settings`, signal),
      explain: (message) => this.get(`${at}/explain/${encodeURIComponent(message)}`),
      send: (text, kind, message, files) => this.post(`${at}/messages`, { text, kind, id: message, files }),
      edit: (message, text, files) => this.call("PUT", `${at}/queue/${encodeURIComponent(message)}`, { text, files }),
      kept: async (handle) => (await this.open(`${at}/kept/${encodeURIComponent(handle)}`)).blob(),
      withdraw: (message) => this.call("DELETE", `${at}/queue/${encodeURIComponent(message)}`),
      cancel: (tools) => this.post(`${at}/cancel`, tools ? { tools } : {}),
      resume: () => this.post(`${at}/resume`),
      questions: async () => (await this.get(`${at}/approvals`)).approvals,
      approve: (call, answer) => this.post(`${at}/approvals/${encodeURIComponent(call)}`, answer),
      grants: async () => (await this.get(`${at}/grants`)).grants,
      revoke: (grant) => this.call("DELETE", `${at}/grants/${encodeURIComponent(grant)}`),
      set: (settings) => this.call("PATCH", `${at}/settings`, settings),
      compact: (instructions) => this.post(`${at}/compact`, { instructions }),
      summarise: (message, side) => this.post(`${at}/compact`, { [side]: message }),
      uncompact: (compaction) => this.post(`${at}/uncompact`, { compaction }),
      pin: (message, pinned) => this.post(`${at}/pins`, { messages: [message], pinned }),
      before: async (message) => (await this.get(`${at}/messages?limit=1&before=${encodeURIComponent(message)}`)).messages[0]?.id ?? "",
      rewind: (to) => this.post(`${at}/rewind`, { to }),
      link: (hours) => this.post(`${at}/links`, { hours }),
      rename: (title) => this.post(`${at}/rename`, { title }),
      fork: () => this.post(`${at}/fork`),
      remove: () => this.call("DELETE", at),
    };
  }

  access = () => this.get("/access");
  sessions = (before) => this.get(`/sessions?limit=100${before ? `&before=${encodeURIComponent(before)}` : ""}`);
  needing = (limit = 100) => this.get(`/sessions?needs=person&limit=${limit}`);
  search = (words, before) => this.get(`/search?q=${encodeURIComponent(words)}${before ? `&before=${encodeURIComponent(before)}` : ""}`);
  begin = (wanted) => this.post("/sessions", wanted);

  /** A log of another agent, read by the server and not kept. */
  async look(file, signal, session = "") {
    const headers = { "content-type": "application/octet-stream" };
    const chosen = session ? `?session=${encodeURIComponent(session)}` : "";
    return (await this.open(`/look${chosen}`, { method: "POST", body: file, headers, signal })).json();
  }
}

async function problemOf(response) {
  try {
    return await response.json();
  } catch {
    return { detail: `The server answered ${response.status} ${response.statusText}.` };
  }
}
