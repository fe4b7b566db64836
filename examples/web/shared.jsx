// What both pages share.

// How full the model's window is: a reading of Ullage, which both protocols carry beside the answer.
export function Gauge({ reading }) {
  if (!reading) return null;
  const { tokens, low, high, max_tokens: window } = reading;
  return (
    <div className="gauge">
      <progress value={tokens} max={window ?? tokens} />
      {tokens.toLocaleString('en')} ({low.toLocaleString('en')} to {high.toLocaleString('en')}) of {window?.toLocaleString('en') ?? 'an unknown window'}
    </div>
  );
}

export function Compose({ isBusy, onSend, onStop }) {
  const send = (event) => {
    event.preventDefault();
    const { text } = event.target.elements;
    if (text.value.trim()) onSend(text.value);
    event.target.reset();
  };
  return (
    <form onSubmit={send}>
      <input name="text" placeholder="Write to the agent" autoComplete="off" />
      {isBusy ? <button type="button" onClick={onStop}>Stop</button> : <button>Send</button>}
    </form>
  );
}

export function Asked({ onAnswer }) {
  return (
    <div>
      <button onClick={() => onAnswer(true)}>Allow</button> <button onClick={() => onAnswer(false)}>Don’t allow</button>
    </div>
  );
}

export const session = () => (location.hash ||= `#${crypto.randomUUID()}`).slice(1);
export const cancel = (id) => fetch(`/v1/sessions/${id}/cancel`, { method: 'POST' });

// What a problem of the server says (RFC 9457), or else the error itself.
export const words = ({ payload, message }) => {
  try {
    return JSON.parse(payload ?? message).detail;
  } catch {
    return message;
  }
};
