// AG-UI's HttpAgent with Ullage behind it. The session's id is in the address: reload, and it continues.
import { HttpAgent, buildResumeArray } from '@ag-ui/client';
import { useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { Asked, Compose, Gauge, cancel, session, words } from './shared.jsx';

const agent = new HttpAgent({ url: '/v1/ag-ui', threadId: session() });
const answers = {};

function Message({ message, results, asked, onAnswer }) {
  if (message.role === 'tool') return null;
  if (message.role === 'reasoning') return <div className="message"><details><summary>Thinking</summary>{message.content}</details></div>;
  return (
    <div className={`message ${message.role}`}>
      {message.content && <p>{message.content}</p>}
      {message.toolCalls?.map((call) => (
        <div className="tool" key={call.id}>
          <b>{call.function.name}</b> <code>{call.function.arguments}</code>
          {results[call.id] && <div>→ {results[call.id]}</div>}
          {asked[call.id] && <Asked onAnswer={(approved) => onAnswer(asked[call.id], approved)} />}
        </div>
      ))}
    </div>
  );
}

function Chat() {
  const [shown, show] = useState({ messages: [] });
  const [reading, setReading] = useState();
  const [error, setError] = useState();
  const refresh = () => show({ messages: [...agent.messages], interrupts: agent.pendingInterrupts, isBusy: agent.isRunning });

  const run = (parameters) => {
    setError(undefined);
    agent.runAgent(parameters, { onRunErrorEvent: ({ event }) => setError(event.message) })
      .catch((problem) => setError(words(problem))).finally(refresh);
  };
  useEffect(() => {
    const { unsubscribe } = agent.subscribe({
      onMessagesChanged: refresh,
      onCustomEvent: ({ event }) => event.name === 'ullage.reading' && setReading(event.value),
    });
    run(); // without a message: what was said, and what streams now
    return unsubscribe;
  }, []);

  const send = (text) => {
    agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: text });
    run();
  };
  const answer = (interrupt, approved) => {
    answers[interrupt.id] = { status: 'resolved', payload: { approved } };
    const given = Object.fromEntries(shown.interrupts.map(({ id }) => [id, answers[id]]));
    if (Object.values(given).every(Boolean)) run({ resume: buildResumeArray(shown.interrupts, given) });
  };

  const results = Object.fromEntries(shown.messages.filter(({ role }) => role === 'tool').map((each) => [each.toolCallId, each.content]));
  const asked = Object.fromEntries((shown.interrupts ?? []).map((each) => [each.toolCallId, each]));
  return (
    <>
      <Gauge reading={reading} />
      {shown.messages.map((message) => <Message key={message.id} {...{ message, results, asked }} onAnswer={answer} />)}
      {error && <p className="error">{error}</p>}
      <Compose isBusy={shown.isBusy} onSend={send} onStop={() => cancel(agent.threadId)} />
    </>
  );
}

createRoot(document.getElementById('root')).render(<Chat />);
