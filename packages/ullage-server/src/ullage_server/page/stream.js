// Server-sent events over fetch, so that the token goes into a header, with reconnecting from the last event had.

const SHORTEST_MS = 250;
const LONGEST_MS = 5_000;
const SILENCE_MS = 45_000; // the server says something every 15 s

/** Follows a stream until it is closed. `onFrame(name, data, id)`; `onState(state)`: connecting, live, waiting, gone. */
export class EventStream {
  constructor(api, path, { after, onFrame, onState, onOpen }) {
    Object.assign(this, { api, path, onFrame, onState, onOpen });
    this.last = String(after);
    this.tries = 0;
    this.closing = new AbortController();
    this.retry = null;
    this.hurry = () => this.retry?.();
    window.addEventListener("online", this.hurry);
    this.run();
  }

  close() {
    this.closing.abort();
    window.removeEventListener("online", this.hurry);
    this.hurry();
  }

  get closed() {
    return this.closing.signal.aborted;
  }

  async run() {
    while (!this.closed) {
      this.onState("connecting");
      try {
        await this.read();
      } catch (problem) {
        if (this.closed) return;
        if ([400, 401, 404].includes(problem.status)) {
          this.onState("gone");
          return;
        }
      }
      if (this.closed) return;
      this.onState("waiting");
      await this.pause();
    }
  }

  async read() {
    const attempt = new AbortController();
    const stop = () => attempt.abort();
    this.closing.signal.addEventListener("abort", stop);
    let silence = setTimeout(stop, SILENCE_MS);
    try {
      const headers = { accept: "text/event-stream", "last-event-id": this.last };
      const response = await this.api.open(this.path, { headers, signal: attempt.signal });
      this.tries = 0;
      this.onState("live");
      this.onOpen?.();
      const parser = new FrameParser((name, data, id) => {
        if (id) this.last = id;
        this.onFrame(name, data, id);
      });
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(silence);
        silence = setTimeout(stop, SILENCE_MS);
        parser.feed(value);
      }
    } finally {
      clearTimeout(silence);
      this.closing.signal.removeEventListener("abort", stop);
    }
  }

  pause() {
    const longest = Math.min(LONGEST_MS, SHORTEST_MS * 2 ** this.tries);
    this.tries += 1;
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, longest * (0.5 + Math.random() / 2));
      this.retry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Cuts text into frames as the HTML standard says (section 9.2.6), whatever pieces it comes in. */
export class FrameParser {
  constructor(onFrame) {
    this.onFrame = onFrame;
    this.pieces = [];
    this.clear();
  }

  clear() {
    this.name = "message";
    this.data = [];
    this.id = "";
  }

  feed(text) {
    if (!text.includes("\n")) {
      this.pieces.push(text);
      return;
    }
    const lines = (this.pieces.join("") + text).split("\n");
    this.pieces = [lines.pop()];
    for (const line of lines) this.line(line.endsWith("\r") ? line.slice(0, -1) : line);
  }

  line(line) {
    if (line === "") {
      if (this.data.length) this.onFrame(this.name, this.data.join("\n"), this.id);
      this.clear();
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.name = value;
    else if (field === "data") this.data.push(value);
    else if (field === "id") this.id = value;
  }
}
